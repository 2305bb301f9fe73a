#include "base/bug.h"

#include <stdio.h>
#include <unistd.h>

enum { BUG_EXIT_CODE = 125 };

void bug_at(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "bailiff: bug at %s:%d: %s\n", file, line, what);
	_exit(BUG_EXIT_CODE);
}
