/* What front and tracer share: one anonymous mapping. Each field has one writer; the other side only reads. */
#ifndef ENGINE_SHARED_H
#define ENGINE_SHARED_H

#include "base/clock.h"
#include "verdict/record.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHARED_PROCESS_MAX = 4096 };

/* Why front wants the tree to end; written once by front. */
enum stop_request { STOP_NONE, STOP_END /* kill whatever is left */ };

struct shared {
	struct run_record record; /* first: engine_record_new() hands out its address */

	struct clock_stamp began; /* written by front before the fork, and once more by the tracer when the target begins */
	uint64_t start_ns; /* written by front before the fork, and once more by the tracer when the target begins */

	/* front -> tracer */
	atomic_int stop_request;

	/* tracer -> front */
	atomic_int ending;       /* the tracer is killing the tree */
	atomic_int main_pid;
	atomic_uint live_processes;
	atomic_ullong stops;
	atomic_ullong events_lost; /* lines of --events that are missing at the end */
	atomic_int events_error;   /* why: errno; EAGAIN for a reader that did not read until the run was over */

	/* CPU time: dead processes summed, live ones listed. The generation is odd while the tracer changes the two, so that
	 * a reader neither counts a process twice nor misses it on its way from one to the other. */
	atomic_uint generation;
	atomic_ullong dead_cpu_ns;
	atomic_int processes[SHARED_PROCESS_MAX]; /* tgid, 0 for a free slot */
	atomic_int process_high;                  /* slots above were never used */
};

/* One byte each on the socket between the two. */
enum message {
	MESSAGE_VIOLATION = 'V',  /* tracer: about to latch a violation; count what came before it, then answer */
	MESSAGE_COUNTED = 'C',    /* front: the answer */
	MESSAGE_STARTED = 'S',    /* tracer: the target's first instruction is about to run */
	MESSAGE_MAIN_ENDED = 'M', /* tracer: the main process is gone */
	MESSAGE_MAIN_STOPPED = 'T', /* tracer: the main process is in a group-stop */
};

/* CPU time of the whole tree so far, by the table above. For front. */
uint64_t shared_cpu_ns(struct shared *shared);

#endif
