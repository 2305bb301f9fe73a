#include "engine/front.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "engine/limits.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

enum {
	DRAIN_MS = 100,         /* pipes that others still hold when the main process has ended */
	CPU_LOOK_LEAST_MS = 10, /* between two looks at the CPU clocks, near the limit */
	CPU_LOOK_MOST_MS = 50,
	MEMORY_LOOK_LEAST_MS = 5,
	MEMORY_LOOK_MOST_MS = 20,
	MEMORY_REST = 8,         /* a look at many processes is followed by a rest of so many times its length */
	WORKSPACE_SLICE_MS = 2,  /* of counting at a time: output and clocks come in between */
	WORKSPACE_LOOK_LEAST_MS = 5,
	WORKSPACE_LOOK_MOST_MS = 20,
	WORKSPACE_REST = 4,      /* a count is followed by a rest of so many times its length */
	WORKSPACE_COUNT_MOST_MS = 10000, /* at the end, and before a violation */
	WAKE_AGAIN_MS = 5,      /* the tracer may have gone to wait just before our signal */
	WATCHDOG_MS = 2000,     /* the tracer has not ended the tree: stuck in the kernel */
	WATCHDOG_LAST_MS = 2000,
	PENDING_MOST_BYTES = 64 * 1024,
	COUNT_MOST_BYTES = 1 << 22, /* more than any pipe holds */
	WAKE_SIGNAL = SIGUSR1,
};

/* ---- limits ------------------------------------------------------------------------------------------------------- */

static uint64_t wall_ns(const struct front *front)
{
	return clock_now_ns() - front->shared->start_ns - front->suspended_ns;
}

static void ask_to_end(struct front *front)
{
	if (front->stop_asked_ns == 0)
		front->stop_asked_ns = clock_now_ns();
	atomic_store(&front->shared->stop_request, STOP_END);
	if (!front->tracer_gone)
		kill(front->tracer, WAKE_SIGNAL);
}

static void latch_limit(struct front *front, enum limit_id id, enum rule_id rule, const char *target)
{
	record_limit(front->record, rule);
	if (record_first_claim(front->record)) {
		limit_fill_failure(front->plan->policy, id, target, (int64_t)(wall_ns(front) / NS_PER_MS), &front->record->first);
		record_first_done(front->record);
	} else if (!front->later_limit) {
		front->later_limit = memory_zeroed(1, sizeof(*front->later_limit));
		limit_fill_failure(front->plan->policy, id, target, (int64_t)(wall_ns(front) / NS_PER_MS), front->later_limit);
	}
	ask_to_end(front);
}

static bool wall_is_over(struct front *front)
{
	char target[128], text[UNITS_TEXT];
	uint64_t limit_ms = limit_value(front->plan->policy, LIMIT_WALL), used_ms = wall_ns(front) / NS_PER_MS;
	if (front->record->ended || limit_ms == UNITS_NONE || used_ms < limit_ms)
		return false;
	units_format_duration(text, limit_ms);
	snprintf(target, sizeof(target), "%" PRIu64 " ms of wall time used; the limit is %s", used_ms, text);
	latch_limit(front, LIMIT_WALL, RULE_TIMEOUT_WALL, target);
	return true;
}

/* The next look comes when the limit could be reached at the earliest with every CPU busy, but not too seldom. */
static void plan_next_cpu_look(struct front *front, uint64_t left_ms)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t wait_ms = left_ms / (uint64_t)(cpus > 0 ? cpus : 1);
	if (wait_ms < CPU_LOOK_LEAST_MS)
		wait_ms = CPU_LOOK_LEAST_MS;
	if (wait_ms > CPU_LOOK_MOST_MS)
		wait_ms = CPU_LOOK_MOST_MS;
	front->next_cpu_look_ns = clock_now_ns() + wait_ms * NS_PER_MS;
}

static bool cpu_is_over(struct front *front)
{
	char target[128], text[UNITS_TEXT];
	uint64_t limit_ms = limit_value(front->plan->policy, LIMIT_CPU);
	if (!front->started || limit_ms == UNITS_NONE)
		return false;
	uint64_t used_ms = shared_cpu_ns(front->shared) / NS_PER_MS;
	if (used_ms < limit_ms) {
		plan_next_cpu_look(front, limit_ms - used_ms);
		return false;
	}
	units_format_duration(text, limit_ms);
	snprintf(target, sizeof(target), "%" PRIu64 " ms of CPU time used; the limit is %s", used_ms, text);
	latch_limit(front, LIMIT_CPU, RULE_TIMEOUT_CPU, target);
	return true;
}

/* The next look comes when the limit could be reached at the earliest: a program can touch some 4 MiB in a
 * millisecond; and later where a look takes long. */
static void plan_next_memory_look(struct front *front, uint64_t left_bytes, uint64_t began_ns)
{
	const uint64_t bytes_per_ms = UINT64_C(4) << 20, now = clock_now_ns(), rest_ns = (now - began_ns) * MEMORY_REST;
	uint64_t wait_ms = left_bytes / bytes_per_ms;
	if (wait_ms < MEMORY_LOOK_LEAST_MS)
		wait_ms = MEMORY_LOOK_LEAST_MS;
	if (wait_ms > MEMORY_LOOK_MOST_MS)
		wait_ms = MEMORY_LOOK_MOST_MS;
	front->next_memory_look_ns = now + (rest_ns > wait_ms * NS_PER_MS ? rest_ns : wait_ms * NS_PER_MS);
}

static bool memory_is_over(struct front *front)
{
	char target[128];
	uint64_t limit = limit_value(front->plan->policy, LIMIT_MEMORY);
	if (!front->started || limit == UNITS_NONE)
		return false;
	uint64_t began_ns = clock_now_ns(), used = memory_use_of_tree(&front->memory_use, front->shared);
	if (used > front->peak_memory_bytes)
		front->peak_memory_bytes = used;
	if (limit_text_cgroup(&front->cgroup, target, sizeof(target))) {
		latch_limit(front, LIMIT_MEMORY, RULE_LIMIT_MEMORY, target);
		return true;
	}
	if (used <= limit) {
		plan_next_memory_look(front, limit - used, began_ns);
		return false;
	}
	snprintf(target, sizeof(target), "%" PRIu64 " bytes of memory in use", used);
	latch_limit(front, LIMIT_MEMORY, RULE_LIMIT_MEMORY, target);
	return true;
}

/* The next look comes when the limit could be reached at the earliest, by a disk that takes 4 MiB in a millisecond, and later
 * where a count takes long. */
static void plan_next_workspace_look(struct front *front)
{
	const uint64_t bytes_per_ms = UINT64_C(4) << 20, now = clock_now_ns();
	uint64_t limit = limit_value(front->plan->policy, LIMIT_WORKSPACE);
	uint64_t rest_ns = (now - front->count_began_ns) * WORKSPACE_REST;
	uint64_t wait_ms = (limit - quota_bytes(front->quota)) / bytes_per_ms;
	if (wait_ms < WORKSPACE_LOOK_LEAST_MS)
		wait_ms = WORKSPACE_LOOK_LEAST_MS;
	if (wait_ms > WORKSPACE_LOOK_MOST_MS)
		wait_ms = WORKSPACE_LOOK_MOST_MS;
	front->next_workspace_look_ns = now + (rest_ns > wait_ms * NS_PER_MS ? rest_ns : wait_ms * NS_PER_MS);
	front->count_began_ns = 0;
}

/* Goes on counting for `most_ms`. A folder that cannot be counted is over the limit: it may hold anything. */
static bool workspace_is_over(struct front *front, uint64_t most_ms)
{
	char target[384];
	if (!front->started || !front->quota)
		return false;
	if (front->count_began_ns == 0)
		front->count_began_ns = clock_now_ns();
	switch (quota_look(front->quota, clock_now_ns() + most_ms * NS_PER_MS)) {
	case QUOTA_COUNTING: front->next_workspace_look_ns = clock_now_ns(); return false;
	case QUOTA_WITHIN: plan_next_workspace_look(front); return false;
	case QUOTA_EXCEEDED: limit_text_workspace(front->quota, 0, target, sizeof(target)); break;
	case QUOTA_UNKNOWN:
		snprintf(target, sizeof(target), "a folder in the workspace cannot be counted: %s", quota_problem(front->quota));
		break;
	}
	front->count_began_ns = 0;
	latch_limit(front, LIMIT_WORKSPACE, RULE_LIMIT_WORKSPACE, target);
	return true;
}

/* A count from the beginning, of what is there now. */
static bool workspace_is_over_now(struct front *front)
{
	if (front->count_began_ns && workspace_is_over(front, WORKSPACE_COUNT_MOST_MS))
		return true;
	return workspace_is_over(front, WORKSPACE_COUNT_MOST_MS);
}

static void output_is_over(struct front *front)
{
	char target[128];
	uint64_t seen = 0;
	for (size_t i = 0; i < front->relay_count; i++)
		seen += front->relays[i].stream->bytes;
	snprintf(target, sizeof(target), "%" PRIu64 " bytes of output seen; the limit is %" PRIu64, seen, front->cap.cap_bytes);
	latch_limit(front, LIMIT_OUTPUT, RULE_LIMIT_OUTPUT, target);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

/* Once the cap is crossed nothing more is read: the run is over, and what was within the cap is delivered. */
static void read_output(struct front *front, size_t most)
{
	for (size_t i = 0; i < front->relay_count; i++) {
		struct relay *relay = &front->relays[i];
		if (relay_read(relay, &front->cap, most)) {
			output_is_over(front);
			for (size_t j = 0; j < front->relay_count; j++) {
				close(front->relays[j].source);
				front->relays[j].source = -1;
			}
			return;
		}
	}
}

static void flush_output(struct front *front)
{
	for (size_t i = 0; i < front->relay_count; i++)
		relay_flush(&front->relays[i]);
}

static bool output_is_open(const struct front *front)
{
	for (size_t i = 0; i < front->relay_count; i++)
		if (relay_is_open(&front->relays[i]))
			return true;
	return false;
}

static bool output_is_pending(const struct front *front)
{
	for (size_t i = 0; i < front->relay_count; i++)
		if (relay_is_pending(&front->relays[i]))
			return true;
	return false;
}

/* ---- standard input that is fed ----------------------------------------------------------------------------------- */

static void close_feed(struct front *front)
{
	if (front->feed_to >= 0)
		close(front->feed_to);
	front->feed_to = -1;
}

/* A target that does not read, or is gone, is no fault (EPIPE). */
static void feed_input(struct front *front, bool readable, bool writable)
{
	if (readable && front->feed_done == front->feed_length) {
		ssize_t count = read(front->feed_from, front->feed, sizeof(front->feed));
		if (count <= 0 && !(count < 0 && (errno == EINTR || errno == EAGAIN))) {
			close_feed(front);
			return;
		}
		front->feed_done = 0;
		front->feed_length = count > 0 ? (size_t)count : 0;
	}
	if (writable || readable) {
		ssize_t count = write(front->feed_to, front->feed + front->feed_done, front->feed_length - front->feed_done);
		if (count < 0 && errno != EAGAIN && errno != EINTR)
			close_feed(front);
		else if (count > 0)
			front->feed_done += (size_t)count;
	}
}

/* ---- the terminal ------------------------------------------------------------------------------------------------- */

static void take_terminal(pid_t group)
{
	sigset_t block, old;
	sigemptyset(&block);
	sigaddset(&block, SIGTTOU);
	sigprocmask(SIG_BLOCK, &block, &old);
	tcsetpgrp(STDIN_FILENO, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Stops bailiff as the shell expects of a job, and goes on with the target when the shell continues it. */
static void suspend_with_target(struct front *front)
{
	/* Before there is a target, and after its end when the number may be somebody else's, only bailiff itself stops. */
	pid_t target = front->main_ended ? 0 : atomic_load(&front->shared->main_pid);
	uint64_t before = clock_now_ns();
	if (front->terminal)
		take_terminal(getpgrp());
	else if (target > 0)
		kill(-target, SIGSTOP);
	raise(SIGSTOP);
	front->suspended_ns += clock_now_ns() - before;
	if (target > 0 && front->terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
		take_terminal(target);
	if (target > 0)
		kill(-target, SIGCONT);
}

/* ---- messages and signals ----------------------------------------------------------------------------------------- */

/* Before a violation is latched: what the program did before that call. The order is fixed: wall, CPU, output. */
static void count_before_violation(struct front *front)
{
	char answer = MESSAGE_COUNTED;
	if (!wall_is_over(front))
		cpu_is_over(front);
	read_output(front, COUNT_MOST_BYTES);
	memory_is_over(front);
	workspace_is_over_now(front);
	if (send(front->socket, &answer, 1, MSG_NOSIGNAL) != 1)
		return; /* the tracer is gone: its end is the next event */
}

static void on_message(struct front *front)
{
	char message;
	ssize_t count = recv(front->socket, &message, 1, MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		close(front->socket);
		front->socket = -1;
		return;
	}
	switch (message) {
	case MESSAGE_VIOLATION: count_before_violation(front); return;
	case MESSAGE_STARTED: front->started = true; return;
	case MESSAGE_MAIN_ENDED:
		front->main_ended = true;
		front->main_ended_ns = clock_now_ns();
		return;
	case MESSAGE_MAIN_STOPPED: suspend_with_target(front); return;
	default: return;
	}
}

static void reap_tracer(struct front *front)
{
	int status;
	if (front->tracer_gone || waitpid(front->tracer, &status, WNOHANG) != front->tracer)
		return;
	front->tracer_gone = true;
	bool told = front->record->ended || front->record->error.set || record_first(front->record);
	if (told || front->record->interrupted_signal)
		return;
	if (WIFSIGNALED(status))
		record_error(front->record, "supervise", 0, "the tracer died of %s; the tree was killed with it",
			     signal_text(WTERMSIG(status)));
	else
		record_error(front->record, "supervise", 0, "the tracer ended with status %d before the target did",
			     WEXITSTATUS(status));
}

static void on_signal(struct front *front)
{
	struct signalfd_siginfo info;
	if (read(front->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGCHLD: reap_tracer(front); return;
	case SIGTSTP: suspend_with_target(front); return;
	default:
		if (!front->record->interrupted_signal)
			front->record->interrupted_signal = (int)info.ssi_signo;
		ask_to_end(front);
	}
}

/* ---- the watchdog ------------------------------------------------------------------------------------------------- */

static void kill_listed(const struct front *front)
{
	int high = atomic_load(&front->shared->process_high);
	for (int i = 0; i < high; i++) {
		pid_t tgid = atomic_load(&front->shared->processes[i]);
		if (tgid > 0)
			kill(tgid, SIGKILL);
	}
}

/* A tracer that is stuck in the kernel (a file system that never answers) cannot be reaped either: front kills what it
 * knows of and goes on without it. True when there is nothing left to wait for. */
static bool watchdog(struct front *front)
{
	uint64_t waited_ms = front->stop_asked_ns ? (clock_now_ns() - front->stop_asked_ns) / NS_PER_MS : 0;
	if (waited_ms < WATCHDOG_MS)
		return false;
	kill_listed(front);
	kill(front->tracer, SIGKILL);
	if (waited_ms < WATCHDOG_MS + WATCHDOG_LAST_MS)
		return false;
	record_note(front->record, "the tracer did not answer for %u ms: the tree was killed without it", WATCHDOG_MS);
	return true;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

static void sooner(int *timeout_ms, uint64_t now_ns, uint64_t at_ns)
{
	uint64_t left_ms = at_ns <= now_ns ? 0 : (at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	if (*timeout_ms < 0 || left_ms < (uint64_t)*timeout_ms)
		*timeout_ms = left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int next_timeout_ms(const struct front *front)
{
	int timeout_ms = -1;
	uint64_t now = clock_now_ns(), wall_ms = limit_value(front->plan->policy, LIMIT_WALL);
	if (front->stop_asked_ns)
		return WAKE_AGAIN_MS;
	if (!front->main_ended && wall_ms != UNITS_NONE)
		sooner(&timeout_ms, now, front->shared->start_ns + front->suspended_ns + wall_ms * NS_PER_MS);
	if (front->started && limit_value(front->plan->policy, LIMIT_CPU) != UNITS_NONE)
		sooner(&timeout_ms, now, front->next_cpu_look_ns);
	if (front->started && limit_value(front->plan->policy, LIMIT_MEMORY) != UNITS_NONE)
		sooner(&timeout_ms, now, front->next_memory_look_ns);
	if (front->started && front->quota)
		sooner(&timeout_ms, now, front->next_workspace_look_ns);
	if (front->main_ended)
		sooner(&timeout_ms, now, front->main_ended_ns + DRAIN_MS * NS_PER_MS);
	return timeout_ms;
}

enum slot { SLOT_SIGNALS, SLOT_SOCKET, SLOT_FEED_FROM, SLOT_FEED_TO, SLOT_SOURCE, SLOT_TARGET = SLOT_SOURCE + FRONT_STREAMS,
	    SLOT_COUNT = SLOT_TARGET + FRONT_STREAMS };

static void fill_slots(const struct front *front, struct pollfd slots[SLOT_COUNT])
{
	bool feed_full = front->feed_done < front->feed_length;
	for (int i = 0; i < SLOT_COUNT; i++)
		slots[i] = (struct pollfd){ .fd = -1 };
	slots[SLOT_SIGNALS] = (struct pollfd){ .fd = front->signals, .events = POLLIN };
	slots[SLOT_SOCKET] = (struct pollfd){ .fd = front->socket, .events = POLLIN };
	if (front->feed_to >= 0) {
		slots[SLOT_FEED_FROM] = (struct pollfd){ .fd = feed_full ? -1 : front->feed_from, .events = POLLIN };
		slots[SLOT_FEED_TO] = (struct pollfd){ .fd = front->feed_to, .events = feed_full ? POLLOUT : 0 };
	}
	for (size_t i = 0; i < front->relay_count; i++) {
		const struct relay *relay = &front->relays[i];
		bool room = relay->pending.length < PENDING_MOST_BYTES;
		slots[SLOT_SOURCE + i] = (struct pollfd){ .fd = room ? relay->source : -1, .events = POLLIN };
		/* Also without anything pending: POLLERR tells that the reader went away. */
		if (relay_is_open(relay) || relay_is_pending(relay))
			slots[SLOT_TARGET + i] = (struct pollfd){ .fd = relay->target, .events = relay_is_pending(relay) ? POLLOUT : 0 };
	}
}

static void note_gone_readers(struct front *front, const struct pollfd slots[SLOT_COUNT])
{
	for (size_t i = 0; i < front->relay_count; i++) {
		struct relay *relay = &front->relays[i];
		if (!(slots[SLOT_TARGET + i].revents & POLLERR) || !relay->target_waits || !relay_is_open(relay))
			continue;
		close(relay->source);
		relay->source = -1;
		relay->pending.length = 0;
	}
}

static void poll_once(struct front *front)
{
	struct pollfd slots[SLOT_COUNT];
	fill_slots(front, slots);
	if (poll(slots, SLOT_COUNT, next_timeout_ms(front)) <= 0)
		return;
	if (slots[SLOT_SIGNALS].revents)
		on_signal(front);
	if (slots[SLOT_SOCKET].revents)
		on_message(front);
	if (slots[SLOT_FEED_FROM].revents || slots[SLOT_FEED_TO].revents)
		feed_input(front, slots[SLOT_FEED_FROM].revents, slots[SLOT_FEED_TO].revents);
	note_gone_readers(front, slots);
	read_output(front, PENDING_MOST_BYTES);
	flush_output(front);
}

/* The main process is gone: pipes that others still hold drain for a moment, then the rest is killed. */
static void end_after_main(struct front *front)
{
	bool nobody = atomic_load(&front->shared->live_processes) == 0;
	if (!front->main_ended || nobody)
		return;
	if (clock_now_ns() - front->main_ended_ns >= DRAIN_MS * NS_PER_MS)
		ask_to_end(front);
}

/* Everything is dead: what is left in the pipes still counts, and goes to the reader however slow it is. A signal to
 * bailiff ends the waiting. */
static void deliver_rest(struct front *front)
{
	read_output(front, COUNT_MOST_BYTES);
	flush_output(front);
	while (output_is_pending(front) && !front->record->interrupted_signal) {
		poll_once(front);
		if (!output_is_open(front) && !output_is_pending(front))
			break;
	}
}

static void look_at_limits(struct front *front)
{
	if (front->stop_asked_ns || wall_is_over(front))
		return;
	if (clock_now_ns() >= front->next_cpu_look_ns && cpu_is_over(front))
		return;
	if (clock_now_ns() >= front->next_memory_look_ns && memory_is_over(front))
		return;
	if (clock_now_ns() >= front->next_workspace_look_ns)
		workspace_is_over(front, WORKSPACE_SLICE_MS);
}

/* What was written in the last moments counts as well: a run that ends with more than it may have has not completed. */
static void count_workspace_at_end(struct front *front)
{
	struct run_record *record = front->record;
	bool ended_by_rule = record_first(record) && front->plan->policy->on_violation == ON_VIOLATION_KILL;
	bool ended = front->tracer_gone && record->ended && !record->interrupted_signal;
	if (!ended || ended_by_rule || atomic_load(&record->limit_rule) != RULE_NONE || workspace_is_over_now(front))
		return;
	/* Not even counted: it may hold anything. */
	if (front->count_began_ns)
		latch_limit(front, LIMIT_WORKSPACE, RULE_LIMIT_WORKSPACE, "the workspace could not be counted in time");
}

void front_wait(struct front *front)
{
	while (!front->tracer_gone) {
		poll_once(front);
		reap_tracer(front);
		if (front->tracer_gone)
			break;
		look_at_limits(front);
		end_after_main(front);
		if (front->stop_asked_ns && !atomic_load(&front->shared->ending))
			ask_to_end(front);
		if (watchdog(front))
			break;
	}
	if (front->terminal)
		take_terminal(getpgrp());
	deliver_rest(front);
	count_workspace_at_end(front);
	/* The list has one writer: the tracer while it lives, then front. */
	const struct record_failure *first = record_first(front->record);
	if (front->later_limit && front->tracer_gone && first && first->rule != front->later_limit->rule)
		record_violation(front->record, front->later_limit);
}

void front_release(struct front *front)
{
	for (size_t i = 0; i < front->relay_count; i++)
		relay_close(&front->relays[i]);
	const int own[] = { front->socket, front->signals, front->feed_to };
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i] >= 0)
			close(own[i]);
	memory_use_end(&front->memory_use);
	quota_free(front->quota);
	free(front->later_limit);
}
