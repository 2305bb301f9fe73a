/* A limit's value as text, whatever its unit. */
#ifndef POLICY_LIMITS_H
#define POLICY_LIMITS_H

#include "base/units.h"
#include "policy/policy.h"

/* The error has no position. */
int limit_parse(enum limit_id id, const char *text, uint64_t *value, struct error *error);

void limit_format(enum limit_id id, uint64_t value, char target[static UNITS_TEXT]);

#endif
