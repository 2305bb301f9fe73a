/* Settings on the command line that add to the policy or replace a value of it: shared by `run` and `check`. */
#ifndef CLI_OVERRIDES_H
#define CLI_OVERRIDES_H

#include "cli/options.h"
#include "policy/policy.h"

struct overrides {
	struct policy_override *items; /* owned; their text is borrowed from argv */
	size_t count;
};

/* For option rows: `use->row->id` is an enum rule_list or enum limit_id. The text of a limit is checked at once; patterns
 * and addresses are checked by policy_load and policy_bind. */
int overrides_add_list(struct overrides *overrides, const struct option_use *use, struct error *error);
int overrides_add_limit(struct overrides *overrides, const struct option_use *use, struct error *error);
int overrides_add_environment(struct overrides *overrides, const struct option_use *use, struct error *error);
int overrides_add_on_violation(struct overrides *overrides, const struct option_use *use, struct error *error);

void overrides_free(struct overrides *overrides);

#endif
