#include "engine/report.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/events.h"
#include "engine/resolve.h"
#include "policy/suggest.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCESS_TEXT_BYTES = sizeof(((struct record_failure *)NULL)->access), NS_PER_MS = 1000000 };

/* "read,write" */
static void access_text(unsigned access, char text[static ACCESS_TEXT_BYTES])
{
	static const struct { unsigned bit; const char *name; } names[] = {
		{ ACCESS_READ, "read" }, { ACCESS_WRITE, "write" }, { ACCESS_EXECUTE, "execute" }, { ACCESS_STAT, "stat" },
	};
	size_t length = 0;
	text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (access & names[i].bit)
			length += (size_t)snprintf(text + length, ACCESS_TEXT_BYTES - length, "%s%s", length ? "," : "", names[i].name);
}

static const char *operation_target(const struct operation *operation)
{
	if (operation->target)
		return operation->target;
	if (operation->resolved && *operation->resolved)
		return operation->resolved;
	return operation->given ? operation->given : "";
}

static void operation_access(const struct operation *operation, char text[static ACCESS_TEXT_BYTES])
{
	if (operation->access_text)
		text_copy(text, ACCESS_TEXT_BYTES, operation->access_text);
	else
		access_text(operation->access, text);
}

static const char *call_name(const struct stop *stop, char *buffer, size_t capacity)
{
	if (stop->row)
		return stop->row->name;
	snprintf(buffer, capacity, "call %llu", (unsigned long long)stop->call.number);
	return buffer;
}

/* ---- filling a failure -------------------------------------------------------------------------------------------- */

static void fill_policy(struct record_policy *target, const struct position *position)
{
	if (!position)
		return;
	text_copy(target->file, sizeof(target->file), position->file ? position->file : "");
	text_copy(target->pointer, sizeof(target->pointer), position->pointer ? position->pointer : "");
	target->line = position->line;
	target->column = position->column;
}

static void fill_link(pid_t pid, const char *name, struct record_bytes *target)
{
	char link[PATH_MAX];
	ssize_t length = proc_read_link(pid, name, link, sizeof(link));
	record_bytes_set(target, link, length > 0 ? (size_t)length : 0);
}

static void fill_command(char *const *command, struct record_process *process)
{
	for (; *command && process->argv_length < sizeof(process->argv); command++) {
		size_t length = strlen(*command) + 1, room = sizeof(process->argv) - process->argv_length;
		memcpy(process->argv + process->argv_length, *command, length < room ? length : room);
		process->argv_length += (uint32_t)(length < room ? length : room);
	}
}

/* Until the target's first execve the process is a copy of bailiff: its program says nothing about the run, and its
 * arguments may hold a value that --env was given and that no verdict shows. */
static void fill_process(const struct supervisor *supervisor, struct record_process *process, const struct task *task)
{
	process->pid = task->process->tgid;
	process->tid = task->tid;
	fill_link(task->tid, "cwd", &process->cwd);
	if (supervisor->started) {
		fill_link(task->tid, "exe", &process->exe);
		ssize_t length = proc_read_file(task->tid, "cmdline", process->argv, sizeof(process->argv));
		process->argv_length = length > 0 ? (uint32_t)length : 0;
	} else {
		fill_command(supervisor->plan->command, process);
	}
	process->argv_truncated = process->argv_length == sizeof(process->argv);
}

/* Who started whom, up to the main process. */
static void fill_ancestry(struct supervisor *supervisor, struct record_failure *failure, const struct task *task)
{
	pid_t parent = task->process->parent;
	while (failure->ancestry_count < RECORD_ANCESTRY_MAX && supervisor_owns_process(supervisor, parent)) {
		struct record_ancestor *ancestor = &failure->ancestry[failure->ancestry_count++];
		ancestor->pid = parent;
		fill_link(parent, "exe", &ancestor->exe);
		ssize_t length = proc_read_file(parent, "cmdline", ancestor->argv, sizeof(ancestor->argv));
		ancestor->argv_length = length > 0 ? (uint32_t)length : 0;
		parent = tasks_find_process(supervisor->tasks, parent)->parent;
	}
}

static struct path_request path_request_of(const struct stop *stop, const struct operation *operation)
{
	return (struct path_request){ .access = operation->access, .path = operation->resolved, .self = stop->task->process->tgid };
}

/* What the program wrote, as an absolute name. False where a relative one belongs to another folder than the current one. */
static bool given_from_root(const struct stop *stop, const struct operation *operation, const char *cwd, char *name, size_t size)
{
	struct resolved from_cwd;
	if (!operation->given || operation->given[0] == '/')
		return operation->given && text_copy(name, size, operation->given);
	if (resolve_path(stop->supervisor, stop->task, AT_FDCWD, operation->given, 0, &from_cwd) != 0 ||
	    strcmp(from_cwd.path, operation->resolved) != 0)
		return false;
	int length = snprintf(name, size, "%s/%s", cwd, operation->given);
	return length > 0 && (size_t)length < size;
}

static void fill_considered(const struct stop *stop, const struct operation *operation, struct record_failure *failure)
{
	char given[PATH_MAX];
	struct considered considered[RECORD_CONSIDERED_MAX];
	const struct policy *policy = stop->supervisor->policy;
	size_t count = 0;
	if (operation->address) {
		count = decide_consider_connect(policy, operation->list, operation->address, considered, RECORD_CONSIDERED_MAX);
	} else if (operation->access && operation->resolved) {
		struct path_request request = path_request_of(stop, operation);
		if (given_from_root(stop, operation, failure->process.cwd.bytes, given, sizeof(given)))
			request.given = given;
		count = decide_consider_path(policy, &request, considered, RECORD_CONSIDERED_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		struct record_considered *target = &failure->considered[failure->considered_count++];
		fill_policy(&target->policy, &considered[i].rule->position);
		text_copy(target->entry, sizeof(target->entry), considered[i].rule->text);
		text_copy(target->why, sizeof(target->why), considered[i].why);
	}
}

static void fill_suggestions(const struct stop *stop, const struct operation *operation, struct record_failure *failure)
{
	struct suggestion suggestions[SUGGESTION_MAX];
	const struct policy *policy = stop->supervisor->policy;
	size_t count = 0;
	if (operation->list == LIST_COUNT)
		return;
	if (operation->address) {
		count = suggest_network(policy, operation->list, operation->address, suggestions);
	} else if (operation->list == LIST_SYSCALL_ALLOW && stop->row) {
		count = suggest_syscall(policy, stop->row->number, suggestions);
	} else if (operation->access && operation->resolved) {
		struct path_request request = path_request_of(stop, operation);
		count = suggest_path(policy, &request, stop->supervisor->plan->variables, suggestions);
	}
	for (size_t i = 0; i < count; i++) {
		struct record_suggestion *target = &failure->suggestions[failure->suggestion_count];
		bool whole = text_copy(target->pointer, sizeof(target->pointer), suggestions[i].pointer) &&
			     text_copy(target->value, sizeof(target->value), suggestions[i].value);
		text_copy(target->opens, sizeof(target->opens), suggestions[i].opens);
		failure->suggestion_count += whole; /* one that was cut would not be JSON any more */
		suggestion_free(&suggestions[i]);
	}
}

static void fill_paths(const struct operation *operation, struct record_failure *failure)
{
	failure->has_path = operation->given != NULL;
	if (operation->given)
		record_bytes_set(&failure->given, operation->given, strlen(operation->given));
	if (operation->resolved)
		record_bytes_set(&failure->resolved, operation->resolved, strlen(operation->resolved));
}

static void fill_failure(struct stop *stop, const struct operation *operation, struct record_failure *failure)
{
	struct supervisor *supervisor = stop->supervisor;
	char name[32];
	failure->rule = operation->rule;
	failure->count = 1;
	failure->when_ms = (int64_t)((clock_now_ns() - supervisor->shared->start_ns) / NS_PER_MS);
	fill_policy(&failure->policy, operation->position);
	text_copy(failure->syscall, sizeof(failure->syscall), call_name(stop, name, sizeof(name)));
	operation_access(operation, failure->access);
	text_copy(failure->flags, sizeof(failure->flags), operation->flags ? operation->flags : "");
	text_copy(failure->target, sizeof(failure->target), operation_target(operation));
	for (size_t i = 0; i < operation->chain_count && i < 4; i++)
		text_copy(failure->chain[failure->chain_count++], sizeof(failure->chain[0]), operation->chain[i]);
	fill_paths(operation, failure);
	if (operation->kernel_would)
		text_copy(failure->kernel_would, sizeof(failure->kernel_would), errno_text(operation->kernel_would));
	failure->has_process = true;
	fill_process(supervisor, &failure->process, stop->task);
	fill_ancestry(supervisor, failure, stop->task);
	fill_considered(stop, operation, failure);
	fill_suggestions(stop, operation, failure);
}

/* ---- what follows ------------------------------------------------------------------------------------------------- */

static void send_event(struct stop *stop, const struct operation *operation, const char *decision, const char *answered)
{
	const struct supervisor *supervisor = stop->supervisor;
	if (supervisor->plan->events_fd < 0)
		return;
	char name[32], access[ACCESS_TEXT_BYTES];
	operation_access(operation, access);
	struct event event = {
		.when_ms = (clock_now_ns() - supervisor->shared->start_ns) / NS_PER_MS,
		.pid = stop->task->process->tgid,
		.tid = stop->task->tid,
		.syscall = call_name(stop, name, sizeof(name)),
		.access = access,
		.target = operation_target(operation),
		.decision = decision,
		.rule = rule_name(operation->rule),
		.answered = answered,
	};
	events_write(supervisor->plan->events_fd, supervisor->shared, &event);
}

static void explain(struct stop *stop)
{
	struct supervisor *supervisor = stop->supervisor;
	struct record_explanation *explanation = &supervisor->record->explanation;
	const struct process *process = stop->task->process;
	if (!supervisor->plan->explainer)
		return;
	if (!supervisor->started) { /* what is on the stack is bailiff's own code */
		text_copy(explanation->stack_missing, sizeof(explanation->stack_missing), "the program had not started");
		explanation->captured = true;
		return;
	}
	if (process->vfork_parent) {
		struct record_snapshot *parent = &explanation->snapshots[1];
		_Static_assert(sizeof(parent->registers) == sizeof(process->vfork_registers.bytes), "the same registers");
		memcpy(parent->registers, process->vfork_registers.bytes, sizeof(parent->registers));
		parent->registers_length = registers_all_bytes();
	}
	supervisor->plan->explainer->capture(stop->task->tid, process->vfork_parent, explanation);
}

/* Latches and records. What the program did before this call comes before it: front counts that first. */
static void record_blocked(struct stop *stop, const struct operation *operation, const char *answered)
{
	struct supervisor *supervisor = stop->supervisor;
	if (stop->reported)
		return;
	stop->reported = true;
	supervisor_count_before(supervisor);

	struct record_failure *failure = memory_zeroed(1, sizeof(*failure));
	fill_failure(stop, operation, failure);
	text_copy(failure->answered, sizeof(failure->answered), answered);
	if (record_first_claim(supervisor->record)) {
		memcpy(&supervisor->record->first, failure, sizeof(*failure));
		/* Latched before it is explained: memory that never answers a read costs the explanation, not the verdict. */
		record_first_done(supervisor->record);
		explain(stop);
	}
	record_violation(supervisor->record, failure);
	free(failure);
	send_event(stop, operation, "blocked", answered);
}

struct resume report_blocked(struct stop *stop, const struct operation *operation)
{
	switch (stop->supervisor->policy->on_violation) {
	case ON_VIOLATION_LOG: record_blocked(stop, operation, "logged"); return resume_run();
	case ON_VIOLATION_DENY: {
		int answer = operation->answer ? operation->answer : EPERM;
		record_blocked(stop, operation, errno_text(answer));
		return resume_answer(-answer);
	}
	case ON_VIOLATION_KILL: break;
	}
	record_blocked(stop, operation, "killed");
	supervisor_end_tree(stop->supervisor);
	return resume_nothing();
}

bool report_blocked_after(struct stop *stop, const struct operation *operation)
{
	bool only_log = stop->supervisor->policy->on_violation == ON_VIOLATION_LOG;
	record_blocked(stop, operation, only_log ? "logged" : "killed");
	if (!only_log)
		supervisor_end_tree(stop->supervisor);
	return !only_log;
}

void report_allowed(struct stop *stop, const struct operation *operation, int answered)
{
	if (stop->supervisor->plan->events_fd >= 0)
		send_event(stop, operation, answered ? "kernel" : "allowed", answered ? errno_text(answered) : NULL);
}

struct resume report_refused_quietly(struct stop *stop, const struct operation *operation, int answer, const char *why)
{
	char access[ACCESS_TEXT_BYTES];
	operation_access(operation, access);
	record_note(stop->supervisor->record, "%s %.400s answered %s: %s", access, operation_target(operation), errno_text(answer),
		    why);
	send_event(stop, operation, "refused", errno_text(answer));
	return resume_answer(-answer);
}
