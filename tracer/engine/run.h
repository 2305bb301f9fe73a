/* One run: front and tracer around a target, from a plan to a filled record.
 *
 *     caller = front       pipes, clocks, watchdog: what the caller waits for
 *       └─ tracer          waits for stops, decides, resumes; parent of the target
 *            └─ target     main process, children, threads, daemons: all traced
 *
 * engine_run is front: it forks the tracer, relays output, enforces the clocks, and returns when nothing of the run is
 * left. It does not print and does not exit. */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "base/error.h"
#include "base/text.h"
#include "engine/explainer.h"
#include "engine/landlock.h"
#include "engine/workspace.h"
#include "policy/policy.h"
#include "verdict/record.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Signal state of bailiff at its start; the target gets it back. Which were ignored then (nohup) stays so. */
enum { RUN_SIGNAL_MAX = 65 };
struct run_signals {
	sigset_t mask;
	bool ignored[RUN_SIGNAL_MAX]; /* by number */
};

/* Blocks INT, TERM, HUP and QUIT (unless ignored), so that none ends bailiff before there is somebody to clean up; SIGPIPE
 * and SIGXFSZ are ignored from here on. Before the workspace is made. */
void engine_block_signals(struct run_signals *signals);

struct run_plan {
	const struct run_signals *signals;
	const struct policy *policy;              /* bound */
	const struct policy_variables *variables; /* for suggestions */
	char *const *command;                     /* argv of the target, NULL-terminated */
	char *const *environment;                 /* NAME=VALUE, NULL-terminated */
	const char *cwd;                          /* absolute */
	const char *stdin_file;                   /* --stdin FILE; NULL: inherit, or /dev/null with capture */
	bool capture;                             /* collect output instead of relaying it */
	const int *keep_fds;                      /* --fd */
	size_t keep_fd_count;
	enum landlock_mode landlock;
	const struct workspace *workspace;        /* the private folder; its path is "" where there is none */
	int events_fd;                            /* JSON Lines, -1 for none */
	const struct explainer *explainer;        /* NULL: no stacks */
};

/* What --capture collected, by stream; owned by the caller. */
struct run_capture {
	struct text streams[2];
	bool error_mid_line; /* what was relayed to standard error does not end with a newline */
};

/* A record in memory that can be shared with the tracer: mmap'd, zeroed. NULL when there is no memory. */
struct run_record *engine_record_new(void);

/* Runs the plan. 0 when the record tells how it went (record->error included: a command that was not found is there);
 * -errno with the error filled when bailiff could not even begin. */
int engine_run(const struct run_plan *plan, struct run_record *record, struct run_capture *capture, struct error *error);

#endif
