/* The forks: the tracer's process, and the child that becomes the target. The only code outside cli/ that exits. */
#ifndef ENGINE_LAUNCH_H
#define ENGINE_LAUNCH_H

#include "engine/filter.h"
#include "engine/landlock.h"
#include "engine/run.h"

/* What the child needs beyond the plan; prepared by front. */
struct launch {
	const char *program;        /* what execve gets: COMMAND, or where it was found in PATH */
	int descriptors[3];         /* to become 0, 1 and 2 */
	bool terminal;              /* stdin is a terminal and bailiff is in its foreground: own process group, terminal handed over */
	const struct run_signals *signals; /* of bailiff at its start, restored in the target */
	struct landlock landlock;
};

/* A step of the child's that failed. */
struct launch_report {
	int step; /* enum launch_step */
	int number;
};

enum launch_step {
	STEP_SESSION, STEP_LIMITS, STEP_DESCRIPTORS, STEP_CWD, STEP_GO, STEP_DUMPABLE, STEP_NO_NEW_PRIVS, STEP_LANDLOCK,
	STEP_CAPABILITIES, STEP_CLOSE, STEP_FILTER, STEP_LISTENER, STEP_PROBE, STEP_EXEC, STEP_COUNT
};

const char *launch_step_text(int step);

/* The call that must stop before the target is trusted to this host: mkdirat with these arguments, answered with this. */
enum { LAUNCH_PROBE_ARGUMENT = 0x6261696c, LAUNCH_PROBE_ANSWER = 4242 };

/* Forks a process that runs `body(data)` and exits with what it returns. The pid or -errno. */
pid_t launch_process(int (*body)(void *data), void *data);

/* Ends this forked process at once. With a tracer the whole tree goes with it (PTRACE_O_EXITKILL). */
_Noreturn void launch_abandon(void);

/* Forks the child, which has sockets[1]; the tracer keeps sockets[0]. The child writes one byte when it may be seized and waits
 * for one byte before it goes on; later the listener comes by SCM_RIGHTS, or a struct launch_report. The pid or -errno. */
pid_t launch_child(const struct run_plan *plan, const struct launch *launch, const struct filter *filter,
		   const int sockets[static 2]);

/* Takes the listener from the socket, without waiting: a descriptor, or -errno. */
int launch_receive_listener(int socket);

/* Takes a report, without waiting. False where there is none. */
bool launch_receive_report(int socket, struct launch_report *report);

#endif
