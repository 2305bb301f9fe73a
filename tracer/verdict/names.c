#include "verdict/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32 };

const char *signal_text(int number)
{
	static _Thread_local char text[NAME_BYTES];
	const char *name = sigabbrev_np(number);
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else if (number == SIGRTMIN)
		snprintf(text, sizeof(text), "SIGRTMIN");
	else if (number > SIGRTMIN && number <= SIGRTMAX)
		snprintf(text, sizeof(text), "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(text, sizeof(text), "signal %d", number);
	return text;
}

const char *errno_text(int number)
{
	static _Thread_local char text[NAME_BYTES];
	const char *name = number > 0 ? strerrorname_np(number) : NULL;
	if (name)
		return name;
	snprintf(text, sizeof(text), "errno %d", number);
	return text;
}
