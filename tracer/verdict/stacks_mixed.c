/* The native stack in words with the frames of the script among it, each under the native frame that runs it. As in
 * explain.c, the JSON may come from anywhere: no type is trusted, and no list is longer than what a verdict holds. */
#include "verdict/parts.h"

#include "verdict/json.h"

#include <string.h>

struct mixed {
	const cJSON *native[RECORD_STACK_FRAME_MAX], *script[RECORD_SCRIPT_FRAME_MAX];
	int native_count, script_count;
	int place[RECORD_SCRIPT_FRAME_MAX]; /* index of the native frame, -1 where the verdict does not tell */
	int first, last;                    /* native frames that run frames of the script */
};

static int take_frames(const cJSON *array, const cJSON **frames, int most)
{
	const cJSON *frame;
	int count = 0;
	cJSON_ArrayForEach(frame, array) {
		if (count == most)
			break;
		frames[count++] = frame;
	}
	return count;
}

static void take(struct mixed *mixed, const cJSON *failure)
{
	mixed->native_count = take_frames(json_get(failure, "stack"), mixed->native, RECORD_STACK_FRAME_MAX);
	mixed->script_count = take_frames(json_get(failure, "script"), mixed->script, RECORD_SCRIPT_FRAME_MAX);
	mixed->first = mixed->native_count;
	mixed->last = -1;
	for (int i = 0; i < mixed->script_count; i++) {
		int64_t place = json_number(mixed->script[i], "native");
		bool told = cJSON_IsNumber(json_get(mixed->script[i], "native")) && place >= 0 && place < mixed->native_count;
		mixed->place[i] = told ? (int)place : -1;
		if (told && place < mixed->first)
			mixed->first = (int)place;
		if (told && place > mixed->last)
			mixed->last = (int)place;
	}
}

static bool runs_script(const struct mixed *mixed, int native)
{
	for (int i = 0; i < mixed->script_count; i++)
		if (mixed->place[i] == native)
			return true;
	return false;
}

static bool same_module(const cJSON *left, const cJSON *right)
{
	const char *a = json_string(left, "module"), *b = json_string(right, "module");
	return a && b && strcmp(a, b) == 0;
}

/* The interpreter's own code, of which there is nothing to tell as long as it lies between two calls of a script. */
static bool is_interpreter(const struct mixed *mixed, int native)
{
	return same_module(mixed->native[native], mixed->native[mixed->first]);
}

static bool is_mixed(const struct mixed *mixed)
{
	for (int i = mixed->first + 1; i < mixed->last; i++)
		if (!is_interpreter(mixed, i))
			return true;
	return false;
}

/* How many frames from this one on lie in one module and run nothing of the script. */
static int run_length(const struct mixed *mixed, int from)
{
	int end = from + 1;
	while (end < mixed->last && !runs_script(mixed, end) && same_module(mixed->native[from], mixed->native[end]))
		end++;
	return end - from;
}

static bool is_between_calls(const struct mixed *mixed, int from, int length)
{
	return from > 0 && runs_script(mixed, from - 1) && runs_script(mixed, from + length) && is_interpreter(mixed, from);
}

/* The frame that stands for a run: of a library the function that was called, of the interpreter what that came to. */
static const cJSON *most_telling(const struct mixed *mixed, int from, int length)
{
	for (int i = from + length - 1; i > from && !is_interpreter(mixed, from); i--)
		if (json_string(mixed->native[i], "function"))
			return mixed->native[i];
	return mixed->native[from];
}

static void append_more(struct text *line, const cJSON *frame, int more)
{
	const char *module = json_string(frame, "module"), *slash = module ? strrchr(module, '/') : NULL;
	text_printf(line, ", and %d more of %s", more, slash ? slash + 1 : module ? module : "?");
}

static int script_lines(const struct mixed *mixed, int native, struct text *lines, int most)
{
	int count = 0;
	for (int i = 0; i < mixed->script_count && count < most; i++) {
		if (mixed->place[i] != native)
			continue;
		text_append(&lines[count], "  ");
		stacks_script_frame_words(mixed->script[i], &lines[count++]);
	}
	return count;
}

/* Returns whether there is a line. */
static bool run_line(const struct mixed *mixed, int from, int length, struct text *line)
{
	const cJSON *frame = most_telling(mixed, from, length);
	if (is_between_calls(mixed, from, length))
		return false;
	stacks_native_frame_words(frame, line);
	if (length > 1)
		append_more(line, frame, length - 1);
	return true;
}

int stacks_mixed_words(const cJSON *failure, struct text *lines, int most)
{
	struct mixed mixed;
	int count = 0, length;
	take(&mixed, failure);
	if (!is_mixed(&mixed))
		return 0;
	for (int i = 0; i <= mixed.last && count < most; i += length) {
		bool runs = runs_script(&mixed, i);
		length = runs ? 1 : run_length(&mixed, i);
		if (runs)
			stacks_native_frame_words(mixed.native[i], &lines[count++]);
		else
			count += run_line(&mixed, i, length, &lines[count]);
		if (runs)
			count += script_lines(&mixed, i, lines + count, most - count);
	}
	return count;
}
