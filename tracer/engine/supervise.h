/* The tracer: waits for stops, decides, resumes, until nobody of the tree is left. */
#ifndef ENGINE_SUPERVISE_H
#define ENGINE_SUPERVISE_H

#include "engine/cgroup.h"
#include "engine/launch.h"
#include "engine/shared.h"
#include "engine/supervisor.h"

struct supervise_start {
	const struct run_plan *plan;
	const struct launch *launch;
	struct shared *shared;
	struct memory_use *memory_use;
	const struct cgroup *cgroup; /* of the run; its `controllers` are 0 where there is none */
	struct quota *quota; /* of the workspace, NULL for none */
	int front;         /* socket to front */
	pid_t front_pid;
	pid_t front_group;
	const int *front_fds; /* descriptors that only front may hold; -1 entries are passed over */
	size_t front_fd_count;
};

/* The body of the tracer's process (launch_process). What went wrong is in the record; the result is an exit status. */
int supervise(void *start);

/* Serves events until the last thread of the tree is gone. */
void supervise_until_empty(struct supervisor *supervisor);

/* The child's failed step goes into the record, unless a rule had already refused it. */
void supervisor_read_launch_report(struct supervisor *supervisor);

/* Adds a thread to the table, and its process to what front sees. */
struct task *supervisor_add_task(struct supervisor *supervisor, pid_t tid, pid_t tgid, pid_t parent);

#endif
