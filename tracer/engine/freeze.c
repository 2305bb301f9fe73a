#include "engine/freeze.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "tracee/control.h"
#include "tracee/wait.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 50 * 1000, LOOKS_PER_SECOND = 1000 * 1000 * 1000 / LOOK_NS, NO_LIMIT = 6 };

struct sharers {
	pid_t self, holder;
	struct task **tasks;
	size_t count;
};

/* A kernel without kcmp cannot tell: then everybody is taken for one who shares. */
static bool shares_descriptors(pid_t tid, pid_t other)
{
	return syscall(SYS_kcmp, tid, other, KCMP_FILES, 0, 0) <= 0;
}

static void collect(struct task *task, void *data)
{
	struct sharers *sharers = data;
	if (task->tid != sharers->self && shares_descriptors(sharers->holder, task->tid))
		sharers->tasks[sharers->count++] = task;
}

struct suspended_search {
	pid_t tid;
	bool found;
};

static void look_for_child(struct task *task, void *data)
{
	struct suspended_search *search = data;
	search->found = search->found || task->process->vfork_parent == search->tid;
}

/* It waits in the kernel for its vfork child, and the interruption that was asked for before stops it when it has done so,
 * before it runs its own code. The state as well as our table, which learns of the child's end a little late. */
static bool is_suspended(const struct supervisor *supervisor, pid_t tid)
{
	char state;
	struct suspended_search search = { .tid = tid };
	if (proc_read_state(tid, &state) != 0 || state != 'D')
		return false;
	tasks_each(supervisor->tasks, look_for_child, &search);
	return search.found;
}

/* A thread with an event that nobody has taken stays where it is. A first thread that has ended, while others of its
 * process go on, never has one. */
static bool is_still(pid_t tid)
{
	char state;
	return wait_is_ready(tid) || proc_read_state(tid, &state) != 0 || state == 'Z' || state == 'X';
}

static void pause_briefly(void)
{
	const struct timespec time = { .tv_nsec = LOOK_NS };
	nanosleep(&time, NULL);
}

static void interrupt(struct task *task)
{
	if (wait_is_ready(task->tid))
		return;
	task->frozen = true;
	control_interrupt(task->tid);
}

/* A thread that is being made right now is stopped before its first instruction, and stays so: nobody takes that stop. */
int freeze_descriptors(struct stop *stop, pid_t holder)
{
	const struct supervisor *supervisor = stop->supervisor;
	unsigned count = tasks_count(supervisor->tasks);
	if (count < 2)
		return 0;
	auto_free struct task **others = memory_zeroed(count, sizeof(struct task *));
	struct sharers sharers = { .self = stop->task->tid, .holder = holder, .tasks = others };
	tasks_each(supervisor->tasks, collect, &sharers);
	for (size_t i = 0; i < sharers.count; i++)
		interrupt(others[i]);
	unsigned looks = 0;
	for (size_t i = 0; i < sharers.count; i++) {
		for (; !is_still(others[i]->tid) && !is_suspended(supervisor, others[i]->tid); looks++) {
			if (looks == LOOKS_PER_SECOND)
				return -EAGAIN;
			pause_briefly();
		}
	}
	return 0;
}

/* The call is under way already: a thread that stops has made it. It never sleeps in there. */
static void let_send(struct task *task, void *data)
{
	(void)data;
	if (!task->signalling)
		return;
	interrupt(task);
	while (!is_still(task->tid))
		pause_briefly();
}

void freeze_signallers(struct supervisor *supervisor)
{
	tasks_each(supervisor->tasks, let_send, NULL);
}

/* Calls that would wait for ever, and that the kernel does not make again by itself after a stop. With a time limit they stay
 * interrupted, as after SIGCONT (signal(7)): made again they would begin their time anew, each time. */
static const struct waiting {
	int call;
	unsigned limit;    /* which argument is the time limit; NO_LIMIT for none */
	bool milliseconds; /* it is a number, less than 0 for none; else a pointer, NULL for none */
} waiting_calls[] = {
	{ SYS_epoll_wait, 3, true },      { SYS_epoll_pwait, 3, true },  { SYS_epoll_pwait2, 3, false }, { SYS_rt_sigtimedwait, 2, false },
	{ SYS_semop, NO_LIMIT, false },   { SYS_semtimedop, 3, false },  { SYS_io_getevents, 4, false }, { SYS_io_pgetevents, 4, false },
};

static bool waits_for_ever(uint64_t number, const uint64_t args[6])
{
	for (size_t i = 0; i < sizeof(waiting_calls) / sizeof(*waiting_calls); i++) {
		const struct waiting *row = &waiting_calls[i];
		if ((uint64_t)row->call != number)
			continue;
		if (row->limit == NO_LIMIT)
			return true;
		return row->milliseconds ? (int)(uint32_t)args[row->limit] < 0 : args[row->limit] == 0;
	}
	return false;
}

/* Where a signal has come as well, EINTR is its doing. One that comes later could have come before the call. */
void freeze_leave(struct task *task)
{
	struct registers_all registers;
	uint64_t number, args[6];
	if (!task->frozen)
		return;
	task->frozen = false;
	if (registers_read_all(task->tid, &registers) != 0 || !registers_interrupted(&registers, &number, args) ||
	    !waits_for_ever(number, args) || proc_signals_arrive(task->tid))
		return;
	registers_call_again(&registers);
	registers_write_all(task->tid, &registers);
}

/* On its way to the descriptor a call waits for nobody (net/socket.c, sockfd_lookup_light comes first): a thread that sleeps has
 * it. So one that runs, or waits for a processor, is waited for, however long that takes; and one that waits for a disk for a
 * second, since a name in the sealed page may have to be read back in. */
void freeze_until_taken(pid_t tid)
{
	char state;
	unsigned looks = 0;
	while (!wait_is_ready(tid) && proc_read_state(tid, &state) == 0 &&
	       (state == 'R' || (state == 'D' && looks++ < LOOKS_PER_SECOND)))
		pause_briefly();
}
