/* The sentence under "summary": what happened, and which rule at which line of the policy says so. Names in it come from
 * the target: they are made visible first, so that whoever prints the sentence prints one line. */
#include "verdict/parts.h"

#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static void append_safe(struct text *text, const char *string)
{
	text_append_visible(text, string, strlen(string));
}

static void append_seconds(struct text *text, int64_t ms)
{
	if (ms < 0)
		ms = 0;
	if (ms < 1000)
		text_printf(text, "%.2fs", (double)ms / 1000);
	else
		text_printf(text, "%.1fs", (double)ms / 1000);
}

static void append_location(struct text *text, const char *file, unsigned line, unsigned column)
{
	if (!file || !*file)
		return;
	text_append(text, " (");
	append_safe(text, file);
	if (line > 0)
		text_printf(text, ":%u", line);
	else
		text_printf(text, ", argument %u", column);
	text_append(text, ")");
}

/* "/paths/deny/3" as "paths.deny". */
static void append_key(struct text *text, const char *pointer)
{
	unsigned components = 0;
	for (; *pointer; pointer++) {
		if (*pointer == '/' && ++components > 2)
			return;
		if (*pointer != '/')
			text_append_visible(text, pointer, 1);
		else if (components == 2)
			text_append(text, ".");
	}
}

static bool names_entry(const char *pointer)
{
	const char *last = strrchr(pointer, '/');
	return last && isdigit((unsigned char)last[1]);
}

static bool starts_with(const char *string, const char *start)
{
	return strncmp(string, start, strlen(start)) == 0;
}

/* Why: the entry that denies, the entry whose content did not fit, or the list where nothing matched. */
static void append_reason(struct text *text, const char *pointer)
{
	if (starts_with(pointer, "/paths/deny") || starts_with(pointer, "/syscalls/deny"))
		text_append(text, " is denied by ");
	else if (names_entry(pointer) && starts_with(pointer, "/paths/execute"))
		text_append(text, " does not have the content that is asked for by ");
	else if (names_entry(pointer))
		text_append(text, " is not allowed by ");
	else if (*pointer)
		text_append(text, " is not on ");
	else
		text_append(text, " is not allowed");
	append_key(text, pointer);
}

static const char *const operation_words[RULE_COUNT] = {
	[RULE_BLOCKED_SYSCALL] = "system call ", [RULE_BLOCKED_SIGNAL] = "signal to ",
	[RULE_BLOCKED_NETWORK] = "connect to ",  [RULE_BLOCKED_BIND] = "bind to ",
	[RULE_BLOCKED_READ] = "reading ",        [RULE_BLOCKED_WRITE] = "writing ",
	[RULE_BLOCKED_EXECUTE] = "executing ",   [RULE_BLOCKED_STAT] = "looking at ",
};

static void append_object(struct text *text, const struct record_failure *failure)
{
	if (failure->has_path && failure->resolved.length > 0)
		append_safe(text, failure->resolved.bytes);
	else if (failure->target[0] || failure->rule != RULE_BLOCKED_SYSCALL)
		append_safe(text, failure->target);
}

static void append_violation(struct text *text, const struct record_failure *failure)
{
	const char *words = operation_words[failure->rule];
	text_append(text, words ? words : "");
	if (failure->rule == RULE_BLOCKED_SYSCALL) {
		append_safe(text, failure->syscall);
		text_append(text, failure->target[0] ? ", " : "");
	}
	append_object(text, failure);
	append_reason(text, failure->policy.pointer);
	append_location(text, failure->policy.file, failure->policy.line, failure->policy.column);
}

static const struct {
	enum rule_id rule;
	enum limit_id limit;
} limits[] = {
	{ RULE_TIMEOUT_WALL, LIMIT_WALL },          { RULE_TIMEOUT_CPU, LIMIT_CPU },
	{ RULE_LIMIT_OUTPUT, LIMIT_OUTPUT },        { RULE_LIMIT_MEMORY, LIMIT_MEMORY },
	{ RULE_LIMIT_PROCESSES, LIMIT_PROCESSES },  { RULE_LIMIT_THREADS, LIMIT_THREADS },
	{ RULE_LIMIT_FILE_SIZE, LIMIT_FILE_SIZE },  { RULE_LIMIT_OPEN_FILES, LIMIT_OPEN_FILES },
	{ RULE_LIMIT_WORKSPACE, LIMIT_WORKSPACE },  { RULE_LIMIT_ARTIFACT, LIMIT_ARTIFACT },
};

static int limit_of_rule(enum rule_id rule)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (limits[i].rule == rule)
			return (int)limits[i].limit;
	return -1;
}

static void append_used(struct text *text, const struct run_record *record, enum rule_id rule,
			const struct record_failure *failure)
{
	int64_t wall_ms = failure ? failure->when_ms : record->usage.wall_ms;
	if (rule == RULE_TIMEOUT_WALL) {
		text_append(text, "the run used ");
		append_seconds(text, wall_ms);
		text_append(text, " of wall time");
	} else if (rule == RULE_TIMEOUT_CPU) {
		text_append(text, "the run used ");
		append_seconds(text, record->usage.cpu_ms);
		text_append(text, " of CPU time");
	} else if (rule == RULE_LIMIT_OUTPUT) {
		uint64_t bytes = record->output[0].bytes + record->output[1].bytes;
		text_printf(text, "the run wrote %" PRIu64 " bytes of output", bytes);
	} else if (failure) {
		append_safe(text, failure->target);
	}
}

static void append_limit_value(struct text *text, int id, uint64_t value)
{
	char number[UNITS_TEXT];
	if (limit_rows[id].unit == UNIT_DURATION_MS)
		units_format_duration(number, value);
	else if (limit_rows[id].unit == UNIT_SIZE_BYTES)
		units_format_size(number, value);
	else
		units_format_count(number, value);
	text_printf(text, "; limits.%s is %s", limit_rows[id].key, number);
}

/* Position and number come from the policy; where a run never had one, the failure's own position is all there is. */
static void append_limit(struct text *text, const struct run_record *record, const struct verdict_context *context,
			 const struct verdict_outcome *outcome)
{
	const struct record_failure *failure = outcome->first;
	if (failure && failure->rule != outcome->rule)
		failure = NULL;
	append_used(text, record, outcome->rule, failure);

	int id = limit_of_rule(outcome->rule);
	if (context->policy && id >= 0) {
		const struct limit *limit = &context->policy->limits[id];
		append_limit_value(text, id, limit->value);
		append_location(text, limit->position.file, limit->position.line, limit->position.column);
	} else if (failure) {
		append_location(text, failure->policy.file, failure->policy.line, failure->policy.column);
	}
}

static void append_end(struct text *text, const struct run_record *record)
{
	if (record->interrupted_signal) {
		text_printf(text, "interrupted: %s to bailiff ended the run after ", signal_text(record->interrupted_signal));
		append_seconds(text, record->usage.wall_ms);
	} else if (record->exit_signal) {
		text_printf(text, "runtime error: the program died of %s", signal_text(record->exit_signal));
	} else {
		text_printf(text, "runtime error: the program exited with code %d", record->exit_code);
	}
}

/* Under `deny` the program goes on with what its call was answered: a later end is told beside it, so that nobody has to look for
 * two causes. A limit and a signal to bailiff end a run as well, and then they are what did it. */
static void append_after(struct text *text, const struct run_record *record, const struct record_failure *first)
{
	int limit = limit_of_rule((enum rule_id)atomic_load(&record->limit_rule));
	bool by_bailiff = record->interrupted_signal || limit >= 0;
	if (!first->answered[0] || strcmp(first->answered, "killed") == 0 || (!by_bailiff && !record->ended))
		return;
	text_printf(text, "; it was answered %s, after which ", first->answered);
	if (record->interrupted_signal)
		text_printf(text, "%s to bailiff ended the run", signal_text(record->interrupted_signal));
	else if (limit >= 0)
		text_printf(text, "limits.%s ended the run", limit_rows[limit].key);
	else if (record->exit_signal)
		text_printf(text, "the program died of %s", signal_text(record->exit_signal));
	else
		text_printf(text, "the program exited with code %d", record->exit_code);
}

static void append_completed(struct text *text, const struct run_record *record)
{
	text_append(text, "completed: exit 0 in ");
	append_seconds(text, record->usage.wall_ms);
}

static void append_error(struct text *text, const struct record_error *error)
{
	if (strcmp(error->stage, "command") == 0) {
		text_append(text, "not started: ");
	} else {
		text_append(text, "bailiff failed at ");
		append_safe(text, error->stage);
		text_append(text, ": ");
	}
	append_safe(text, error->message);
}

/* The list holds a limit as well where one came behind a violation. */
static unsigned count_logged(const struct run_record *record)
{
	unsigned total = atomic_load(&record->violation_total), recorded = atomic_load(&record->violation_recorded);
	for (unsigned i = 0; i < recorded && i < RECORD_VIOLATION_MAX; i++)
		if (rule_status(record->violations[i].rule) != STATUS_POLICY_BLOCKED)
			total -= record->violations[i].count;
	return total;
}

/* Under `log` the run's own status hides violations; the sentence does not. */
static void append_logged(struct text *text, const struct run_record *record, const struct verdict_outcome *outcome)
{
	const struct record_failure *first = outcome->first;
	if (!first || first->rule == outcome->rule || rule_status(first->rule) != STATUS_POLICY_BLOCKED)
		return;
	unsigned total = count_logged(record);
	text_printf(text, "; %u violation%s logged, first: ", total, total == 1 ? "" : "s");
	append_violation(text, first);
	stacks_append_place(text, &record->explanation);
}

char *summary_of(const struct run_record *record, const struct verdict_context *context,
		 const struct verdict_outcome *outcome)
{
	struct text text = { 0 };
	switch (outcome->status) {
	case STATUS_NONE:
		append_error(&text, &outcome->error);
		return text.bytes;
	case STATUS_POLICY_BLOCKED:
		text_append(&text, "blocked: ");
		append_violation(&text, outcome->first);
		stacks_append_place(&text, &record->explanation);
		append_after(&text, record, outcome->first);
		return text.bytes;
	case STATUS_TIMEOUT:
		text_append(&text, "timeout: ");
		append_limit(&text, record, context, outcome);
		break;
	case STATUS_RESOURCE_LIMIT:
		text_append(&text, "resource limit: ");
		append_limit(&text, record, context, outcome);
		break;
	case STATUS_RUNTIME_ERROR: append_end(&text, record); break;
	case STATUS_COMPLETED: append_completed(&text, record); break;
	}
	append_logged(&text, record, outcome);
	return text.bytes;
}
