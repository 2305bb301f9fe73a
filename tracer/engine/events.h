/* --events: one line of JSON per inspected operation. */
#ifndef ENGINE_EVENTS_H
#define ENGINE_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

/* Strings borrowed; NULL becomes null. */
struct event {
	uint64_t when_ms;
	pid_t pid, tid;
	const char *syscall, *access, *target;
	const char *decision; /* "allowed", "blocked", "refused" (no violation), "kernel" (its own errno) */
	const char *rule;
	const char *answered; /* errno name, "killed", "logged" */
};

struct shared;

/* Writes one line. A reader that is slow is waited for, but not beyond the end of the run. The first line that cannot be
 * written is the last that is tried: the table that front and tracer share has how many are missing, and why. */
void events_write(int fd, struct shared *shared, const struct event *event);

#endif
