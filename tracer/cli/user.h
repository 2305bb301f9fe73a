/* --user: becoming somebody else for good. */
#ifndef CLI_USER_H
#define CLI_USER_H

#include "base/error.h"

/* Makes this process, before it has opened or made anything, that of the user with this name or number: user and group ids,
 * groups, no capabilities, and no way back. Nothing happens where it is that user's already. 0 or -errno. */
int user_become(const char *name, struct error *error);

#endif
