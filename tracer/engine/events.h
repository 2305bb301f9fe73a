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

/* Writes the whole line in one write, so that lines stay whole when the run is killed. A reader that went away is no error. */
void events_write(int fd, const struct event *event);

#endif
