/* A verdict in plain words, one screen, for a person in a hurry: what happened, by which rule, what call on what object by
 * whom, what came nearest, and what would let it pass.
 *
 * It reads the JSON alone, which may come from anywhere: no type is trusted, every string is made safe for a terminal
 * and cut, and every list is cut. */
#include "verdict/verdict.h"

#include "verdict/as_option.h"
#include "verdict/json.h"
#include "verdict/parts.h"

#include <inttypes.h>
#include <string.h>

enum {
	VALUE_BYTES = 240, /* what is shown of one string */
	LIST_MOST = 4,
	MIXED_MOST = 48,
	ANCESTRY_MOST = 4,
	LABEL_WIDTH = 11,
};

struct page {
	struct text *out;
	bool colour;
};

static void append_safe(struct text *out, const char *string)
{
	size_t length = strlen(string), shown = 0;
	while (shown < length && shown < VALUE_BYTES) {
		size_t step = utf8_sequence_length(string + shown, length - shown);
		shown += step ? step : 1;
	}
	text_append_visible(out, string, shown);
	if (shown < length)
		text_append(out, " ...");
}

static void label(const struct page *page, const char *name)
{
	text_printf(page->out, "  %s%-*s%s", page->colour ? "\033[2m" : "", LABEL_WIDTH, name, page->colour ? "\033[0m" : "");
}

static void end_line(const struct page *page)
{
	text_append(page->out, "\n");
}

/* "name       value", nothing where there is no value. */
static void field(const struct page *page, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	label(page, name);
	append_safe(page->out, value);
	end_line(page);
}

static void append_words(struct text *out, const cJSON *array)
{
	int words = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, array) {
		const char *word = cJSON_GetStringValue(item);
		if (!word)
			continue;
		if (out->length > 0)
			text_append(out, " ");
		text_append(out, word);
		if (++words == 32)
			return;
	}
}

static void append_position(struct text *out, const cJSON *position)
{
	const char *file = json_string(position, "file");
	int64_t line = json_number(position, "line"), column = json_number(position, "column");
	append_safe(out, file ? file : "?");
	if (line > 0)
		text_printf(out, ":%" PRId64 ":%" PRId64, line, column);
	else
		text_printf(out, ", argument %" PRId64, column);
}

static void append_seconds(struct text *out, int64_t ms)
{
	text_printf(out, ms < 1000 ? "%.2fs" : "%.1fs", (double)ms / 1000);
}

static const struct {
	const char *status, *colour;
} status_colours[] = {
	{ "completed", "\033[1;32m" },      { "policy_blocked", "\033[1;31m" }, { "timeout", "\033[1;33m" },
	{ "resource_limit", "\033[1;33m" }, { "runtime_error", "\033[1;35m" },
};

static const char *colour_of(const char *status)
{
	for (size_t i = 0; status && i < sizeof(status_colours) / sizeof(*status_colours); i++)
		if (strcmp(status, status_colours[i].status) == 0)
			return status_colours[i].colour;
	return "\033[1;31m";
}

/* The summary, its first word ("blocked:") in the status' colour. Not cut like other values: it holds the answer. */
static void headline(const struct page *page, const cJSON *verdict)
{
	const char *summary = json_string(verdict, "summary");
	if (!summary)
		summary = "a verdict without a summary";
	size_t word = strcspn(summary, ":");
	if (page->colour)
		text_append(page->out, colour_of(json_string(verdict, "status")));
	text_append_visible(page->out, summary, word);
	if (page->colour)
		text_append(page->out, "\033[0m");
	text_append_visible(page->out, summary + word, strlen(summary + word));
	text_append(page->out, "\n\n");
}

static bool rule_starts(const cJSON *failure, const char *start)
{
	const char *rule = json_string(failure, "rule");
	return rule && strncmp(rule, start, strlen(start)) == 0;
}

static void policy_line(const struct page *page, const cJSON *failure)
{
	const cJSON *policy = json_get(failure, "policy");
	if (!cJSON_IsObject(policy))
		return;
	label(page, "policy");
	append_position(page->out, policy);
	const char *pointer = json_string(policy, "pointer");
	if (pointer && *pointer) {
		text_append(page->out, "  ");
		append_safe(page->out, pointer);
	}
	end_line(page);
}

/* "openat, read, O_RDONLY|O_CLOEXEC"; for many calls the kind of access is the call's own name. */
static void call_line(const struct page *page, const cJSON *operation)
{
	const char *call = json_string(operation, "syscall"), *access = json_string(operation, "access");
	if (!call && !access)
		return;
	if (call && access && strcmp(call, access) == 0)
		access = NULL;
	const char *parts[] = { call, access, json_string(operation, "flags") };
	bool first = true;
	label(page, "call");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i])
			continue;
		text_append(page->out, first ? "" : ", ");
		append_safe(page->out, parts[i]);
		first = false;
	}
	end_line(page);
}

static void object_line(const struct page *page, const cJSON *failure)
{
	const cJSON *path = json_get(failure, "path"), *operation = json_get(failure, "operation");
	const char *given = json_string(path, "given"), *resolved = json_string(path, "resolved");
	const char *host = json_string(operation, "host");
	if (!given)
		given = json_string(operation, "target");
	if (!given)
		given = resolved;
	if (!given)
		return;
	label(page, "object");
	append_safe(page->out, given);
	if (resolved && strcmp(given, resolved) != 0) {
		text_append(page->out, "  which is ");
		append_safe(page->out, resolved);
	}
	if (host) {
		text_append(page->out, "  found as ");
		append_safe(page->out, host);
	}
	end_line(page);
}

static void words_line(const struct page *page, const char *name, const cJSON *words)
{
	struct text line = { 0 };
	append_words(&line, words);
	field(page, name, text_string(&line));
	text_free(&line);
}

static void ancestry_line(const struct page *page, const cJSON *process)
{
	struct text line = { 0 };
	int shown = 0;
	const cJSON *ancestor;
	cJSON_ArrayForEach(ancestor, json_get(process, "ancestry")) {
		const char *exe = json_string(ancestor, "exe");
		if (shown++ == ANCESTRY_MOST)
			break;
		text_printf(&line, "%s%s (%" PRId64 ")", line.length ? ", started by " : "", exe ? exe : "?",
			    json_number(ancestor, "pid"));
	}
	field(page, "started by", text_string(&line));
	text_free(&line);
}

static void process_lines(const struct page *page, const cJSON *process)
{
	if (!cJSON_IsObject(process))
		return;
	const char *exe = json_string(process, "exe"), *cwd = json_string(process, "cwd");
	int64_t pid = json_number(process, "pid"), tid = json_number(process, "tid");
	label(page, "process");
	append_safe(page->out, exe ? exe : "?");
	text_printf(page->out, " (%" PRId64 ")", pid);
	if (tid != pid && tid != 0)
		text_printf(page->out, ", thread %" PRId64, tid);
	if (cwd) {
		text_append(page->out, ", in ");
		append_safe(page->out, cwd);
	}
	end_line(page);
	words_line(page, "arguments", json_get(process, "argv"));
	ancestry_line(page, process);
}

static void answer_line(const struct page *page, const cJSON *failure)
{
	const char *answered = json_string(failure, "answered"), *would = json_string(failure, "kernel_would");
	if (!answered)
		return;
	label(page, "answered");
	append_safe(page->out, answered);
	text_append(page->out, " after ");
	append_seconds(page->out, json_number(failure, "when_ms"));
	if (would) {
		text_append(page->out, "; without bailiff it would have been ");
		append_safe(page->out, would);
	}
	end_line(page);
}

static void nearest_lines(const struct page *page, const cJSON *failure)
{
	int shown = 0;
	const cJSON *considered;
	cJSON_ArrayForEach(considered, json_get(failure, "considered")) {
		if (shown == LIST_MOST)
			return;
		const char *entry = json_string(considered, "entry"), *why = json_string(considered, "why");
		label(page, shown++ ? "" : "nearest");
		append_safe(page->out, entry ? entry : "?");
		text_append(page->out, "  (");
		append_position(page->out, considered);
		text_append(page->out, ")");
		if (why) {
			text_append(page->out, ": ");
			append_safe(page->out, why);
		}
		end_line(page);
	}
}

static bool mixed_lines(const struct page *page, const cJSON *failure)
{
	struct text lines[MIXED_MOST] = { { 0 } };
	int count = stacks_mixed_words(failure, lines, MIXED_MOST);
	for (int i = 0; i < count; i++) {
		field(page, i ? "" : "stack", text_string(&lines[i]));
		text_free(&lines[i]);
	}
	return count > 0;
}

/* Where in the program: a few frames of its script with the text of the line, and of its native stack. */
static void place_lines(const struct page *page, const cJSON *failure)
{
	static const struct {
		const char *label, *missing;
		bool (*words)(const cJSON *failure, int index, struct text *line);
	} stacks[] = { { "script", "script_missing", stacks_script_words }, { "stack", "stack_missing", stacks_native_words } };
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		struct text line = { 0 };
		int shown = 0;
		if (stacks[i].words == stacks_native_words && mixed_lines(page, failure))
			break;
		for (; shown < LIST_MOST && stacks[i].words(failure, shown, &line); shown++) {
			field(page, shown ? "" : stacks[i].label, text_string(&line));
			text_free(&line);
		}
		/* Behind frames of a script it tells how far they can be relied on. */
		if (shown == 0 || stacks[i].words == stacks_script_words)
			field(page, shown ? "" : stacks[i].label, json_string(failure, stacks[i].missing));
	}
}

static void append_suggestion(struct text *out, const cJSON *suggestion)
{
	const char *pointer = json_string(suggestion, "pointer"), *opens = json_string(suggestion, "opens");
	char *value = cJSON_PrintUnformatted(json_get(suggestion, "value"));
	text_append(out, "add ");
	append_safe(out, value ? value : "?");
	cJSON_free(value);
	text_append(out, " at ");
	append_safe(out, pointer ? pointer : "?");
	if (opens) {
		text_append(out, "  (");
		append_safe(out, opens);
		text_append(out, ")");
	}
}

/* Is what was asked for a name that JSON cannot hold? Its exact bytes then stand beside it. */
static bool is_not_utf8(const cJSON *failure)
{
	const cJSON *path = json_get(failure, "path");
	const char *exact = json_string(path, "resolved") ? "resolved_base64" : "given_base64";
	return json_get(path, exact) || json_get(json_get(failure, "operation"), "target_base64");
}

const char *explain_unopened(const cJSON *failure)
{
	const char *pointer = json_string(json_get(failure, "policy"), "pointer");
	if (!rule_starts(failure, "policy_blocked"))
		return NULL;
	if (pointer && strstr(pointer, "/deny/"))
		return "An entry that denies beats every entry that allows: to let this pass it has to go, or to become "
		       "narrower.";
	if (is_not_utf8(failure))
		return "The name is not UTF-8, and a policy is: no entry can name it alone.";
	return "No entry in a policy is known that would open exactly this.";
}

/* The narrowest one as what can be typed at once: many a reader has no policy of their own yet. */
static void option_line(const struct page *page, const cJSON *suggestion)
{
	struct text option = { 0 };
	if (as_option(suggestion, &option))
		text_printf(page->out, "Or, for one run, the option  %s\n", text_string(&option));
	text_free(&option);
}

static void suggestion_lines(const struct page *page, const cJSON *failure)
{
	int shown = 0;
	const cJSON *suggestion;
	if (json_length(failure, "suggestions") == 0) {
		const char *unopened = explain_unopened(failure);
		if (unopened)
			text_printf(page->out, "\n%s\n", unopened);
		return;
	}
	text_append(page->out, "\nOne of these changes to the policy lets it pass, the narrowest first:\n");
	cJSON_ArrayForEach(suggestion, json_get(failure, "suggestions")) {
		if (shown == LIST_MOST)
			return;
		text_printf(page->out, "  %d. ", ++shown);
		append_suggestion(page->out, suggestion);
		end_line(page);
	}
	option_line(page, cJSON_GetArrayItem(json_get(failure, "suggestions"), 0));
}

static void failure_lines(const struct page *page, const cJSON *failure)
{
	field(page, "rule", json_string(failure, "rule"));
	policy_line(page, failure);
	call_line(page, json_get(failure, "operation"));
	if (rule_starts(failure, "policy_blocked"))
		object_line(page, failure); /* for limits and ends the first line has said it */
	words_line(page, "chain", json_get(failure, "chain"));
	process_lines(page, json_get(failure, "process"));
	place_lines(page, failure);
	answer_line(page, failure);
	nearest_lines(page, failure);
	suggestion_lines(page, failure);
}

static void error_lines(const struct page *page, const cJSON *error)
{
	if (!cJSON_IsObject(error))
		return;
	field(page, "stage", json_string(error, "stage"));
	field(page, "errno", json_string(error, "errno"));
	field(page, "message", json_string(error, "message"));
	const char *stage = json_string(error, "stage");
	if (stage && strcmp(stage, "command") == 0)
		text_append(page->out, "\nThe command could not be started, and nothing has run.\n");
	else
		text_append(page->out, "\nThe fault is bailiff's or the host's: nothing is said about the program.\n");
}

static bool answered_any(const cJSON *notes)
{
	const cJSON *note;
	cJSON_ArrayForEach(note, notes) {
		const char *text = json_string(note, "text");
		if (text && strstr(text, " answered "))
			return true;
	}
	return false;
}

/* A program's own failure, when neither a rule nor a signal to bailiff ended it. A call that was answered in place of the kernel
 * may have had a part in it all the same: that is never hidden. */
static void own_failure_line(const struct page *page, const cJSON *verdict)
{
	const char *status = json_string(verdict, "status");
	bool interrupted = json_string(json_get(verdict, "exit"), "interrupted");
	if (!status || strcmp(status, "runtime_error") != 0 || interrupted)
		return;
	text_append(page->out, "\nThe program ended like this by itself: no rule and no limit had a part in it.\n");
	if (answered_any(json_get(verdict, "notes")))
		text_append(page->out, "Calls that bailiff answered in place of the kernel are under notes: it may have failed "
				       "over one of them.\n");
}

/* Where a rule decided, the kill came from bailiff. */
static bool killed_by_bailiff(const cJSON *verdict)
{
	const char *status = json_string(verdict, "status"), *signal = json_string(json_get(verdict, "exit"), "signal");
	return status && strcmp(status, "runtime_error") != 0 && signal && strcmp(signal, "SIGKILL") == 0;
}

static void exit_line(const struct page *page, const cJSON *verdict)
{
	const cJSON *end = json_get(verdict, "exit");
	const cJSON *code = json_get(end, "code");
	const char *signal = json_string(end, "signal"), *interrupted = json_string(end, "interrupted");
	label(page, "exit");
	if (cJSON_IsNumber(code))
		text_printf(page->out, "code %" PRId64, json_number(end, "code"));
	else if (signal)
		append_safe(page->out, signal);
	else
		text_append(page->out, "none");
	if (killed_by_bailiff(verdict))
		text_append(page->out, ", from bailiff");
	if (interrupted) {
		text_append(page->out, "; bailiff got ");
		append_safe(page->out, interrupted);
	}
	end_line(page);
}

static void append_bytes(struct text *out, int64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;
	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	text_printf(out, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void append_count(struct text *out, int64_t count, const char *one, const char *many)
{
	text_printf(out, "%" PRId64 " %s", count, count == 1 ? one : many);
}

static void usage_line(const struct page *page, const cJSON *usage)
{
	const cJSON *processes = json_get(usage, "processes"), *threads = json_get(usage, "threads");
	label(page, "used");
	append_seconds(page->out, json_number(usage, "wall_ms"));
	text_append(page->out, " wall, ");
	append_seconds(page->out, json_number(usage, "cpu_ms"));
	text_append(page->out, " CPU, ");
	append_bytes(page->out, json_number(usage, "peak_memory_bytes"));
	text_append(page->out, " at most; ");
	append_count(page->out, json_number(processes, "total"), "process, ", "processes, ");
	append_count(page->out, json_number(threads, "peak"), "thread at once, ", "threads at once, ");
	append_count(page->out, json_number(usage, "stops"), "stop\n", "stops\n");
}

static void append_stream(struct text *out, const char *name, const cJSON *stream)
{
	text_printf(out, "%s ", name);
	append_bytes(out, json_number(stream, "bytes"));
	if (cJSON_IsTrue(json_get(stream, "truncated"))) {
		text_append(out, ", ");
		append_bytes(out, json_number(stream, "relayed"));
		text_append(out, " of them passed on");
	}
}

static void output_line(const struct page *page, const cJSON *output)
{
	bool one = cJSON_IsTrue(json_get(output, "one_stream"));
	label(page, "wrote");
	append_stream(page->out, one ? "standard output and error" : "standard output", json_get(output, "stdout"));
	if (!one) {
		text_append(page->out, "; ");
		append_stream(page->out, "standard error", json_get(output, "stderr"));
	}
	end_line(page);
}

static void left_line(const struct page *page, const cJSON *usage)
{
	const cJSON *left = json_get(usage, "left_running");
	int64_t total = json_number(left, "total");
	if (total == 0)
		return;
	label(page, "left");
	text_printf(page->out, "%" PRId64 " still running at the end, killed:", total);
	int shown = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(left, "recorded")) {
		const char *comm = json_string(item, "comm");
		if (shown++ == LIST_MOST)
			break;
		text_append(page->out, " ");
		append_safe(page->out, comm ? comm : "?");
	}
	end_line(page);
}

static void append_violation(struct text *out, const cJSON *violation)
{
	const cJSON *path = json_get(violation, "path"), *operation = json_get(violation, "operation");
	const char *rule = json_string(violation, "rule"), *object = json_string(path, "resolved");
	int64_t count = json_number(violation, "count");
	if (!object)
		object = json_string(operation, "target");
	if (!object)
		object = json_string(operation, "syscall");
	append_safe(out, rule ? rule : "?");
	text_append(out, "  ");
	append_safe(out, object ? object : "");
	if (count > 1)
		text_printf(out, "  (%" PRId64 " times)", count);
}

/* The first one is told above already; more only come where the run went on. A limit may be among them. */
static void violation_lines(const struct page *page, const cJSON *violations)
{
	if (json_length(violations, "recorded") < 2)
		return;
	int shown = 0;
	const cJSON *violation;
	text_printf(page->out, "\n%" PRId64 " failures in all, in order:\n", json_number(violations, "total"));
	cJSON_ArrayForEach(violation, json_get(violations, "recorded")) {
		if (shown++ == LIST_MOST) {
			text_append(page->out, "  ...\n");
			return;
		}
		text_append(page->out, "  ");
		append_violation(page->out, violation);
		end_line(page);
	}
}

static void list_lines(const struct page *page, const char *name, const cJSON *list, bool (*words)(const cJSON *, struct text *))
{
	int shown = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, list) {
		struct text line = { 0 };
		if (shown < LIST_MOST && words(item, &line))
			field(page, shown++ ? "" : name, text_string(&line));
		text_free(&line);
	}
}

void explain_words(const cJSON *verdict, bool colour, struct text *out)
{
	const struct page page = { .out = out, .colour = colour };
	const cJSON *usage = json_get(verdict, "usage"), *failure = json_get(verdict, "first_failure");
	const cJSON *error = json_get(verdict, "error");

	headline(&page, verdict);
	error_lines(&page, error);
	if (cJSON_IsObject(failure))
		failure_lines(&page, failure);
	own_failure_line(&page, verdict);
	if (cJSON_IsObject(failure) || cJSON_IsObject(error))
		text_append(out, "\n");
	exit_line(&page, verdict);
	usage_line(&page, usage);
	output_line(&page, json_get(verdict, "output"));
	left_line(&page, usage);
	list_lines(&page, "copied out", json_get(verdict, "artifacts"), artifact_words);
	list_lines(&page, "notes", json_get(verdict, "notes"), note_words);
	violation_lines(&page, json_get(verdict, "violations"));
	explain_source(verdict, out);
}
