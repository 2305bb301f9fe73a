/* One question to a policy, from the command line or from a recorded violation, answered by one line on standard output:
 * "allowed", or "blocked RULE FILE:LINE"; with `explain` one more for each entry that came near: why it did not match. All
 * return 1 when blocked, 0 when allowed, -errno for what is no question. */
#ifndef CLI_CHECK_REQUEST_H
#define CLI_CHECK_REQUEST_H

#include "base/error.h"
#include "policy/policy.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Does `word` start with KIND: of a kind there is? */
bool check_kind_known(const char *word);

/* KIND:OBJECT. */
int check_request(const struct policy *policy, const char *word, bool explain, struct error *error);

/* Every recorded violation of a verdict, in order. Limits are no question to a policy: they have no line. */
int check_replay(const struct policy *policy, const cJSON *verdict, bool explain, struct error *error);

#endif
