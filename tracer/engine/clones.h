/* Clones that were let through and whose children have not shown up yet: they count as if they had. */
#ifndef ENGINE_CLONES_H
#define ENGINE_CLONES_H

#include "tracee/tasks.h"

struct clones_pending {
	unsigned processes, threads; /* a process is a thread too */
};

void clones_begin(struct task *task, bool thread);
struct clones_pending clones_pending(struct tasks *tasks);

/* `child` has stopped for the first time before its parent's event told of it. */
void clones_child_came_early(struct tasks *tasks, const struct task *child);

/* The next event of a thread that was let through: it tells of `child`, or (0) there is none. True where the child came
 * early, and may have ended again. */
bool clones_settle(struct tasks *tasks, struct task *task, pid_t child);

#endif
