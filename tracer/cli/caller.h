/* What the caller's own environment says, made fit for use. */
#ifndef CLI_CALLER_H
#define CLI_CALLER_H

#include <stdbool.h>

/* The value of ${HOME}: an absolute path without doubled or trailing slashes. NULL where HOME is not set, is relative, or
 * is untidy and leads nowhere. Owned by the caller. */
char *caller_home(void);

/* May colour be used on descriptor `fd`: a terminal that knows it, and a user who wants it (NO_COLOR)? */
bool caller_wants_colour(int fd);

#endif
