/* The environment that the target gets: PATH, HOME, TMPDIR, LANG, and what the policy passes or sets. Nothing else. */
#ifndef CLI_TARGET_ENVIRONMENT_H
#define CLI_TARGET_ENVIRONMENT_H

#include "policy/policy.h"
#include "verdict/record.h"

/* NAME=VALUE strings, NULL-terminated. `workspace` is NULL where the run has none. A variable of the caller that a pattern
 * would have passed on, and that is never passed on, becomes a note. Owned: target_environment_free. */
char **target_environment_new(const struct policy *policy, const struct policy_variables *variables, const char *workspace,
			      struct run_record *record);
void target_environment_free(char **environment);

#endif
