/* What the policy says about a path of this host, walked link by link as a run would. */
#ifndef CLI_CHECK_PATH_H
#define CLI_CHECK_PATH_H

#include "base/error.h"
#include "policy/decide.h"

/* `access` is one enum access bit. A missing rest of the path is judged by name. 0 with *decision filled, or -errno for a
 * path that no call could take. */
int check_path(const struct policy *policy, unsigned access, const char *path, struct decision *decision, struct error *error);

/* The canonical form alone, a missing rest by name. Owned by the caller; NULL with the error filled. */
char *check_resolve(const char *path, struct error *error);

/* As check_path for a canonical path that is not to be looked up: from another host, or from earlier. */
struct decision check_canonical(const struct policy *policy, unsigned access, const char *path, pid_t self);

#endif
