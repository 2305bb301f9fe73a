/* A limit's value as text, whatever its unit. */
#ifndef POLICY_LIMITS_H
#define POLICY_LIMITS_H

#include "base/units.h"
#include "policy/policy.h"

/* Refuses a limit that this version does not enforce, by name. The error has no position. */
int limit_check_enforced(enum limit_id id, struct error *error);

/* The error has no position. */
int limit_parse(enum limit_id id, const char *text, uint64_t *value, struct error *error);

void limit_format(enum limit_id id, uint64_t value, char target[static UNITS_TEXT]);

#endif
