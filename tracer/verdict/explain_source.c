/* The text of the program below its result, where the verdict holds it: lines with their numbers, those of the program's own
 * stack marked. */
#include "verdict/json.h"
#include "verdict/parts.h"

#include <inttypes.h>
#include <string.h>

enum {
	LINE_MOST = 400,        /* lines that are shown */
	LINE_MOST_BYTES = 200,  /* of one line */
	TAB_COLUMNS = 4,
};

/* Interpreters name a script as they were given it: what stands behind the last slash decides. */
static bool is_same_file(const char *frame, const char *path)
{
	const char *left = strrchr(frame, '/'), *right = strrchr(path, '/');
	return strcmp(left ? left + 1 : frame, right ? right + 1 : path) == 0;
}

static bool is_on_stack(const cJSON *script, const char *path, int64_t line)
{
	const cJSON *frame;
	cJSON_ArrayForEach(frame, script) {
		const char *file = json_string(frame, "file");
		if (file && json_number(frame, "line") == line && (!path || is_same_file(file, path)) && (path || file[0] == '<'))
			return true;
	}
	return false;
}

static void append_line(struct text *out, int64_t number, bool marked, const char *line, size_t length)
{
	size_t shown = 0;
	text_printf(out, "  %-4" PRId64, number);
	text_append(out, length == 0 ? "" : marked ? " > " : "   ");
	while (shown < length && shown < LINE_MOST_BYTES) {
		size_t step = utf8_sequence_length(line + shown, length - shown);
		step = step ? step : 1;
		if (line[shown] == '\t')
			text_printf(out, "%*s", TAB_COLUMNS, "");
		else
			text_append_visible(out, line + shown, step);
		shown += step;
	}
	text_append(out, shown < length ? " ...\n" : "\n");
}

static void append_heading(struct text *out, const cJSON *source)
{
	const char *path = json_string(source, "path"), *sha256 = json_string(source, "sha256");
	text_printf(out, "\nThe text of the program (%" PRId64 " bytes", json_number(source, "bytes"));
	if (sha256) {
		text_append(out, ", sha256 ");
		text_append_visible(out, sha256, strnlen(sha256, 64));
	}
	text_append(out, "):");
	if (path) {
		text_append(out, "  ");
		text_append_visible(out, path, strlen(path));
	}
	text_append(out, "\n");
}

void explain_source(const cJSON *verdict, struct text *out)
{
	const cJSON *source = json_get(json_get(verdict, "envelope"), "source");
	const cJSON *script = json_get(json_get(verdict, "first_failure"), "script");
	const char *text = json_string(source, "text"), *path = json_string(source, "path");
	const char *start = text;
	if (!text)
		return;
	append_heading(out, source);
	for (int64_t line = 1; *text; line++) {
		size_t length = strcspn(text, "\n");
		if (line > LINE_MOST) {
			text_append(out, "  ...\n");
			return;
		}
		append_line(out, line, is_on_stack(script, path, line), text, length);
		text += length + (text[length] == '\n');
	}
	/* A program could hide the rest of itself behind a zero byte: that something is missing is said. */
	if (text - start < json_number(source, "bytes"))
		text_append(out, "  ...\n");
}
