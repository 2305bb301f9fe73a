/* Every thread of the tree by its tid, and the processes that they form. */
#ifndef TRACEE_TASKS_H
#define TRACEE_TASKS_H

#include "tracee/proc.h"
#include "tracee/registers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Which file an execve is expected to end in, from its decision to its PTRACE_EVENT_EXEC. */
struct task_exec {
	bool pending;
	dev_t device;
	ino_t inode;
};

/* A call that was rewritten to decided arguments, until its exit stop. */
struct task_pin {
	bool active;
	int slot;                /* of the sealed page, PAGE_SLOT_NONE for none */
	uint64_t number;         /* what the call became */
	uint64_t args[6];
	struct call_saved saved; /* what it was */
	unsigned repeats;        /* times the call was sent back to be decided again */
	unsigned repeat_most;    /* on ELOOP: a link has appeared since the decision; 0: ELOOP is the answer */
	bool opens;              /* the slot holds how and path of an open */
	bool repeat_missing;     /* on ENOENT as well: what was decided as existing is gone */
	bool repeat_refused;     /* on EACCES as well, where Landlock is the reason: it may know another file by that name */
	bool refused;            /* the call is back because of that */
	char *guards[2];         /* paths that nobody may move while the call is under way: canonical, as written; owned */
	uint64_t bound_inode;    /* of the unix socket that the call binds to guards[0]; 0 for other calls */
	uint64_t sent_length_at; /* sendmmsg: where the first message's length belongs; 0 for other calls */
};

struct process {
	pid_t tgid;
	pid_t parent;          /* 0 where unknown */
	bool filtered;         /* has, or inherited, a seccomp filter of its own */
	pid_t vfork_parent;    /* thread that is suspended until this process executes or ends; 0 for none */
	uint64_t data_limit;   /* RLIMIT_DATA as it was before a refusal lowered it; 0: it is as it was */
	bool executed;         /* since it is in the table */
	struct registers_all vfork_registers; /* that thread's, at its vfork; valid while vfork_parent is set */
	unsigned thread_count; /* live threads that are in the table */
	int slot;              /* index in the table that is shared with front, -1 for none */
};

/* A script that was decided, and that its interpreter has not opened yet. */
struct task_script {
	char *path; /* canonical, owned; NULL once it was opened */
	dev_t device;
	ino_t inode;
};
enum { TASK_SCRIPT_MAX = 6 };

/* A clone that was let through and whose child has not shown up yet. */
enum task_cloning { TASK_CLONING_NOTHING, TASK_CLONING_PROCESS, TASK_CLONING_THREAD };

struct task {
	pid_t tid;
	struct process *process;
	bool launching;        /* has not executed the target yet: it runs our own code */
	bool exiting;          /* announced its end */
	bool signalling;       /* was let send a signal, and has not been heard of since */
	bool frozen;           /* was asked to stop (freeze_descriptors), and has not said so yet */
	enum task_cloning cloning;
	pid_t early_child;     /* one that was seen before the event that tells of it; 0 */
	uint64_t last_stop_ns;    /* of calls; how often it stops decides where it runs (engine/placement.h) */
	unsigned stops_in_a_row, moved_index;
	bool identity_valid;   /* identity below is current */
	struct proc_identity identity;
	struct task_exec exec;
	struct task_pin pin;
	struct task_script scripts[TASK_SCRIPT_MAX];
	unsigned script_count;
	struct task *next;     /* in its hash chain */
};

struct tasks;

struct tasks *tasks_new(void);
void tasks_free(struct tasks *tasks);

struct task *tasks_find(struct tasks *tasks, pid_t tid);
struct process *tasks_find_process(struct tasks *tasks, pid_t tgid);

/* Adds a thread; the process is made when it is the first of its group. */
struct task *tasks_add(struct tasks *tasks, pid_t tid, pid_t tgid, pid_t parent);

/* Removes a thread; *process_ended tells whether it was the last of its group (then the process is freed as well). */
void tasks_remove(struct tasks *tasks, struct task *task, bool *process_ended);

void task_forget_scripts(struct task *task);

/* After an execve from another thread the caller takes over the leader's tid. */
void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid);

unsigned tasks_count(const struct tasks *tasks);
unsigned tasks_process_count(const struct tasks *tasks);

/* Calls `visit` for each thread; it may not add or remove any. */
void tasks_each(struct tasks *tasks, void (*visit)(struct task *task, void *data), void *data);

#endif
