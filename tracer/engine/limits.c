#include "engine/limits.h"

#include "engine/clones.h"
#include "engine/handlers.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "policy/suggest.h"
#include "tracee/proc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NS_PER_MS UINT64_C(1000000)

enum { MS_PER_S = 1000, CPU_NET_SECONDS = 2, REQUEST_SHARE = 8 };

static const enum rule_id limit_rules[LIMIT_COUNT] = {
	[LIMIT_WALL] = RULE_TIMEOUT_WALL,
	[LIMIT_CPU] = RULE_TIMEOUT_CPU,
	[LIMIT_MEMORY] = RULE_LIMIT_MEMORY,
	[LIMIT_OUTPUT] = RULE_LIMIT_OUTPUT,
	[LIMIT_FILE_SIZE] = RULE_LIMIT_FILE_SIZE,
	[LIMIT_WORKSPACE] = RULE_LIMIT_WORKSPACE,
	[LIMIT_ARTIFACT] = RULE_LIMIT_ARTIFACT,
	[LIMIT_PROCESSES] = RULE_LIMIT_PROCESSES,
	[LIMIT_THREADS] = RULE_LIMIT_THREADS,
	[LIMIT_OPEN_FILES] = RULE_LIMIT_OPEN_FILES,
};

uint64_t limit_value(const struct policy *policy, enum limit_id id)
{
	return policy->limits[id].set ? policy->limits[id].value : UNITS_NONE;
}

void limit_fill_failure(const struct policy *policy, enum limit_id id, const char *target, int64_t when_ms,
			struct record_failure *failure)
{
	const struct position *position = &policy->limits[id].position;
	struct suggestion suggestions[SUGGESTION_MAX];
	memset(failure, 0, sizeof(*failure));
	failure->rule = limit_rules[id];
	failure->count = 1;
	failure->when_ms = when_ms;
	text_copy(failure->policy.file, sizeof(failure->policy.file), position->file ? position->file : "");
	text_copy(failure->policy.pointer, sizeof(failure->policy.pointer), position->pointer ? position->pointer : "");
	failure->policy.line = position->line;
	failure->policy.column = position->column;
	text_copy(failure->target, sizeof(failure->target), target);
	text_copy(failure->answered, sizeof(failure->answered), "killed");
	size_t count = suggest_limit(policy, id, suggestions);
	for (size_t i = 0; i < count; i++) {
		struct record_suggestion *suggestion = &failure->suggestions[failure->suggestion_count++];
		text_copy(suggestion->pointer, sizeof(suggestion->pointer), suggestions[i].pointer);
		text_copy(suggestion->value, sizeof(suggestion->value), suggestions[i].value);
		text_copy(suggestion->opens, sizeof(suggestion->opens), suggestions[i].opens);
		suggestion_free(&suggestions[i]);
	}
}

static int64_t when_ms(const struct supervisor *supervisor)
{
	return (int64_t)((clock_now_ns() - supervisor->shared->start_ns) / NS_PER_MS);
}

/* The limit is exceeded now: latched, and the tree ends. */
static void end_by_limit(struct supervisor *supervisor, enum limit_id id, const char *target)
{
	supervisor_count_before(supervisor);
	record_limit(supervisor->record, limit_rules[id]);
	if (record_first_claim(supervisor->record)) {
		limit_fill_failure(supervisor->policy, id, target, when_ms(supervisor), &supervisor->record->first);
		record_first_done(supervisor->record);
	}
	supervisor_end_tree(supervisor);
}

/* Something was refused, and the program may survive that: kept until it is known how the run ends. The first counts. */
static void remember_refusal(struct supervisor *supervisor, enum limit_id id, const char *target)
{
	if (supervisor->refusal)
		return;
	supervisor->refusal = memory_zeroed(1, sizeof(*supervisor->refusal));
	supervisor->refusal_limit = id;
	limit_fill_failure(supervisor->policy, id, target, when_ms(supervisor), supervisor->refusal);
}

void limit_blame_refusal(struct supervisor *supervisor)
{
	if (!supervisor->refusal)
		return;
	text_copy(supervisor->refusal->answered, sizeof(supervisor->refusal->answered),
		  supervisor->refusal_limit == LIMIT_MEMORY ? "ENOMEM" : "EMFILE");
	if (record_first_claim(supervisor->record)) {
		memcpy(&supervisor->record->first, supervisor->refusal, sizeof(*supervisor->refusal));
		record_limit(supervisor->record, limit_rules[supervisor->refusal_limit]);
		record_first_done(supervisor->record);
	}
}

/* ---- processes and threads ---------------------------------------------------------------------------------------- */

/* Counted by us: RLIMIT_NPROC counts every process of the uid, other runs too, and means nothing to root. */
bool limit_stops_clone(struct stop *stop, bool thread, struct resume *resume)
{
	struct supervisor *supervisor = stop->supervisor;
	const struct policy *policy = supervisor->policy;
	uint64_t most_processes = limit_value(policy, LIMIT_PROCESSES), most_threads = limit_value(policy, LIMIT_THREADS);
	const struct clones_pending pending = clones_pending(supervisor->tasks);
	char target[160];
	uint64_t processes = (uint64_t)tasks_process_count(supervisor->tasks) + pending.processes + !thread;
	uint64_t threads = (uint64_t)tasks_count(supervisor->tasks) + pending.threads + 1;
	clones_begin(stop->task, thread);
	bool too_many = !thread && processes > most_processes;
	if (!too_many && threads <= most_threads)
		return false;
	snprintf(target, sizeof(target), too_many ? "%" PRIu64 " processes at once" : "%" PRIu64 " threads at once, in all processes",
		 too_many ? processes : threads);
	end_by_limit(supervisor, too_many ? LIMIT_PROCESSES : LIMIT_THREADS, target);
	*resume = resume_nothing();
	return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

uint64_t limit_memory_request_threshold(const struct policy *policy)
{
	uint64_t limit = limit_value(policy, LIMIT_MEMORY);
	return limit == UNITS_NONE ? UINT64_MAX : (limit / REQUEST_SHARE ? limit / REQUEST_SHARE : 1);
}

/* RLIMIT_DATA counts what is reserved for thread stacks too: only a net, far above the limit. UNITS_NONE for none. */
static uint64_t data_net_bytes(const struct policy *policy)
{
	const uint64_t slack = UINT64_C(1) << 30, stack = UINT64_C(8) << 20;
	uint64_t memory = limit_value(policy, LIMIT_MEMORY), threads = limit_value(policy, LIMIT_THREADS), total;
	if (memory == UNITS_NONE || threads == UNITS_NONE || __builtin_mul_overflow(threads, stack, &total) ||
	    __builtin_add_overflow(total, memory, &total) || __builtin_add_overflow(total, slack, &total))
		return UNITS_NONE;
	return total;
}

bool limit_stops_program(struct stop *stop, uint64_t data_bytes, const char *path, struct resume *resume)
{
	char target[PATH_MAX + 64];
	uint64_t net = data_net_bytes(stop->supervisor->policy);
	if (net == UNITS_NONE || data_bytes <= net)
		return false;
	snprintf(target, sizeof(target), "%" PRIu64 " bytes of data in %s", data_bytes, path);
	end_by_limit(stop->supervisor, LIMIT_MEMORY, target);
	*resume = resume_nothing();
	return true;
}

/* Address space that is only reserved costs nothing: node, Java, Go and wasm reserve far more than they use. What counts is
 * memory that a program asks for in order to write to it. */
static uint64_t requested_bytes(const struct stop *stop)
{
	const uint64_t *args = stop->call.args;
	if (strcmp(stop->row->name, "mremap") == 0)
		return args[2] > args[1] ? args[2] - args[1] : 0;
	int protection = (int)args[2], flags = (int)args[3];
	bool for_use = (protection & PROT_WRITE) && (flags & MAP_ANONYMOUS) && !(flags & MAP_NORESERVE);
	return for_use ? args[1] : 0;
}

/* Writable and private, and larger than what is left below the net: the kernel will refuse it, reserved or not. */
static bool net_refuses(const struct stop *stop, uint64_t *request)
{
	uint64_t net = data_net_bytes(stop->supervisor->policy), data;
	bool counts = strcmp(stop->row->name, "mmap") == 0 && (stop->call.args[2] & PROT_WRITE) && (stop->call.args[3] & MAP_PRIVATE);
	if (net == UNITS_NONE || !counts || proc_read_data(stop->task->process->tgid, &data) != 0)
		return false;
	if (data <= net && stop->call.args[1] <= net - data)
		return false;
	*request = stop->call.args[1];
	return true;
}

/* malloc of the GNU C library takes from the heap (brk) what it could not map, and brk does not stop: an argument check cannot
 * see by how much it grows. So the kernel refuses that too, until the process' next stop: its data may grow by what is left. */
static void refuse_heap(const struct stop *stop, uint64_t left)
{
	struct process *process = stop->task->process;
	struct rlimit old, lowered;
	uint64_t data;
	if (process->data_limit || proc_read_data(process->tgid, &data) != 0 || prlimit(process->tgid, RLIMIT_DATA, NULL, &old) != 0)
		return;
	lowered = (struct rlimit){ .rlim_cur = (rlim_t)(data + left), .rlim_max = old.rlim_max };
	if (lowered.rlim_cur < old.rlim_cur && prlimit(process->tgid, RLIMIT_DATA, &lowered, NULL) == 0)
		process->data_limit = old.rlim_cur;
}

void limit_after_refusal(struct stop *stop)
{
	struct process *process = stop->task->process;
	struct rlimit now;
	if (!process->data_limit)
		return;
	if (prlimit(process->tgid, RLIMIT_DATA, NULL, &now) == 0) {
		now.rlim_cur = (rlim_t)process->data_limit;
		prlimit(process->tgid, RLIMIT_DATA, &now, NULL);
	}
	process->data_limit = 0;
}

/* mmap and mremap of an eighth of the limit or more: ENOMEM where what is in use and the request together exceed it. */
struct resume handle_memory(struct stop *stop)
{
	struct supervisor *supervisor = stop->supervisor;
	uint64_t limit = limit_value(supervisor->policy, LIMIT_MEMORY), request = requested_bytes(stop);
	char target[160];
	bool refused = limit != UNITS_NONE && net_refuses(stop, &request);
	if (limit == UNITS_NONE || request == 0)
		return resume_run();
	uint64_t in_use = memory_use_of_tree(supervisor->memory_use, supervisor->shared);
	if (!refused && in_use <= limit && request <= limit - in_use)
		return resume_run();
	snprintf(target, sizeof(target), "%" PRIu64 " bytes of memory asked for with %" PRIu64 " in use", request, in_use);
	remember_refusal(supervisor, LIMIT_MEMORY, target);
	refuse_heap(stop, in_use < limit ? limit - in_use : 0);
	record_note(supervisor->record, "%s answered ENOMEM: limits.memory", target);
	return resume_answer(-ENOMEM);
}

bool limit_text_cgroup(const struct cgroup *cgroup, char *target, size_t capacity)
{
	uint64_t bytes;
	if (!cgroup_met_memory(cgroup, &bytes))
		return false;
	snprintf(target, capacity, "%" PRIu64 " bytes of memory in use in the run's cgroup, where the kernel then ended it", bytes);
	return true;
}

void limit_look_at_cgroup(struct supervisor *supervisor)
{
	char target[160];
	if (limit_text_cgroup(supervisor->cgroup, target, sizeof(target)))
		end_by_limit(supervisor, LIMIT_MEMORY, target);
	else if (cgroup_met_pids(supervisor->cgroup))
		record_note(supervisor->record, "the kernel refused a process or a thread in the run's cgroup: pids.max there or above, which "
						"also counts those that have ended and were not waited for");
}

/* ---- the workspace ------------------------------------------------------------------------------------------------ */

void limit_text_workspace(const struct quota *quota, uint64_t requested, char *target, size_t capacity)
{
	if (requested)
		snprintf(target, capacity, "%" PRIu64 " bytes of room asked for with at least %" PRIu64 " bytes in the workspace", requested,
			 quota_bytes(quota));
	else
		snprintf(target, capacity, "at least %" PRIu64 " bytes in the workspace", quota_bytes(quota));
}

/* Written bytes take time, in which front looks; a call that takes any amount at once is looked at here. Small ones may add up
 * to a share of the limit before there is another count. */
bool limit_stops_growth(struct stop *stop, uint64_t bytes, struct resume *resume)
{
	enum { COUNT_MOST_MS = 1000 };
	char target[160];
	struct supervisor *supervisor = stop->supervisor;
	uint64_t limit = limit_value(supervisor->policy, LIMIT_WORKSPACE);
	if (!supervisor->quota || bytes <= limit / REQUEST_SHARE - supervisor->room_given) {
		supervisor->room_given += bytes;
		return false;
	}
	supervisor->room_given = 0;
	enum quota_state state = quota_look(supervisor->quota, clock_now_ns() + COUNT_MOST_MS * NS_PER_MS);
	if (state == QUOTA_WITHIN && bytes <= limit - quota_bytes(supervisor->quota)) {
		supervisor->room_given = bytes < limit / REQUEST_SHARE ? bytes : limit / REQUEST_SHARE;
		return false;
	}
	*resume = resume_answer(-EINTR); /* it could not be counted in that time: the caller may try again */
	if (state == QUOTA_COUNTING)
		return true;
	limit_text_workspace(supervisor->quota, bytes, target, sizeof(target));
	end_by_limit(supervisor, LIMIT_WORKSPACE, target);
	*resume = resume_nothing();
	return true;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

void limit_file_size_exceeded(struct supervisor *supervisor, const struct task *task)
{
	char target[160], name[64] = "";
	if (limit_value(supervisor->policy, LIMIT_FILE_SIZE) == UNITS_NONE)
		return;
	ssize_t length = proc_read_file(task->tid, "comm", name, sizeof(name) - 1);
	name[length > 0 ? length - 1 : 0] = '\0';
	snprintf(target, sizeof(target), "a file that %s writes would grow beyond the limit", name);
	end_by_limit(supervisor, LIMIT_FILE_SIZE, target);
}

void limit_note_open_files(struct supervisor *supervisor)
{
	char target[96];
	uint64_t limit = limit_value(supervisor->policy, LIMIT_OPEN_FILES);
	if (limit == UNITS_NONE)
		return;
	snprintf(target, sizeof(target), "%" PRIu64 " descriptors are open", limit);
	remember_refusal(supervisor, LIMIT_OPEN_FILES, target);
}

static uint64_t count_descriptors(pid_t tid)
{
	char path[32];
	uint64_t count = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return count;
}

bool limit_descriptors_full(const struct task *task)
{
	struct rlimit limit;
	return prlimit(task->tid, RLIMIT_NOFILE, NULL, &limit) == 0 && limit.rlim_max != RLIM_INFINITY &&
	       count_descriptors(task->tid) >= limit.rlim_max;
}

/* Calls that make descriptors do not all stop: a program that fails while it holds as many as it may has met the limit. */
void limit_look_at_exit(struct supervisor *supervisor, const struct task *task, unsigned long status)
{
	uint64_t limit = limit_value(supervisor->policy, LIMIT_OPEN_FILES);
	bool failed = !WIFEXITED((int)status) || WEXITSTATUS((int)status) != 0;
	if (limit != UNITS_NONE && failed && count_descriptors(task->tid) >= limit)
		limit_note_open_files(supervisor);
}

/* ---- in the child ------------------------------------------------------------------------------------------------- */

/* Soft and hard, never above what bailiff itself was given. */
static int set_limit(int resource, rlim_t value)
{
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return errno;
	if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	return setrlimit((__rlimit_resource_t)resource, &limit) == 0 ? 0 : errno;
}

static int set_from_policy(const struct policy *policy, enum limit_id id, int resource)
{
	uint64_t value = limit_value(policy, id);
	return value == UNITS_NONE ? 0 : set_limit(resource, (rlim_t)value);
}

static int set_data_net(const struct policy *policy)
{
	uint64_t net = data_net_bytes(policy);
	return net == UNITS_NONE ? 0 : set_limit(RLIMIT_DATA, (rlim_t)net);
}

int limit_set_in_child(const struct policy *policy)
{
	/* A core file would be written without any open that stops. */
	int failed = set_limit(RLIMIT_CORE, 0);
	/* The net below front's own sum: per process, and in whole seconds. */
	uint64_t cpu_ms = limit_value(policy, LIMIT_CPU);
	if (!failed && cpu_ms != UNITS_NONE)
		failed = set_limit(RLIMIT_CPU, (rlim_t)(cpu_ms / MS_PER_S + CPU_NET_SECONDS));
	if (!failed)
		failed = set_from_policy(policy, LIMIT_FILE_SIZE, RLIMIT_FSIZE);
	if (!failed)
		failed = set_data_net(policy);
	return failed ? failed : set_from_policy(policy, LIMIT_OPEN_FILES, RLIMIT_NOFILE);
}
