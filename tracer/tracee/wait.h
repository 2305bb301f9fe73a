/* What happened to which thread: the one place that waits for tracees. */
#ifndef TRACEE_WAIT_H
#define TRACEE_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

enum wait_kind {
	WAIT_SECCOMP_STOP,   /* a call is about to be made; PTRACE_GET_SYSCALL_INFO tells which */
	WAIT_SYSCALL_STOP,   /* exit (or entry) stop asked for with PTRACE_SYSCALL */
	WAIT_NEW_TASK,       /* fork, vfork or clone by `tid`; the event message is the new thread */
	WAIT_EXEC,           /* execve succeeded, the new image has not run; the event message is the former tid */
	WAIT_EXITING,        /* PTRACE_EVENT_EXIT */
	WAIT_GROUP_STOP,     /* `signal` stopped the group: stay stopped with PTRACE_LISTEN */
	WAIT_TRAP,           /* PTRACE_EVENT_STOP: first stop of a new thread, or PTRACE_INTERRUPT, or the end of a group-stop */
	WAIT_SIGNAL,         /* `signal` is about to be delivered */
	WAIT_EXITED,         /* gone; `status` is the exit code */
	WAIT_KILLED,         /* gone; `signal` ended it */
};

struct wait_event {
	pid_t tid;
	enum wait_kind kind;
	int signal;
	int status;
	bool suspends;         /* by vfork (or clone with CLONE_VFORK): the caller waits for it */
	bool has_cpu;          /* cpu_ns and max_rss_bytes are valid: the thread group has ended with this event */
	unsigned long long cpu_ns;
	unsigned long long max_rss_bytes;
};

/* Waits for the next event of any tracee or child.
 *
 * `account_exits`: some thread has announced its end (WAIT_EXITING) and was not reaped yet. Then the end of a process is
 * looked at before it is reaped, since its CPU clock is exact only on the zombie: summed rusage counts waited-for children
 * twice, and /proc/PID/stat saw 1 % of short ones (measured). Costs one more system call per event while it is set.
 *
 * 0, -EINTR (a signal: look at what was asked for), or -ECHILD (nobody left). */
int wait_next(bool account_exits, struct wait_event *event);

/* Waits until there is an event, without taking it: whose it is, and whether it is an end. -EINTR or -ECHILD. */
pid_t wait_look(bool *end);

/* Waits for the next event of one thread alone. 0, -EINTR or -ECHILD. */
int wait_for(pid_t tid, struct wait_event *event);

/* Has the thread anything to report? Does not take it. */
bool wait_is_ready(pid_t tid);

#endif
