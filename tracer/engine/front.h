/* Front: what the caller of bailiff waits for. */
#ifndef ENGINE_FRONT_H
#define ENGINE_FRONT_H

#include "engine/cgroup.h"
#include "engine/launch.h"
#include "engine/memory_use.h"
#include "engine/quota.h"
#include "engine/relay.h"
#include "engine/shared.h"

#include <sys/types.h>

enum { FRONT_STREAMS = 2 };

struct front {
	const struct run_plan *plan;
	struct shared *shared;
	struct run_record *record;

	pid_t tracer;
	int socket;          /* to the tracer */
	int signals;         /* signalfd */

	struct relay relays[FRONT_STREAMS];
	size_t relay_count;  /* 1 where standard output and error are one file */
	struct relay_cap cap;

	int feed_from, feed_to; /* standard input that has to be fed through a pipe; -1 for none */
	char feed[4096];
	size_t feed_length, feed_done;

	bool terminal;       /* the target has the terminal */
	bool tracer_gone;
	bool started;
	bool main_ended;
	uint64_t main_ended_ns;
	uint64_t suspended_ns;   /* time for which bailiff itself was stopped with the target */
	uint64_t stop_asked_ns;  /* when front asked the tracer to end the tree; 0 before */
	uint64_t next_cpu_look_ns, next_memory_look_ns, next_workspace_look_ns;
	struct memory_use memory_use;
	struct cgroup cgroup;       /* of the run, where there is one; its end is engine_run's */
	struct quota *quota;        /* of the private folder; NULL: no limit, or no folder; owned */
	uint64_t count_began_ns;    /* the count that is under way; 0 between two */
	uint64_t peak_memory_bytes; /* highest sum that was seen */
	struct record_failure *later_limit; /* a limit that came after the first failure: listed behind it; owned */
};

/* Waits for the run that `front->tracer` supervises, to its end. */
void front_wait(struct front *front);

/* After front_wait: gives back what it holds. */
void front_release(struct front *front);

#endif
