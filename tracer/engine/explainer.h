/* What the engine knows of explanations: two functions that its caller passes in. It includes nothing of why/. */
#ifndef ENGINE_EXPLAINER_H
#define ENGINE_EXPLAINER_H

#include "verdict/record.h"

#include <sys/types.h>

struct explainer {
	/* In the tracer, while the blocked thread is stopped, for the first violation alone: script frames are read and what an
	 * unwinder needs is copied. Bounded in time (a few milliseconds) whatever the target's memory holds. `parent` is the
	 * thread that waits for this one in vfork or posix_spawn, 0 for none. It sleeps in the kernel and is in no stop: its
	 * registers, which only the stop at its vfork shows, are in snapshots[1] beforehand where they are known. Never fails:
	 * what cannot be had says why. */
	void (*capture)(pid_t tid, pid_t parent, struct record_explanation *explanation);

	/* In front, when the tree is gone: makes frames of the copies, within `deadline_ms`. */
	void (*complete)(struct record_explanation *explanation, unsigned deadline_ms);
};

#endif
