/* Who made the blocked call: the keys of a failure that hold stacks, the place that its summary names, and the lines in
 * words. Frames are the target's own word, handed over by processes that read it: every bound is looked at again. */
#include "verdict/parts.h"

#include "verdict/json.h"

#include <inttypes.h>
#include <string.h>

static uint32_t at_most(uint32_t count, uint32_t most)
{
	return count < most ? count : most;
}

static uint32_t script_count(const struct record_explanation *explanation)
{
	return at_most(explanation->script_count, RECORD_SCRIPT_FRAME_MAX);
}

static uint32_t stack_count(const struct record_explanation *explanation)
{
	return at_most(explanation->stack_count, RECORD_STACK_FRAME_MAX);
}

static void add_text(cJSON *object, const char *key, const char *text, size_t capacity)
{
	size_t length = strnlen(text, capacity);
	if (length == 0)
		json_add_null(object, key);
	else
		json_add_bytes(object, key, text, length, length + 1 == capacity);
}

static void add_line(cJSON *object, uint32_t line)
{
	if (line)
		json_add_number(object, "line", line);
	else
		json_add_null(object, "line");
}

static void add_stack_frame(cJSON *array, const struct record_stack_frame *frame)
{
	cJSON *item = json_append_object(array);
	add_text(item, "function", frame->function, sizeof(frame->function));
	json_add_number(item, "offset", (int64_t)(frame->offset & INT64_MAX));
	add_text(item, "module", frame->module, sizeof(frame->module));
	add_text(item, "build_id", frame->build_id, sizeof(frame->build_id));
	add_text(item, "file", frame->file, sizeof(frame->file));
	add_line(item, frame->line);
	if (frame->inlined)
		json_add_bool(item, "inlined", true);
	if (frame->of_parent)
		json_add_bool(item, "of_parent", true);
}

static void add_script_frame(cJSON *array, const struct record_script_frame *frame, uint32_t native_count)
{
	cJSON *item = json_append_object(array);
	add_text(item, "language", frame->language, sizeof(frame->language));
	add_text(item, "function", frame->function, sizeof(frame->function));
	json_add_record_bytes(item, "file", &frame->file);
	add_line(item, frame->line);
	add_text(item, "source", frame->source, sizeof(frame->source));
	json_add_bool(item, "own_code", frame->own_code);
	if (frame->native > 0 && frame->native <= native_count)
		json_add_number(item, "native", frame->native - 1);
}

void stacks_add(cJSON *object, const struct record_explanation *explanation)
{
	cJSON *stack = json_add_array(object, "stack");
	for (uint32_t i = 0; explanation && i < stack_count(explanation); i++)
		add_stack_frame(stack, &explanation->stack[i]);
	cJSON *script = json_add_array(object, "script");
	for (uint32_t i = 0; explanation && i < script_count(explanation); i++)
		add_script_frame(script, &explanation->script[i], stack_count(explanation));
	if (!explanation)
		return;
	add_text(object, "stack_source", explanation->stack_source, sizeof(explanation->stack_source));
	add_text(object, "stack_missing", explanation->stack_missing, sizeof(explanation->stack_missing));
	add_text(object, "script_missing", explanation->script_missing, sizeof(explanation->script_missing));
}

/* ---- one place ---------------------------------------------------------------------------------------------------- */

struct place {
	const char *file, *function;
	size_t file_bytes, function_bytes; /* capacities */
	uint32_t line;
};

/* The line that counts: the innermost of the program's own code. */
static bool script_place(const struct record_explanation *explanation, struct place *place)
{
	for (uint32_t i = 0; i < script_count(explanation); i++) {
		const struct record_script_frame *frame = &explanation->script[i];
		if (!frame->own_code || frame->line == 0 || frame->file.bytes[0] == '\0')
			continue;
		*place = (struct place){ frame->file.bytes, frame->function, sizeof(frame->file.bytes), sizeof(frame->function), frame->line };
		return true;
	}
	return false;
}

/* Where Go's own library was built: its runtime is on every stack of it. The length of the folder's name in *file, or 0. */
static size_t go_library(const struct record_explanation *explanation, const char **file)
{
	for (uint32_t i = 0; i < stack_count(explanation); i++) {
		const struct record_stack_frame *frame = &explanation->stack[i];
		const char *source = strstr(frame->file, "/src/runtime/");
		if (!source || strncmp(frame->function, "runtime.", strlen("runtime.")) != 0)
			continue;
		*file = frame->file;
		return (size_t)(source - frame->file) + strlen("/src/");
	}
	return 0;
}

/* Source of a language's own library: Rust's and Go's come with lines, and headers of C and C++ with inlined functions. */
static bool is_library_code(const struct record_explanation *explanation, const struct record_stack_frame *frame)
{
	static const char *const folders[] = { "/rustc/", "/usr/include/", "/usr/lib/" };
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(frame->file, folders[i], strlen(folders[i])) == 0)
			return true;
	const char *go = NULL;
	size_t length = go_library(explanation, &go);
	return length > 0 && strncmp(frame->file, go, length) == 0;
}

static bool innermost_line(const struct record_explanation *explanation, bool with_libraries, struct place *place)
{
	for (uint32_t i = 0; i < stack_count(explanation); i++) {
		const struct record_stack_frame *frame = &explanation->stack[i];
		if (frame->line == 0 || frame->file[0] == '\0' || (!with_libraries && is_library_code(explanation, frame)))
			continue;
		*place = (struct place){ frame->file, frame->function, sizeof(frame->file), sizeof(frame->function), frame->line };
		return true;
	}
	return false;
}

static bool stack_place(const struct record_explanation *explanation, struct place *place)
{
	return innermost_line(explanation, false, place) || innermost_line(explanation, true, place);
}

bool stacks_append_place(struct text *text, const struct record_explanation *explanation)
{
	struct place place;
	/* Of a program that an interpreter runs, the interpreter's own line would say nothing. */
	bool is_script = script_count(explanation) > 0 || explanation->script_missing[0] != '\0';
	if (!explanation->captured || !(script_place(explanation, &place) || (!is_script && stack_place(explanation, &place))))
		return false;
	text_append(text, "; ");
	text_append_visible(text, place.file, strnlen(place.file, place.file_bytes));
	text_printf(text, ":%" PRIu32, place.line);
	if (place.function[0]) {
		text_append(text, " in ");
		text_append_visible(text, place.function, strnlen(place.function, place.function_bytes));
	}
	return true;
}

/* ---- in words ----------------------------------------------------------------------------------------------------- */

static void append_function(struct text *line, const cJSON *frame)
{
	const char *function = json_string(frame, "function"), *module = json_string(frame, "module");
	if (!function && !module)
		text_append(line, "code in no file");
	else if (!function)
		text_printf(line, "%.200s+0x%" PRIx64, module, json_number(frame, "offset"));
	else
		text_append(line, function);
}

static void append_position(struct text *line, const cJSON *frame)
{
	const char *file = json_string(frame, "file");
	int64_t number = json_number(frame, "line");
	text_append(line, file ? file : "?");
	if (number)
		text_printf(line, ":%" PRId64, number);
}

bool stacks_script_words(const cJSON *failure, int index, struct text *line)
{
	const cJSON *frame, *script = json_get(failure, "script");
	int start = 0;
	/* What the library did on the program's behalf is not what a reader looks for. */
	cJSON_ArrayForEach(frame, script) {
		if (cJSON_IsTrue(json_get(frame, "own_code")))
			break;
		start++;
	}
	return stacks_script_frame_words(cJSON_GetArrayItem(script, frame ? start + index : index), line);
}

bool stacks_script_frame_words(const cJSON *frame, struct text *line)
{
	if (!cJSON_IsObject(frame))
		return false;
	const char *function = json_string(frame, "function"), *source = json_string(frame, "source");
	append_position(line, frame);
	if (function)
		text_printf(line, " in %.200s", function);
	if (source)
		text_printf(line, "   %.200s", source + strspn(source, " \t"));
	return true;
}

bool stacks_native_words(const cJSON *failure, int index, struct text *line)
{
	return stacks_native_frame_words(cJSON_GetArrayItem(json_get(failure, "stack"), index), line);
}

bool stacks_native_frame_words(const cJSON *frame, struct text *line)
{
	if (!cJSON_IsObject(frame))
		return false;
	append_function(line, frame);
	if (json_string(frame, "file")) {
		text_append(line, " at ");
		append_position(line, frame);
	}
	return true;
}
