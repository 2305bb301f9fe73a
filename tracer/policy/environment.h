/* Which variables reach the target. */
#ifndef POLICY_ENVIRONMENT_H
#define POLICY_ENVIRONMENT_H

#include "policy/policy.h"

/* Errors without a position. */
int environment_check_pass(const char *name, struct error *error);
int environment_check_set(const char *name, const char *value, struct error *error);

/* Adds `entry` and takes it over. The later of two entries for one name counts, whichever kinds they are. */
void environment_add(struct policy *policy, struct environment_entry entry);

#endif
