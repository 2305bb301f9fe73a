/* What would have let exactly one operation pass: JSON Patch `add` operations, from narrow to wide.
 *
 * Nothing is suggested where no key opens the operation, or for a name that is not UTF-8 (JSON cannot hold it). */
#ifndef POLICY_SUGGEST_H
#define POLICY_SUGGEST_H

#include "policy/decide.h"

struct suggestion {
	char *pointer; /* where to add: "/paths/read/-"; a parent that does not exist is part of `value` */
	char *value;   /* JSON text of the value */
	char *opens;   /* in words, what else it opens: "every file below /etc" */
};

enum { SUGGESTION_MAX = 4 };

/* All return the number of suggestions written (at most SUGGESTION_MAX); free each with suggestion_free. */
size_t suggest_path(const struct policy *policy, const struct path_request *request, const struct policy_variables *variables,
		    struct suggestion out[SUGGESTION_MAX]);
size_t suggest_network(const struct policy *policy, enum rule_list list, const struct address *address,
		       struct suggestion out[SUGGESTION_MAX]);
size_t suggest_syscall(const struct policy *policy, int number, struct suggestion out[SUGGESTION_MAX]);
size_t suggest_limit(const struct policy *policy, enum limit_id limit, struct suggestion out[SUGGESTION_MAX]);
void suggestion_free(struct suggestion *suggestion);

#endif
