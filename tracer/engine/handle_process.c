/* Calls that act on processes, descriptors' owners or the host. */
#include "engine/object.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/filter.h"
#include "engine/freeze.h"
#include "engine/limits.h"
#include "engine/pin.h"
#include "engine/placement.h"
#include "tracee/memory.h"
#include "tracee/page.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/msdos_fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what no key can open ----------------------------------------------------------------------------------------- */

struct resume handle_refuse(struct stop *stop)
{
	return blocked_call(stop, "syscall", stop->row->name);
}

/* Under `log` what is blocked goes on. What would end the supervision itself does not: `number` is its answer then. */
static struct resume never_made(struct resume blocked, int number)
{
	return blocked.kind == RESUME_RUN ? resume_answer(-number) : blocked;
}

static const char *foreign_table(uint32_t arch)
{
	switch (arch) {
	case AUDIT_ARCH_I386: return "i386";
	case AUDIT_ARCH_X86_64: return "x32"; /* the same entry, with its bit in the number */
	default: return "unknown";
	}
}

/* Another architecture's numbers mean other calls: nothing here could say which, and what cannot be read cannot be
 * supervised. */
struct resume handle_foreign(struct stop *stop)
{
	char target[96];
	snprintf(target, sizeof(target), "call %llu of the %s table", (unsigned long long)stop->call.number,
		 foreign_table(stop->call.arch));
	stop->row = NULL;
	return never_made(blocked_call(stop, "foreign architecture", target), ENOSYS);
}

/* shmat with SHM_REMAP puts a segment that the program can write over whatever lies at the address: over the sealed page as
 * well. The filter refuses all other calls that could; this one stops whatever its arguments. */
static bool replaces_page(const struct stop *stop)
{
	return stop->row->number == SYS_shmat && (stop->call.args[2] & SHM_REMAP) && (stop->call.args[1] & FILTER_PAGE_MASK) == 0;
}

struct resume handle_switchable(struct stop *stop)
{
	const struct syscall_row *row = stop->row;
	const struct policy *policy = stop->supervisor->policy;
	struct decision decision = decide_syscall(policy, row->number, true);
	struct decision family = decision;
	if (row->roles.family)
		family = decide_syscall(policy, row->roles.family, true);
	/* An own name in "deny" beats the family's in "allow". */
	bool allowed = decision.kind == DECISION_ALLOW || (family.kind == DECISION_ALLOW && !decision.matched);
	struct operation operation = {
		.rule = RULE_BLOCKED_SYSCALL,
		.position = decision.position,
		.access_text = "syscall",
		.target = row->name,
		.list = decision.matched ? LIST_COUNT : LIST_SYSCALL_ALLOW,
		.answer = EPERM,
	};
	if (!allowed)
		return report_blocked(stop, &operation);
	if (replaces_page(stop))
		return resume_answer(-EPERM);
	report_allowed(stop, &operation, 0);
	return resume_run();
}

/* Filters of the target's own stack on ours; a listener of its own would outrank our stops. */
struct resume handle_seccomp(struct stop *stop)
{
	const uint64_t new_listener = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	stop->task->process->filtered = true;
	if (stop->row->handler == HANDLER_PRCTL || !(stop->call.args[1] & new_listener))
		return resume_run();
	return never_made(blocked_call(stop, "syscall", "seccomp with a listener of its own"), EBUSY);
}

/* Flags that would take a child away from the tracer or into namespaces of its own, and "fork" in syscalls.deny. */
struct resume handle_clone(struct stop *stop)
{
	const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
				    CLONE_NEWNET;
	uint64_t flags = stop->row->roles.flags ? stop_argument(stop, stop->row->roles.flags) : 0;
	const char *target = flags & CLONE_UNTRACED ? "clone with CLONE_UNTRACED" : "clone into a new namespace";
	struct resume resume = resume_run();
	if (!(flags & (CLONE_UNTRACED | namespaces))) {
		limit_stops_clone(stop, flags & CLONE_THREAD, &resume);
		return resume;
	}
	return never_made(blocked_call(stop, "syscall", target), EPERM); /* an untraced child would run outside every rule */
}

/* ---- signals ------------------------------------------------------------------------------------------------------ */

static struct resume blocked_signal(struct stop *stop, const char *target)
{
	struct operation operation = {
		.rule = RULE_BLOCKED_SIGNAL,
		.access_text = "signal",
		.target = target,
		.list = LIST_COUNT,
		.answer = EPERM,
	};
	/* The supervisor itself is within reach of the same user's signals. */
	return never_made(report_blocked(stop, &operation), EPERM);
}

struct group_search {
	pid_t group;
	bool found;
};

static void compare_group(struct task *task, void *data)
{
	struct group_search *search = data;
	if (!search->found && task->tid == task->process->tgid && getpgid(task->tid) == search->group)
		search->found = true;
}

/* A process group is the tree's where one of its processes leads or is in it, and it is not bailiff's own. In a session of
 * its own the tree cannot join a foreign group; in the caller's session (terminal) its leader must be ours. */
static bool owns_group(struct supervisor *supervisor, pid_t group)
{
	if (group == supervisor->front_group)
		return false;
	struct group_search search = { .group = group };
	tasks_each(supervisor->tasks, compare_group, &search);
	if (!search.found)
		return false;
	return supervisor->own_session || group == supervisor->main_tid || supervisor_owns_process(supervisor, group);
}

/* Has the process ended, without its parent in the tree having waited for it yet? It is in no table of ours any more, and to
 * the kernel still somebody who may be signalled. */
static bool is_ended_child(struct supervisor *supervisor, pid_t pid)
{
	char state;
	struct proc_status status;
	return proc_read_state(pid, &state) == 0 && state == 'Z' && proc_read_status(pid, &status) == 0 && status.tgid == pid &&
	       supervisor_owns_process(supervisor, status.ppid);
}

/* Nobody there is the kernel's ESRCH. An ended child takes every signal, and nothing comes of it: answered here, since its
 * number may mean another process by the time at which the kernel would look. True when *resume is set. */
static bool nobody_to_signal(struct supervisor *supervisor, pid_t pid, struct resume *resume)
{
	if (kill(pid, 0) != 0 && errno == ESRCH) {
		*resume = resume_answer(-ESRCH);
		return true;
	}
	*resume = resume_answer(0);
	return pid > 0 && is_ended_child(supervisor, pid);
}

/* kill(2): 0 is the caller's group, -1 everybody, -N a group. */
static struct resume signal_process(struct stop *stop, pid_t pid)
{
	char target[96];
	struct supervisor *supervisor = stop->supervisor;
	pid_t group = pid == 0 ? getpgid(stop->task->tid) : -pid;
	if (pid > 0 && supervisor_owns_process(supervisor, pid))
		return resume_run();
	if (pid <= 0 && pid != -1 && owns_group(supervisor, group))
		return resume_run();
	struct resume resume;
	if (pid != -1 && nobody_to_signal(supervisor, pid > 0 ? pid : -group, &resume))
		return resume;
	if (pid == -1)
		snprintf(target, sizeof(target), "every process of this user");
	else
		snprintf(target, sizeof(target), "%s %d, outside this run", pid > 0 ? "process" : "process group", pid > 0 ? pid : group);
	return blocked_signal(stop, target);
}

static struct resume signal_thread(struct stop *stop, pid_t tid)
{
	char target[96];
	if (supervisor_owns_thread(stop->supervisor, tid))
		return resume_run();
	struct resume resume;
	if (tid > 0 && nobody_to_signal(stop->supervisor, tid, &resume))
		return resume;
	snprintf(target, sizeof(target), "thread %d, outside this run", tid);
	return blocked_signal(stop, target);
}

/* An open /proc/PID names a process as well (pidfd_send_signal(2)). */
static pid_t folder_process(const struct task *task, int descriptor)
{
	char entry[32], target[64];
	int pid, end = 0;
	snprintf(entry, sizeof(entry), "fd/%d", descriptor);
	if (proc_read_link(task->tid, entry, target, sizeof(target)) < 0 || sscanf(target, "/proc/%d%n", &pid, &end) != 1 || target[end])
		return 0;
	return pid;
}

/* Whom a pidfd means: the "Pid:" line of its fdinfo, 0 where there is none, and whether it is a thread's (PIDFD_THREAD). */
static pid_t pidfd_owner(const struct task *task, int descriptor, bool *thread)
{
	char entry[32], text[512];
	unsigned flags = 0;
	snprintf(entry, sizeof(entry), "fdinfo/%d", descriptor);
	ssize_t length = proc_read_file(task->tid, entry, text, sizeof(text) - 1);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	const char *line = strstr(text, "\nPid:"), *flags_line = strstr(text, "\nflags:");
	*thread = flags_line && sscanf(flags_line, "\nflags: %o", &flags) == 1 && flags & O_EXCL;
	return line ? (pid_t)strtol(line + 5, NULL, 10) : folder_process(task, descriptor);
}

/* The call goes on by number. Another thread may put the pidfd of somebody outside under the descriptor's number meanwhile,
 * while the process that was decided about keeps its own: nobody but us can wait for its end. */
static struct resume signal_by_number(struct stop *stop, pid_t pid, bool thread)
{
	const uint64_t number = stop->call.args[1], info = stop->call.args[2], id = (uint64_t)pid;
	const struct task *task = tasks_find(stop->supervisor->tasks, pid);
	const uint64_t plain[6] = { id, number }, queued[6] = { id, number, info };
	const uint64_t to_thread[6] = { task ? (uint64_t)task->process->tgid : id, id, number, info };
	stop->task->pin = (struct task_pin){ .slot = PAGE_SLOT_NONE };
	if (info == 0)
		return pin_call(stop, thread ? SYS_tkill : SYS_kill, plain);
	return thread ? pin_call(stop, SYS_rt_tgsigqueueinfo, to_thread) : pin_call(stop, SYS_rt_sigqueueinfo, queued);
}

/* A group of processes (flag 4, Linux 6.9) is not told by the descriptor: EINVAL, as before that kernel. */
static struct resume signal_pidfd(struct stop *stop)
{
	enum { TO_THREAD = 1, TO_PROCESS = 2 };
	bool thread = false;
	uint32_t flags = (uint32_t)stop->call.args[3];
	if (flags != 0 && flags != TO_THREAD && flags != TO_PROCESS)
		return resume_answer(-EINVAL);
	pid_t pid = pidfd_owner(stop->task, stop_int(stop, stop->row->roles.fd), &thread);
	if (pid <= 0)
		return resume_answer(pid == 0 ? -EBADF : -ESRCH);
	if (flags != 0)
		thread = flags == TO_THREAD;
	struct resume resume = supervisor_owns_thread(stop->supervisor, pid) ? signal_thread(stop, pid) : signal_process(stop, pid);
	return resume.kind == RESUME_RUN ? signal_by_number(stop, pid, thread) : resume;
}

/* The kernel makes a child's pidfd readable before the tracer, which learns of the end first, has let the parent know: a
 * parent that looks without waiting would find nothing, and GLib takes that for exit 0. So the end is passed on first. */
struct resume handle_wait(struct stop *stop)
{
	supervisor_reap_exiting(stop->supervisor);
	return resume_run();
}

/* Signal 0 asks whether somebody is there, and does nothing. About others the supervisor asks instead: the kernel refuses even
 * that to whoever is in a Landlock domain. Not for a thread that has become another user than we. */
static struct resume ask_presence(struct stop *stop, pid_t pid)
{
	struct supervisor *supervisor = stop->supervisor;
	bool others = pid < -1 || (pid > 0 && !supervisor_owns_process(supervisor, pid) && !supervisor_owns_thread(supervisor, pid));
	bool same_user = !supervisor->root || stop->task->identity.fsuid == 0;
	if (!others || !same_user)
		return resume_run();
	return resume_answer(kill(pid, 0) == 0 ? 0 : -errno);
}

static struct resume decide_signal(struct stop *stop)
{
	const char *name = stop->row->name;
	pid_t first = (pid_t)stop->call.args[0], second = (pid_t)stop->call.args[1];
	bool by_descriptor = strcmp(name, "pidfd_send_signal") == 0, thread;
	bool by_thread = strcmp(name, "tgkill") == 0 || strcmp(name, "rt_tgsigqueueinfo") == 0;
	int number = (int)stop->call.args[by_thread ? 2 : 1];
	if (number == 0)
		return ask_presence(stop, by_descriptor ? pidfd_owner(stop->task, first, &thread) : by_thread ? second : first);
	if (by_descriptor)
		return signal_pidfd(stop);
	if (by_thread)
		return signal_thread(stop, second);
	return strcmp(name, "tkill") == 0 ? signal_thread(stop, first) : signal_process(stop, first);
}

/* Allowed for whoever has the number now, and sent a little later: until then nobody is reaped (next_event). An exit stop would
 * say when, but hold up the sender: a parent would find ended whom it has just continued. */
struct resume handle_signal(struct stop *stop)
{
	struct resume resume = decide_signal(stop);
	if (resume.kind == RESUME_RUN && !stop->task->signalling) {
		stop->task->signalling = true;
		stop->supervisor->signalling_count++;
	}
	return resume;
}

/* ---- limits, scheduling, owners of descriptors -------------------------------------------------------------------- */

static struct resume blocked_control(struct stop *stop, const char *target)
{
	return never_made(blocked_call(stop, "control", target), EPERM);
}

/* prlimit, sched_set…, setpriority, ioprio_set: only the caller itself and its own tree. */
struct resume handle_control(struct stop *stop)
{
	char target[96];
	const char *name = stop->row->name;
	struct supervisor *supervisor = stop->supervisor;
	pid_t pid = stop_int(stop, stop->row->roles.pid);
	bool has_kind = strcmp(name, "setpriority") == 0 || strcmp(name, "ioprio_set") == 0;
	int kind = has_kind ? (int)stop->call.args[0] - (name[0] == 'i' ? 1 : 0) : PRIO_PROCESS;
	snprintf(target, sizeof(target), "%s of %s %d, outside this run", name,
		 kind == PRIO_PROCESS ? "process" : kind == PRIO_PGRP ? "process group" : "user", pid);
	if (kind == PRIO_USER)
		return blocked_control(stop, target);
	if (kind == PRIO_PGRP)
		return owns_group(supervisor, pid ? pid : getpgid(stop->task->tid)) ? resume_run() : blocked_control(stop, target);
	if (pid == 0 || supervisor_owns_thread(supervisor, pid) || supervisor_owns_process(supervisor, pid))
		return resume_run();
	if ((kill(pid, 0) != 0 && errno == ESRCH) || is_ended_child(supervisor, pid))
		return resume_answer(-ESRCH);
	return blocked_control(stop, target);
}

/* A thread that was moved to another processor gets its own back before it asks for them; what it chooses itself stays. */
struct resume handle_affinity(struct stop *stop)
{
	pid_t tid = stop_int(stop, stop->row->roles.pid);
	bool sets = stop->row->number == SYS_sched_setaffinity;
	struct task *task = tid ? tasks_find(stop->supervisor->tasks, tid) : stop->task;
	if (task) {
		placement_undo(stop->supervisor->placement, task->tid);
		task->stops_in_a_row = 0;
	}
	return sets ? handle_control(stop) : resume_run();
}

/* Whom asynchronous I/O signals: a way to kill the supervisor without a kill. Where the number stands in memory the call
 * gets the one that was decided, from the sealed page. */
static struct resume decide_owner(struct stop *stop, pid_t owner)
{
	char target[96];
	struct supervisor *supervisor = stop->supervisor;
	bool own = owner == 0 || (owner > 0 ? supervisor_owns_process(supervisor, owner) || supervisor_owns_thread(supervisor, owner)
					    : owns_group(supervisor, -owner));
	if (own)
		return resume_run();
	snprintf(target, sizeof(target), "signals of a descriptor to %s %d, outside this run", owner > 0 ? "process" : "process group",
		 owner > 0 ? owner : -owner);
	return blocked_control(stop, target);
}

/* What cannot be looked at may be one. */
static bool is_device(const struct stop *stop)
{
	char entry[32];
	struct stat status;
	snprintf(entry, sizeof(entry), "fd/%d", stop_int(stop, stop->row->roles.fd));
	auto_fd int held = proc_open(stop->task->tid, entry, O_PATH);
	if (held == -ENOENT || held == -ESRCH)
		return false; /* not open: EBADF */
	return held < 0 || fstat(held, &status) != 0 || S_ISCHR(status.st_mode);
}

/* A terminal that is asked for signals sends them to whoever is in its foreground (drivers/tty/tty_io.c, __tty_fasync): the
 * user's shell, or bailiff. Any other device might. */
static struct resume ask_for_signals(struct stop *stop)
{
	int failed = freeze_descriptors(stop, stop->task->tid);
	if (failed)
		return resume_answer(failed);
	if (is_device(stop)) {
		struct operation operation = { .access_text = stop->row->name, .target = "signals of a terminal", .list = LIST_COUNT };
		return report_refused_quietly(stop, &operation, EPERM, "they go to whoever is in its foreground");
	}
	struct resume resume = pin_in_place(stop);
	resume.frozen = true;
	return resume;
}

struct resume handle_fcntl(struct stop *stop)
{
	enum { SET_FLAGS = 4, SET_OWNER = 8, SET_OWNER_EX = 15 };
	int command = (int)stop->call.args[1];
	if (command == SET_FLAGS)
		return stop->call.args[2] & O_ASYNC ? ask_for_signals(stop) : resume_run();
	if (command == SET_OWNER)
		return decide_owner(stop, (pid_t)stop->call.args[2]);
	if (command != SET_OWNER_EX)
		return resume_run();
	struct f_owner_ex owner;
	int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[2]), &owner, sizeof(owner));
	if (failed)
		return resume_failed(failed);
	struct resume resume = decide_owner(stop, owner.type == F_OWNER_PGRP ? -owner.pid : owner.pid);
	return resume.kind == RESUME_RUN ? pin_address_argument(stop, 2, &owner, sizeof(owner)) : resume;
}

enum { BTRFS_TYPE = 0x94, CEPH_TYPE = 0x97, F2FS_TYPE = 0xf5 }; /* of ioctl requests */

/* Inode flags change by descriptor, whatever it was opened for: done by the supervisor on its own copy. */
static struct resume set_inode_flags(struct stop *stop, unsigned long request)
{
	char value[64];
	size_t size = _IOC_SIZE(request);
	struct resume resume;
	int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[2]), value, size);
	if (failed)
		return resume_failed(failed);
	auto_object struct object object = { .fd = -1 };
	if (!object_by_descriptor(stop, stop_int(stop, stop->row->roles.fd), ACCESS_WRITE, &object, &resume))
		return resume;
	auto_fd int fd = open(object.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return resume_answer(-errno);
	return resume_answer(ioctl(fd, request, value) == 0 ? 0 : -errno);
}

/* Of the types that file systems use, what only tells something, or needs a descriptor that is open for writing. */
static bool is_harmless_request(unsigned request)
{
	static const unsigned harmless[] = {
		FS_IOC_GETFLAGS, FS_IOC32_GETFLAGS, FS_IOC_FIEMAP, FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_GETFSLABEL,
		FS_IOC_MEASURE_VERITY, FS_IOC_READ_VERITY_METADATA, FS_IOC_GET_ENCRYPTION_POLICY, FS_IOC_GET_ENCRYPTION_POLICY_EX,
		FS_IOC_GET_ENCRYPTION_PWSALT, FS_IOC_GET_ENCRYPTION_KEY_STATUS, FS_IOC_GET_ENCRYPTION_NONCE,
	};
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (harmless[i] == request)
			return true;
	return false;
}

/* The others change names, metadata or keys by a descriptor that only reads, and none is part of what programs need: answered
 * as by a file system that lacks them. */
static struct resume file_system_request(struct stop *stop, unsigned request)
{
	char target[64];
	unsigned type = _IOC_TYPE(request);
	bool special = type == 'f' || type == BTRFS_TYPE || type == CEPH_TYPE || type == F2FS_TYPE || request == FAT_IOCTL_SET_ATTRIBUTES;
	if (!special || is_harmless_request(request))
		return resume_run();
	snprintf(target, sizeof(target), "request 0x%x", request);
	struct operation operation = { .access_text = stop->row->name, .target = target, .list = LIST_COUNT };
	return report_refused_quietly(stop, &operation, ENOTTY, "a request that changes a file system by a descriptor");
}

/* What is typed (Ctrl-C among it) and what the terminal says goes to the group in its foreground: one of the run's own. */
static struct resume set_foreground(struct stop *stop)
{
	pid_t group;
	char target[96];
	int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[2]), &group, sizeof(group));
	if (failed)
		return resume_failed(failed);
	if (group <= 0 || owns_group(stop->supervisor, group) || !is_device(stop))
		return pin_address_argument(stop, 2, &group, sizeof(group));
	snprintf(target, sizeof(target), "the foreground of a terminal to process group %d, outside this run", group);
	return blocked_control(stop, target);
}

struct resume handle_ioctl(struct stop *stop)
{
	enum { SET_OWNER = 0x8901, SET_GROUP = 0x8902, SET_FOREGROUND = 0x5410, INJECT_INPUT = 0x5412, CONSOLE = 0x541c,
	       SET_ASYNC = 0x5452 };
	unsigned long request = (uint32_t)stop->call.args[1];
	pid_t owner;
	switch (request) {
	case SET_OWNER:
	case SET_GROUP: {
		int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[2]), &owner, sizeof(owner));
		if (failed)
			return resume_failed(failed);
		struct resume resume = decide_owner(stop, owner);
		return resume.kind == RESUME_RUN ? pin_address_argument(stop, 2, &owner, sizeof(owner)) : resume;
	}
	case SET_FOREGROUND: return set_foreground(stop);
	case SET_ASYNC: return ask_for_signals(stop);
	case INJECT_INPUT: return blocked_control(stop, "input into a terminal (TIOCSTI)");
	case CONSOLE: return blocked_control(stop, "the console (TIOCLINUX)");
	case FS_IOC_SETFLAGS:
	case FS_IOC32_SETFLAGS:
	case FS_IOC_FSSETXATTR:
	case FS_IOC_SETVERSION: return set_inode_flags(stop, request);
	default: return file_system_request(stop, (unsigned)request);
	}
}
