#include "cli/caller.h"

#include "base/text.h"
#include "policy/variables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *caller_home(void)
{
	const char *home = getenv("HOME");
	if (!home || home[0] != '/')
		return NULL;
	return variable_value_is_normal(home) ? text_duplicate(home) : realpath(home, NULL);
}

/* https://no-color.org: set and not empty means no colour. */
bool caller_wants_colour(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (no_colour && *no_colour)
		return false;
	return isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
}
