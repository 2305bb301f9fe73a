/* Which variables reach the target. */
#ifndef POLICY_ENVIRONMENT_H
#define POLICY_ENVIRONMENT_H

#include "policy/policy.h"

/* Does a variable make programs load or run other code before their own? It is never passed on: a "pass" that names it is an
 * error, a pattern leaves it out. */
bool environment_loads_code(const char *name);

/* Errors without a position. */
int environment_check_pass(const char *name, struct error *error);
int environment_check_set(const char *name, const char *value, struct error *error);

/* Adds `entry` and takes it over. The later of two entries for one name counts, whichever kinds they are. */
void environment_add(struct policy *policy, struct environment_entry entry);

#endif
