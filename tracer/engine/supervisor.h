/* The tracer's state, one stop, and what a handler answers. Internal to engine/. */
#ifndef ENGINE_SUPERVISOR_H
#define ENGINE_SUPERVISOR_H

#include "base/syscalls.h"
#include "engine/cgroup.h"
#include "engine/memory_use.h"
#include "engine/quota.h"
#include "engine/run.h"
#include "engine/shared.h"
#include "policy/decide.h"
#include "tracee/inject.h"
#include "tracee/registers.h"
#include "tracee/tasks.h"

#include <errno.h>

enum { SYSTEM_LOADER_MAX = 8, BOUND_SOCKET_MAX = 1024, FIRST_FOLDER_MAX = 32 };

/* A socket that the tree has bound. A unix one with a path is known by the file that its bind made, since names change and a
 * file may have several; an abstract one by its name and its type, since each type has names of its own. */
struct bound_socket {
	uint64_t inode;
	bool is_unix, is_abstract;
	int type;          /* SOCK_STREAM, …; -1 unknown */
	dev_t device;
	ino_t file;        /* 0 until the bind has succeeded */
	char name[128];    /* abstract */
	size_t name_length;
};

struct first_folder {
	char path[64];
	bool is_link;
};

struct supervisor {
	const struct run_plan *plan;
	const struct policy *policy;
	struct shared *shared;
	struct run_record *record;
	struct tasks *tasks;

	int front;            /* socket to front */
	int launch;           /* socket to the child until it has executed the target */
	struct injector injector; /* seccomp listener of the base filter: the way in for descriptors, and while it is held the
				   * target cannot have one of its own */
	struct page *page;    /* the sealed page */
	struct placement *placement; /* may be NULL; owned */
	struct evidence *evidence; /* which files were opened and executed; owned */
	pid_t main_tid;
	pid_t front_group;    /* process group of bailiff itself */
	bool own_session;     /* the target has a session of its own (no terminal) */
	bool root;            /* bailiff runs as root: the target's identity may differ from ours */
	bool started;         /* the target's image is in place */
	bool ending;          /* every thread is being killed */
	struct record_failure *refusal; /* a limit that refused something, for a bad end; owned */
	enum limit_id refusal_limit;
	struct memory_use *memory_use;
	const struct cgroup *cgroup;
	struct quota *quota;    /* as front's; NULL: no limit, or no workspace */
	uint64_t room_given;    /* in the workspace since it was counted last, by calls that take it at once */
	unsigned signalling_count; /* threads that were let send a signal, and have not been heard of since */
	unsigned guard_count;   /* threads whose call is under way by a path that must not change */
	unsigned exiting_count; /* threads that announced their end and were not reaped yet */

	bool names_matter;    /* the policy has deny or hide entries: names are looked at after each link step */
	bool hides;           /* it has hide entries */

	char system_loaders[SYSTEM_LOADER_MAX][256]; /* canonical paths of the host's ELF loaders */
	size_t system_loader_count;

	struct bound_socket *bound_sockets; /* what the tree has bound, the newest BOUND_SOCKET_MAX of it; owned */
	size_t bound_socket_count, bound_socket_next;

	struct first_folder first_folders[FIRST_FOLDER_MAX]; /* which of them are links, as first seen */
	size_t first_folder_count;

	struct proc_identity assumed; /* file-system identity of the tracer at the moment */
};

/* A thread at a seccomp stop. */
struct stop {
	struct supervisor *supervisor;
	struct task *task;
	const struct syscall_row *row; /* NULL for a foreign or unknown number */
	struct call_registers call;
	bool reported; /* a violation of this call is recorded: under `log` both ends of a rename are one */
};

/* How a stopped thread goes on. The zero value lets nothing pass. */
enum resume_kind {
	RESUME_NOTHING = 0, /* the tree is being killed, or the thread is gone: leave it */
	RESUME_ANSWER,      /* the call is skipped and returns `result` */
	RESUME_RUN,         /* the call is made as it stands: nothing in it points to memory that matters */
	RESUME_PINNED,      /* the call is made with the arguments in task->pin, and stops again at its exit */
	RESUME_DELIVER,     /* the call is replaced by a descriptor of ours, `descriptor`, which is closed here */
};

struct resume {
	enum resume_kind kind;
	long result;
	int descriptor, descriptor_flags; /* O_CLOEXEC or 0 */
	bool settle; /* RESUME_PINNED: no other thread is served until this one has left path look-up */
	bool frozen; /* RESUME_PINNED: nor until it has taken its descriptor (freeze_descriptors) */
};

static inline struct resume resume_answer(long result)
{
	return (struct resume){ .kind = RESUME_ANSWER, .result = result };
}

static inline struct resume resume_run(void)
{
	return (struct resume){ .kind = RESUME_RUN };
}

static inline struct resume resume_nothing(void)
{
	return (struct resume){ .kind = RESUME_NOTHING };
}

/* A step that failed with -errno is the call's answer. -ESRCH: the thread was killed meanwhile, and nobody is there to be told. */
static inline struct resume resume_failed(long failed)
{
	return failed == -ESRCH ? resume_nothing() : resume_answer(failed);
}

/* What a call of ours returned, made in the thread's place: 0, or -1 with errno set. */
static inline struct resume resume_result(long result)
{
	return resume_answer(result == 0 ? 0 : -errno);
}

/* An argument by its role in the row (1 + index), whole and as the kernel takes an int: the low word. */
static inline uint64_t stop_argument(const struct stop *stop, unsigned role)
{
	return role ? stop->call.args[role - 1] : 0;
}

static inline int stop_int(const struct stop *stop, unsigned role)
{
	return (int)(uint32_t)stop_argument(stop, role);
}

/* Begins to kill the whole tree; wait events go on until nobody is left. */
void supervisor_end_tree(struct supervisor *supervisor);

/* Asks front to count unread output and to look at the clocks: what came before this moment latches first. */
void supervisor_count_before(struct supervisor *supervisor);

/* Waits for the end of every process that has announced it, and passes it on to the parents. */
void supervisor_reap_exiting(struct supervisor *supervisor);

/* The thread has come to its next stop, or is gone: the signal that it was let send has been sent. */
void supervisor_forget_signal(struct supervisor *supervisor, struct task *task);

/* Is the process or thread part of the tree? */
bool supervisor_owns_process(struct supervisor *supervisor, pid_t tgid);
bool supervisor_owns_thread(struct supervisor *supervisor, pid_t tid);

#endif
