#include "verdict/verdict.h"

#include "base/bug.h"
#include "base/cleanup.h"
#include "base/version.h"
#include "policy/json_tree.h"
#include "verdict/json.h"
#include "verdict/parts.h"

#include <errno.h>
#include <string.h>

static const char schema_name[] = "bailiff.verdict/1";

static void add_exit(cJSON *verdict, const struct run_record *record)
{
	cJSON *object = json_add_object(verdict, "exit");
	if (record->ended && record->exit_signal == 0)
		json_add_number(object, "code", record->exit_code);
	else
		json_add_null(object, "code");
	bool by_signal = record->ended && record->exit_signal != 0;
	json_add_string(object, "signal", by_signal ? signal_text(record->exit_signal) : NULL);
	int interrupted = record->interrupted_signal;
	json_add_string(object, "interrupted", interrupted ? signal_text(interrupted) : NULL);
}

static void add_first_failure(cJSON *verdict, const struct run_record *record, const struct record_failure *first)
{
	bool explained = first == &record->first && record->explanation.captured;
	if (first)
		json_add(verdict, "first_failure", failure_to_json(first, explained ? &record->explanation : NULL, false));
	else
		json_add_null(verdict, "first_failure");
}

static void add_violations(cJSON *verdict, const struct run_record *record)
{
	cJSON *object = json_add_object(verdict, "violations");
	json_add_number(object, "total", atomic_load(&record->violation_total));
	cJSON *array = json_add_array(object, "recorded");
	unsigned recorded = atomic_load(&record->violation_recorded);
	for (unsigned i = 0; i < recorded && i < RECORD_VIOLATION_MAX; i++)
		json_append(array, failure_to_json(&record->violations[i], NULL, true));
}

static void add_notes(cJSON *verdict, const struct run_record *record)
{
	cJSON *array = json_add_array(verdict, "notes");
	unsigned count = atomic_load(&record->note_count);
	for (unsigned i = 0; i < count && i < RECORD_NOTE_MAX; i++) {
		const struct record_note *note = &record->notes[i];
		if (note->text[0] == '\0')
			continue;
		cJSON *item = json_append_object(array);
		json_add_string(item, "text", note->text);
		json_add_number(item, "count", (int64_t)note->count);
	}
	json_add_number(verdict, "notes_lost", atomic_load(&record->note_lost));
}

static void add_total_and_peak(cJSON *object, const char *key, uint32_t total, uint32_t peak)
{
	cJSON *item = json_add_object(object, key);
	json_add_number(item, "total", total);
	json_add_number(item, "peak", peak);
}

static void add_left_running(cJSON *usage, const struct record_usage *used)
{
	cJSON *object = json_add_object(usage, "left_running");
	json_add_number(object, "total", used->left_running_count);
	cJSON *array = json_add_array(object, "recorded");
	for (uint32_t i = 0; i < used->left_running_count && i < RECORD_LEFT_RUNNING_MAX; i++) {
		cJSON *item = json_append_object(array);
		json_add_number(item, "pid", used->left_running[i].pid);
		json_add_string(item, "comm", used->left_running[i].comm);
	}
}

static void add_usage(cJSON *verdict, const struct record_usage *used)
{
	cJSON *usage = json_add_object(verdict, "usage");
	json_add_number(usage, "wall_ms", used->wall_ms);
	json_add_number(usage, "cpu_ms", used->cpu_ms);
	json_add_number(usage, "peak_memory_bytes", used->peak_memory_bytes);
	add_total_and_peak(usage, "processes", used->processes_total, used->processes_peak);
	add_total_and_peak(usage, "threads", used->threads_total, used->threads_peak);
	json_add_number(usage, "stops", (int64_t)used->stops);
	add_left_running(usage, used);
}

/* cJSON strings end at a NUL; a captured one is handed over as ready-made JSON. */
void captured_add_text(cJSON *object, const char *key, const char *bytes, size_t length)
{
	if (!memchr(bytes, '\0', length)) {
		json_add_bytes(object, key, bytes, length, false);
		return;
	}
	struct text text = { 0 };
	text_append_json_string(&text, bytes, length);
	json_add(object, key, cJSON_CreateRaw(text_string(&text)));
	text_free(&text);
}

void captured_add_base64(cJSON *object, const char *key, const char *bytes, size_t length)
{
	struct text text = { 0 };
	text_append_base64(&text, bytes, length);
	json_add_string(object, key, text_string(&text));
	text_free(&text);
}

/* Would more bytes make a character of these one to three? What may follow a first byte is a range that begins with the
 * lowest continuation byte or ends with the highest. */
static bool is_begun_character(const char *bytes, size_t length)
{
	for (int highest = 0; highest < 2; highest++) {
		char whole[4] = { '\x80', '\x80', '\x80', '\x80' };
		memcpy(whole, bytes, length);
		if (highest)
			whole[length] = '\xBF';
		if (utf8_sequence_length(whole, sizeof(whole)) > length)
			return true;
	}
	return false;
}

/* Length of what is text in front of a last character that was cut in two; `length` where that is not so. */
static size_t length_before_cut(const char *bytes, size_t length)
{
	for (size_t cut = 1; cut <= 3 && cut <= length; cut++)
		if (utf8_valid(bytes, length - cut))
			return is_begun_character(bytes + length - cut, cut) ? length - cut : length;
	return length;
}

/* Text where the bytes are text, base64 where not. Output that is text but for a last character that was cut in two, by the
 * limit or since the program was ended in the midst of it, is given in both forms: readable, and exact. */
static void add_captured(cJSON *stream, const struct verdict_captured *captured)
{
	if (!captured->bytes)
		return;
	bool is_text = utf8_valid(captured->bytes, captured->length);
	size_t text_length = is_text ? captured->length : length_before_cut(captured->bytes, captured->length);
	if (is_text || text_length < captured->length)
		captured_add_text(stream, "text", captured->bytes, text_length);
	if (!is_text)
		captured_add_base64(stream, "base64", captured->bytes, captured->length);
}

static void add_output(cJSON *verdict, const struct run_record *record, const struct verdict_context *context)
{
	static const char *const names[] = { "stdout", "stderr" };
	cJSON *output = json_add_object(verdict, "output");
	for (int i = 0; i < 2; i++) {
		const struct record_stream *stream = &record->output[i];
		cJSON *object = json_add_object(output, names[i]);
		json_add_number(object, "bytes", (int64_t)stream->bytes);
		json_add_number(object, "relayed", (int64_t)stream->relayed);
		json_add_bool(object, "truncated", stream->truncated);
		add_captured(object, &context->captured[i]);
	}
	json_add_bool(output, "one_stream", record->one_stream);
}

static void add_artifacts(cJSON *verdict, const struct verdict_context *context)
{
	cJSON *array = json_add_array(verdict, "artifacts");
	for (size_t i = 0; i < context->artifact_count; i++) {
		const struct verdict_artifact *artifact = &context->artifacts[i];
		cJSON *item = json_append_object(array);
		json_add_string(item, "name", artifact->name);
		json_add_number(item, "bytes", (int64_t)artifact->bytes);
		json_add_string(item, "sha256", artifact->sha256);
		json_add_string(item, "saved_as", artifact->saved_as);
		json_add_string(item, "refused", artifact->refused);
	}
}

static void add_error(cJSON *verdict, const struct record_error *error)
{
	if (!error->set) {
		json_add_null(verdict, "error");
		return;
	}
	cJSON *object = json_add_object(verdict, "error");
	json_add_string(object, "stage", error->stage);
	json_add_string(object, "errno", error->number ? errno_text(error->number) : NULL);
	json_add_string(object, "message", error->message);
}

static void add_summary(cJSON *verdict, const struct run_record *record, const struct verdict_context *context,
			const struct verdict_outcome *outcome)
{
	auto_free char *summary = summary_of(record, context, outcome);
	json_add_string(verdict, "summary", summary);
}

cJSON *verdict_build(const struct run_record *record, const struct verdict_context *context)
{
	auto_free struct record_failure *spare = memory_zeroed(1, sizeof(*spare));
	struct verdict_outcome outcome;
	verdict_outcome_of(record, context, spare, &outcome);

	cJSON *verdict = cJSON_CreateObject();
	json_add_string(verdict, "schema", schema_name);
	json_add_string(verdict, "bailiff", BAILIFF_VERSION);
	json_add_string(verdict, "status", status_name(outcome.status));
	json_add_string(verdict, "rule", rule_name(outcome.rule));
	add_summary(verdict, record, context, &outcome);
	add_exit(verdict, record);
	add_first_failure(verdict, record, outcome.first);
	add_violations(verdict, record);
	add_notes(verdict, record);
	add_usage(verdict, &record->usage);
	add_output(verdict, record, context);
	add_artifacts(verdict, context);
	envelope_add(verdict, record, context);
	add_error(verdict, &outcome.error);
	return verdict;
}

/* cJSON escapes what is below a space. DEL and the C1 controls (C2 80 to C2 9F) are left, and some terminals obey them;
 * they can only stand inside strings, so an escape may replace them anywhere. */
static void append_without_controls(struct text *text, const char *json)
{
	const char *start = json;
	for (; *json; json++) {
		unsigned char byte = (unsigned char)*json, next = (unsigned char)json[1];
		bool c1 = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
		if (byte != 0x7F && !c1)
			continue;
		text_append_bytes(text, start, (size_t)(json - start));
		text_printf(text, "\\u%04x", c1 ? next : byte);
		json += c1;
		start = json + 1;
	}
	text_append(text, start);
}

char *verdict_print(const cJSON *verdict)
{
	char *json = cJSON_PrintUnformatted(verdict);
	if (!json)
		bug("out of memory");
	struct text text = { 0 };
	append_without_controls(&text, json);
	text_append(&text, "\n");
	cJSON_free(json);
	return text.bytes;
}

/* The number behind "bailiff.verdict/" may grow; a verdict of another number means other things. */
static int check_schema(const cJSON *verdict, struct error *error)
{
	const char *schema = json_string(verdict, "schema");
	if (!cJSON_IsObject(verdict) || !schema || strncmp(schema, "bailiff.verdict/", strlen("bailiff.verdict/")) != 0)
		return error_set(error, EINVAL, "1:1: this is JSON, but no verdict: \"schema\" is not \"%s\"", schema_name);
	if (strcmp(schema, schema_name) == 0)
		return 0;
	struct text shown = { 0 };
	text_append_visible(&shown, schema, strnlen(schema, 64));
	int result = error_set(error, EINVAL, "1:1: a verdict of schema \"%s\"; this version reads \"%s\"",
			       text_string(&shown), schema_name);
	text_free(&shown);
	return result;
}

/* What a program printed, or what its source is, may hold anything, and no decision reads it. */
static bool is_captured_text(const struct json_node *node)
{
	static const char *const captured[] = { "/output/stdout/text", "/output/stderr/text", "/envelope/source/text" };
	auto_free char *pointer = json_node_pointer(node);
	for (size_t i = 0; i < sizeof(captured) / sizeof(*captured); i++)
		if (strcmp(pointer, captured[i]) == 0)
			return true;
	return false;
}

static int refuse_cut_strings(const struct json_node *node, struct error *error)
{
	const struct json_place *place = json_node_place(node);
	if (place->zero && !is_captured_text(node))
		return error_set(error, EINVAL, "%u:%u: no verdict: this string holds a zero byte, written \\u0000",
				 place->line, place->column);
	struct json_node child;
	for (bool more = json_node_first(node, &child); more; more = json_node_next(&child))
		if (refuse_cut_strings(&child, error) != 0)
			return -EINVAL;
	return 0;
}

/* A verdict is run again, and who decided to may have read it with another program. JSON leaves open which of two equal keys
 * counts, and cJSON ends a string at \u0000: text of either kind says one thing to one reader and another to the next, so it
 * is refused, never interpreted. bailiff writes no key twice, and \u0000 in captured text alone. */
int verdict_parse(const char *text, size_t length, cJSON **verdict, struct error *error)
{
	struct json_tree tree;
	struct json_fault fault;
	*verdict = NULL;
	if (json_tree_parse(text, length, JSON_PLAIN, &tree, &fault) != 0)
		return error_set(error, EINVAL, "%u:%u: no verdict: %s", fault.line, fault.column, fault.what);

	struct json_node root = json_tree_root(&tree);
	int result = check_schema(tree.root, error);
	if (result == 0)
		result = refuse_cut_strings(&root, error);
	if (result == 0) {
		*verdict = tree.root;
		tree.root = NULL;
	}
	json_tree_free(&tree);
	return result;
}
