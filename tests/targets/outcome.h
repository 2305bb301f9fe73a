/* What a target says about the call that it was asked to make: one stable line and an exit code.
 *
 *     mkdirat: ok          exit 0
 *     mkdirat: EACCES      exit 9
 *
 * The line is the same with and without bailiff wherever the call succeeds, so each target is its own control. */
#ifndef TARGETS_OUTCOME_H
#define TARGETS_OUTCOME_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { OUTCOME_OK = 0, OUTCOME_REFUSED = 9, OUTCOME_USAGE = 64, OUTCOME_SETUP = 65 };

static inline const char *outcome_errno(int number)
{
	const char *name = strerrorname_np(number);
	return name ? name : "unknown errno";
}

/* `result` is what a system call returned through libc: negative with errno set when it failed. */
static inline int outcome_report(const char *call, long result)
{
	if (result >= 0)
		printf("%s: ok\n", call);
	else
		printf("%s: %s\n", call, outcome_errno(errno));
	fflush(stdout);
	return result >= 0 ? OUTCOME_OK : OUTCOME_REFUSED;
}

/* Something that the test needs before its call: not what is tested, so it has its own exit code. */
static inline void outcome_require(int condition, const char *what)
{
	if (condition)
		return;
	printf("cannot set up: %s: %s\n", what, outcome_errno(errno));
	fflush(stdout);
	exit(OUTCOME_SETUP);
}

static inline int outcome_usage(const char *text)
{
	fprintf(stderr, "usage: %s\n", text);
	return OUTCOME_USAGE;
}

/* Is the running kernel at least MAJOR.MINOR? For calls that an older one rightly lacks. */
static inline int outcome_kernel_at_least(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned have_major = 0, have_minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &have_major, &have_minor) != 2)
		return 1;
	return have_major > major || (have_major == major && have_minor >= minor);
}

#endif
