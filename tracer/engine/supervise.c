#include "engine/supervise.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "engine/freeze.h"
#include "engine/clones.h"
#include "engine/handlers.h"
#include "engine/limits.h"
#include "engine/pin.h"
#include "engine/placement.h"
#include "tracee/control.h"
#include "tracee/wait.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ENDED_EARLY_MAX = 64 };

/* ---- what front sees ---------------------------------------------------------------------------------------------- */

static void tell_front(struct supervisor *supervisor, enum message message)
{
	char byte = (char)message;
	if (send(supervisor->front, &byte, 1, MSG_NOSIGNAL) != 1)
		launch_abandon(); /* front is gone */
}

void supervisor_count_before(struct supervisor *supervisor)
{
	char byte;
	tell_front(supervisor, MESSAGE_VIOLATION);
	ssize_t count;
	while ((count = recv(supervisor->front, &byte, 1, 0)) < 0 && errno == EINTR)
		;
	if (count != 1)
		launch_abandon();
}

static void list_process(struct supervisor *supervisor, struct process *process)
{
	struct shared *shared = supervisor->shared;
	int high = atomic_load(&shared->process_high);
	for (int slot = 0; slot < SHARED_PROCESS_MAX; slot++) {
		if (slot < high && atomic_load_explicit(&shared->processes[slot], memory_order_relaxed) != 0)
			continue;
		process->slot = slot;
		atomic_store(&shared->processes[slot], process->tgid);
		if (slot >= high)
			atomic_store(&shared->process_high, slot + 1);
		return;
	}
}

/* A process ended: its time moves from the list of the living to the sum of the dead, in one step for a reader. */
static void account_end(struct supervisor *supervisor, const struct process *process, const struct wait_event *event)
{
	struct shared *shared = supervisor->shared;
	atomic_fetch_add(&shared->generation, 1);
	if (process->slot >= 0)
		atomic_store(&shared->processes[process->slot], 0);
	if (event->has_cpu)
		atomic_fetch_add(&shared->dead_cpu_ns, event->cpu_ns);
	atomic_fetch_add(&shared->generation, 1);

	struct record_usage *usage = &supervisor->record->usage;
	if ((int64_t)event->max_rss_bytes > usage->peak_memory_bytes)
		usage->peak_memory_bytes = (int64_t)event->max_rss_bytes;
}

static void count_peaks(struct supervisor *supervisor)
{
	struct record_usage *usage = &supervisor->record->usage;
	uint32_t processes = tasks_process_count(supervisor->tasks), threads = tasks_count(supervisor->tasks);
	atomic_store(&supervisor->shared->live_processes, processes);
	if (processes > usage->processes_peak)
		usage->processes_peak = processes;
	if (threads > usage->threads_peak)
		usage->threads_peak = threads;
}

/* ---- the table of tasks ------------------------------------------------------------------------------------------- */

struct task *supervisor_add_task(struct supervisor *supervisor, pid_t tid, pid_t tgid, pid_t parent)
{
	struct task *task = tasks_add(supervisor->tasks, tid, tgid, parent);
	supervisor->record->usage.threads_total++;
	if (task->process->thread_count == 1) {
		supervisor->record->usage.processes_total++;
		list_process(supervisor, task->process);
	}
	count_peaks(supervisor);
	return task;
}

/* A thread that its parent's event tells of, or whose first stop came before. One that is not ours has ended meanwhile, and its
 * number may be somebody else's by now: whoever is in the table may be signalled, and is killed at the end. */
static struct task *adopt_task(struct supervisor *supervisor, pid_t tid)
{
	struct proc_status status;
	if (proc_read_status(tid, &status) != 0 || status.tracer != getpid())
		return NULL;
	struct task *task = supervisor_add_task(supervisor, tid, status.tgid, status.ppid);
	const struct process *parent = tasks_find_process(supervisor->tasks, status.ppid);
	/* Its parent's event tells as well (on_new_task), but its own calls may come before. */
	task->process->filtered = task->process->filtered || (parent && parent->filtered);
	return task;
}

void supervisor_forget_signal(struct supervisor *supervisor, struct task *task)
{
	supervisor->signalling_count -= task->signalling;
	task->signalling = false;
}

bool supervisor_owns_process(struct supervisor *supervisor, pid_t tgid)
{
	return tgid > 0 && tasks_find_process(supervisor->tasks, tgid) != NULL;
}

bool supervisor_owns_thread(struct supervisor *supervisor, pid_t tid)
{
	return tid > 0 && tasks_find(supervisor->tasks, tid) != NULL;
}

/* ---- the end of the tree ------------------------------------------------------------------------------------------ */

static void kill_task(struct task *task, void *data)
{
	(void)data;
	kill(task->process->tgid, SIGKILL);
}

void supervisor_end_tree(struct supervisor *supervisor)
{
	supervisor->ending = true;
	atomic_store(&supervisor->shared->ending, 1);
	tasks_each(supervisor->tasks, kill_task, NULL);
}

static void name_left_running(struct task *task, void *data)
{
	struct record_usage *usage = data;
	if (task->tid != task->process->tgid)
		return;
	if (usage->left_running_count < RECORD_LEFT_RUNNING_MAX) {
		struct record_left *left = &usage->left_running[usage->left_running_count];
		left->pid = task->tid;
		ssize_t length = proc_read_file(task->tid, "comm", left->comm, sizeof(left->comm) - 1);
		left->comm[length > 0 ? length - 1 : 0] = '\0';
	}
	usage->left_running_count++;
}

static void obey_front(struct supervisor *supervisor)
{
	if (supervisor->ending || atomic_load(&supervisor->shared->stop_request) == STOP_NONE)
		return;
	if (supervisor->record->ended)
		tasks_each(supervisor->tasks, name_left_running, &supervisor->record->usage);
	supervisor_end_tree(supervisor);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/* Before the target's image is in place the child runs our own code: its calls pass, the probe is answered, and its execve
 * is decided like any other. */
static struct resume launch_stop(struct supervisor *supervisor, struct stop *stop)
{
	stop->row = syscall_by_number((long)stop->call.number);
	bool probe = stop->row && strcmp(stop->row->name, "mkdirat") == 0 && (int)stop->call.args[0] == LAUNCH_PROBE_ARGUMENT &&
		     stop->call.args[1] == 0;
	if (probe) {
		supervisor->injector.listener = launch_receive_listener(supervisor->launch);
		return resume_answer(supervisor->injector.listener >= 0 ? LAUNCH_PROBE_ANSWER : supervisor->injector.listener);
	}
	return stop->row && stop->row->handler == HANDLER_EXEC ? handle_stop(stop) : resume_run();
}

static int rewrite(struct task *task)
{
	int failed = registers_rewrite_call(task->tid, task->pin.number, task->pin.args, &task->pin.saved);
	return failed ? failed : control_resume_to_exit(task->tid);
}

/* The call becomes the one that is answered with a descriptor. */
static void deliver(struct supervisor *supervisor, struct task *task, const struct resume *resume)
{
	task->pin = (struct task_pin){ .active = true, .slot = PAGE_SLOT_NONE, .number = inject_number(task->process->filtered),
				       .args = { supervisor->injector.nonce } };
	if (rewrite(task) == 0)
		inject_answer(&supervisor->injector, task->tid, resume->descriptor, resume->descriptor_flags);
	close(resume->descriptor);
}

/* Lets the call get past its path look-up before anything else is served. Only so that others seldom meet its guard (EBUSY):
 * what makes the path hold is the guard (pin_guard). A thread that sleeps interruptibly waits for something else. */
static void settle(pid_t tid)
{
	enum { LOOKS = 2000, LOOK_NS = 50 * 1000 };
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	char state;
	for (int i = 0; i < LOOKS && !wait_is_ready(tid); i++) {
		if (proc_read_state(tid, &state) != 0 || state == 'S')
			return;
		nanosleep(&pause, NULL);
	}
}

static void apply(struct supervisor *supervisor, struct task *task, struct resume resume)
{
	switch (resume.kind) {
	case RESUME_NOTHING: return;
	case RESUME_ANSWER:
		if (registers_skip_call(task->tid, resume.result) == 0)
			control_resume(task->tid, 0);
		return;
	case RESUME_RUN: control_resume(task->tid, 0); return;
	case RESUME_PINNED:
		/* A thread that is gone gives its slot back at its end. */
		if (rewrite(task) != 0)
			return;
		if (resume.frozen)
			freeze_until_taken(task->tid);
		if (resume.settle)
			settle(task->tid);
		return;
	case RESUME_DELIVER: deliver(supervisor, task, &resume); return;
	}
}

static void on_seccomp_stop(struct supervisor *supervisor, struct task *task)
{
	struct stop stop = { .supervisor = supervisor, .task = task };
	atomic_fetch_add_explicit(&supervisor->shared->stops, 1, memory_order_relaxed);
	placement_note_stop(supervisor->placement, task);
	if (registers_read_call(task->tid, &stop.call) != 0)
		return; /* killed meanwhile */
	apply(supervisor, task, task->launching ? launch_stop(supervisor, &stop) : handle_stop(&stop));
}

/* Small memory of threads that ended before their parent's event told of them. */
struct early_ends {
	pid_t tids[ENDED_EARLY_MAX];
	size_t next;
};

static bool ended_early(struct early_ends *early, pid_t tid)
{
	for (size_t i = 0; i < ENDED_EARLY_MAX; i++) {
		if (early->tids[i] == tid) {
			early->tids[i] = 0;
			return true;
		}
	}
	return false;
}

/* The parent sleeps in the kernel from here on, where its registers cannot be had: its stack begins with those of now. */
static void keep_vfork_parent(struct process *child, pid_t parent)
{
	if (!child->executed && registers_read_all(parent, &child->vfork_registers) == 0)
		child->vfork_parent = parent;
}

static void inherit(struct process *child, const struct task *parent, const struct wait_event *event)
{
	child->filtered = child->filtered || parent->process->filtered;
	if (event->suspends)
		keep_vfork_parent(child, parent->tid);
}

static void on_new_task(struct supervisor *supervisor, struct task *parent, const struct wait_event *event, struct early_ends *early)
{
	pid_t tid = control_event_message(event->tid);
	struct task *adopted = tid > 0 ? tasks_find(supervisor->tasks, tid) : NULL;
	if (tid > 0)
		placement_inherited(supervisor->placement, event->tid, tid);
	if (adopted)
		inherit(adopted->process, parent, event);
	bool came_early = clones_settle(supervisor->tasks, parent, tid > 0 ? tid : 0);
	if (tid > 0 && !adopted && !came_early && !ended_early(early, tid)) {
		struct task *task = adopt_task(supervisor, tid);
		if (task)
			inherit(task->process, parent, event);
		if (task && parent->identity_valid) {
			task->identity = parent->identity;
			task->identity_valid = true;
		}
		if (task && supervisor->ending)
			kill(task->process->tgid, SIGKILL);
	}
	control_resume(event->tid, 0);
}

/* After an execve by another thread than the leader, the caller goes on under the leader's tid, and the leader's own end is
 * never reported (ptrace(2), "execve(2) under ptrace"). */
static struct task *exec_caller(struct supervisor *supervisor, struct task *leader, pid_t tid)
{
	pid_t former = control_event_message(tid);
	if (former <= 0 || former == tid)
		return leader;
	struct task *caller = tasks_find(supervisor->tasks, former);
	if (!caller)
		return leader;
	bool process_ended;
	if (leader->exiting)
		supervisor->exiting_count--;
	supervisor_forget_signal(supervisor, leader);
	pin_release(supervisor, leader);
	placement_forget(supervisor->placement, tid, 0);
	placement_forget(supervisor->placement, former, tid);
	tasks_remove(supervisor->tasks, leader, &process_ended);
	bug_unless(!process_ended);
	tasks_rename(supervisor->tasks, caller, tid);
	count_peaks(supervisor);
	return caller;
}

/* Before anybody is reaped (next_event). */
static void send_signals(struct supervisor *supervisor)
{
	if (supervisor->signalling_count > 0)
		freeze_signallers(supervisor);
}

static void handle_event(struct supervisor *supervisor, const struct wait_event *event, struct early_ends *early);

static void on_exec(struct supervisor *supervisor, struct task *task, pid_t tid, struct early_ends *early)
{
	task = exec_caller(supervisor, task, tid);
	struct stop stop = { .supervisor = supervisor, .task = task };
	if (task->launching) {
		task->launching = false;
		supervisor->started = true;
		supervisor->shared->start_ns = clock_now_ns();
		supervisor->shared->began = clock_stamp_now();
		tell_front(supervisor, MESSAGE_STARTED);
	}
	pin_release(supervisor, task);
	task->process->vfork_parent = 0;
	task->process->executed = true;
	task->identity_valid = false; /* an execve computes capabilities anew */
	if (verify_exec(&stop))
		return;
	struct wait_event other;
	send_signals(supervisor); /* what ends meanwhile is reaped there */
	int failed = inject_page(&supervisor->injector, supervisor->page, tid, task->process->filtered, &other);
	if (failed == 0) {
		control_resume(tid, 0);
	} else if (failed != -ESRCH && task->process->filtered) {
		/* Its own filter refuses what no program can do without, mmap: this image never runs, and nobody else is to blame. */
		record_note(supervisor->record, "process %d was killed at its execve: its own filter refuses mmap (%s)", tid,
			    strerror(-failed));
		kill(tid, SIGKILL);
	} else if (failed != -ESRCH) {
		/* Without the page no decision about this image would hold: it never runs. */
		record_error(supervisor->record, "pin", -failed, "cannot give the sealed page to process %d: %s", tid, strerror(-failed));
		supervisor_end_tree(supervisor);
	} else if (other.tid > 0) {
		/* The thread has not got its registers back. An end needs none, and a signal is one that the kernel forced on it;
		 * for anything else the new image would go on with ours. */
		if (other.kind != WAIT_EXITING && other.kind != WAIT_EXITED && other.kind != WAIT_KILLED && other.kind != WAIT_SIGNAL)
			kill(tid, SIGKILL);
		handle_event(supervisor, &other, early);
	}
}

/* The step of the child's that failed, unless a rule had already refused it. */
void supervisor_read_launch_report(struct supervisor *supervisor)
{
	struct launch_report report;
	if (record_first(supervisor->record))
		return;
	if (!launch_receive_report(supervisor->launch, &report)) {
		record_error(supervisor->record, "launch", 0, "the target's process ended before the target began");
	} else if (report.step != STEP_EXEC) {
		record_error(supervisor->record, "launch", report.number, "%s: %s", launch_step_text(report.step), strerror(report.number));
	} else {
		bool interpreter = report.number == ENOENT;
		record_error(supervisor->record, "command", interpreter ? ENOEXEC : report.number, "cannot execute %.1000s: %s",
			     supervisor->plan->command[0],
			     interpreter ? "the interpreter that it names is not there" : strerror(report.number));
	}
}

static void on_main_end(struct supervisor *supervisor, const struct wait_event *event)
{
	struct run_record *record = supervisor->record;
	if (!supervisor->started) {
		supervisor_read_launch_report(supervisor);
	} else {
		limit_look_at_cgroup(supervisor);
		record->exit_code = event->kind == WAIT_EXITED ? event->status : -1;
		record->exit_signal = event->signal;
		record->ended = true;
		if (event->kind == WAIT_KILLED || event->status != 0)
			limit_blame_refusal(supervisor);
	}
	tell_front(supervisor, MESSAGE_MAIN_ENDED);
}

static void on_end(struct supervisor *supervisor, struct task *task, const struct wait_event *event)
{
	bool process_ended, leader = task->tid == task->process->tgid;
	pin_release(supervisor, task);
	placement_forget(supervisor->placement, task->tid, 0);
	if (task->exiting)
		supervisor->exiting_count--;
	if (leader)
		account_end(supervisor, task->process, event);
	tasks_remove(supervisor->tasks, task, &process_ended);
	count_peaks(supervisor);
	if (event->tid == supervisor->main_tid)
		on_main_end(supervisor, event);
}

static void on_exiting(struct supervisor *supervisor, struct task *task)
{
	if (!task->exiting)
		supervisor->exiting_count++;
	task->exiting = true;
	if (task->tid == task->process->tgid)
		task->process->vfork_parent = 0; /* which goes on about now */
	if (task->tid == supervisor->main_tid && supervisor->started && !supervisor->ending)
		limit_look_at_exit(supervisor, task, control_event_message_word(task->tid));
	control_resume(task->tid, 0);
}

static void on_group_stop(struct supervisor *supervisor, struct task *task)
{
	control_listen(task->tid);
	if (task->tid == supervisor->main_tid && !supervisor->own_session)
		tell_front(supervisor, MESSAGE_MAIN_STOPPED);
}

static void handle_event(struct supervisor *supervisor, const struct wait_event *event, struct early_ends *early)
{
	bool end = event->kind == WAIT_EXITED || event->kind == WAIT_KILLED;
	struct task *task = tasks_find(supervisor->tasks, event->tid);
	if (!task && end) {
		early->tids[early->next++ % ENDED_EARLY_MAX] = event->tid;
		return;
	}
	if (!task) {
		task = adopt_task(supervisor, event->tid);
		if (!task)
			return; /* gone already */
		clones_child_came_early(supervisor->tasks, task);
	}
	supervisor_forget_signal(supervisor, task);
	if (supervisor->ending && !end)
		kill(task->process->tgid, SIGKILL); /* a thread that was made while the others were killed */

	if (event->kind != WAIT_NEW_TASK)
		clones_settle(supervisor->tasks, task, 0);
	switch (event->kind) {
	case WAIT_SECCOMP_STOP:
		if (!supervisor->ending)
			on_seccomp_stop(supervisor, task);
		return;
	case WAIT_NEW_TASK: on_new_task(supervisor, task, event, early); return;
	case WAIT_EXEC: on_exec(supervisor, task, event->tid, early); return;
	case WAIT_EXITING: on_exiting(supervisor, task); return;
	case WAIT_GROUP_STOP: on_group_stop(supervisor, task); return;
	case WAIT_SIGNAL:
		if (event->signal == SIGXFSZ)
			limit_file_size_exceeded(supervisor, task);
		control_resume(event->tid, event->signal);
		return;
	case WAIT_TRAP:
		freeze_leave(task);
		control_resume(event->tid, 0);
		return;
	case WAIT_SYSCALL_STOP:
		if (task->pin.active)
			pin_finish(supervisor, task);
		else
			control_resume(event->tid, 0);
		return;
	case WAIT_EXITED:
	case WAIT_KILLED: on_end(supervisor, task, event); return;
	}
}

static void find_exiting(struct task *task, void *data)
{
	pid_t *found = data;
	if (task->exiting && task->process->thread_count == 1)
		*found = task->tid;
}

/* Only processes of one thread: nothing but their end is left to come from them, and soon. */
void supervisor_reap_exiting(struct supervisor *supervisor)
{
	struct early_ends none = { .next = 0 };
	send_signals(supervisor);
	while (supervisor->exiting_count > 0) {
		struct wait_event event;
		pid_t tid = 0;
		tasks_each(supervisor->tasks, find_exiting, &tid);
		int result = tid ? wait_for(tid, &event) : -ECHILD;
		if (result == 0)
			handle_event(supervisor, &event, &none);
		else if (result != -EINTR)
			return;
	}
}

/* A number is free to be given to somebody else once its process has been reaped, and a signal that was allowed may still be on
 * its way to it: nobody is reaped before the signals that were allowed have been sent. */
static int next_event(struct supervisor *supervisor, struct wait_event *event)
{
	if (supervisor->signalling_count == 0)
		return wait_next(supervisor->exiting_count > 0, event);
	bool end;
	pid_t tid = wait_look(&end);
	if (tid < 0)
		return tid;
	if (end)
		send_signals(supervisor);
	return wait_for(tid, event);
}

void supervise_until_empty(struct supervisor *supervisor)
{
	struct early_ends early = { .next = 0 };
	for (;;) {
		struct wait_event event;
		obey_front(supervisor);
		int result = next_event(supervisor, &event);
		if (result == -ECHILD)
			return;
		if (result == 0)
			handle_event(supervisor, &event, &early);
		else if (result != -EINTR)
			bug("waiting for tracees failed");
	}
}
