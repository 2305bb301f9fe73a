/* The explanation as Markdown and as JSON. Both are laid out from the lines of the plain one, which is the only place where
 * a verdict becomes words: whatever the format, a reader is told the same. */
#include "verdict/verdict.h"

#include "verdict/json.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_COLUMN = 13 }; /* where the value of "  label      value" begins */

struct line {
	const char *at;
	size_t length;
	bool indented;
};

/* The line at *rest, which is moved behind it; false at the end. */
static bool next_line(const char **rest, struct line *line)
{
	if (**rest == '\0')
		return false;
	*line = (struct line){ .at = *rest, .length = strcspn(*rest, "\n"), .indented = strncmp(*rest, "  ", 2) == 0 };
	*rest += line->length + ((*rest)[line->length] == '\n');
	return true;
}

/* ---- Markdown ---- */

static size_t longest_run(const char *bytes, size_t length, char wanted)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < length; i++) {
		run = bytes[i] == wanted ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void append_backticks(struct text *out, size_t count)
{
	while (count-- > 0)
		text_append(out, "`");
}

/* Names come from the program that was run: as code nothing in them is markup, a link or a mention. The fence is longer
 * than any in the text, and where that starts or ends with a backtick, a blank that is not shown keeps them apart. */
static void append_code(struct text *out, const char *bytes, size_t length)
{
	size_t fence = longest_run(bytes, length, '`') + 1;
	bool apart = length > 0 && (bytes[0] == '`' || bytes[length - 1] == '`');
	append_backticks(out, fence);
	text_append(out, apart ? " " : "");
	text_append_bytes(out, bytes, length);
	text_append(out, apart ? " " : "");
	append_backticks(out, fence);
}

/* "blocked: what": the outcome, then what the verdict says about it. */
static void append_headline(struct text *out, const struct line *line)
{
	size_t word = 0;
	while (word < line->length && line->at[word] >= 'a' && line->at[word] <= 'z')
		word++;
	bool labelled = word > 0 && word + 2 < line->length && strncmp(line->at + word, ": ", 2) == 0;
	if (labelled)
		text_printf(out, "**%.*s:** ", (int)word, line->at);
	append_code(out, line->at + (labelled ? word + 2 : 0), line->length - (labelled ? word + 2 : 0));
	text_append(out, "\n");
}

/* A sentence of our own; what it quotes stands behind two blanks. */
static void append_sentence(struct text *out, const struct line *line)
{
	const char *quoted = memmem(line->at, line->length, "  ", 2);
	size_t plain = quoted ? (size_t)(quoted - line->at) : line->length;
	text_append_bytes(out, line->at, plain);
	if (quoted) {
		text_append(out, " ");
		append_code(out, quoted + 2, line->length - plain - 2);
	}
	text_append(out, "\n");
}

/* A change between indented lines and others opens or closes a block of code, with an empty line between paragraphs. */
static void append_block(struct text *out, bool open, size_t fence)
{
	text_append(out, open ? "\n" : "");
	append_backticks(out, fence);
	text_append(out, open ? "text\n" : "\n");
}

void explain_markdown(const cJSON *verdict, struct text *out)
{
	struct text words = { 0 };
	explain_words(verdict, false, &words);
	const char *rest = text_string(&words);
	size_t fence = longest_run(rest, words.length, '`') + 1;
	fence = fence < 3 ? 3 : fence;

	struct line line;
	bool inside = false;
	if (next_line(&rest, &line))
		append_headline(out, &line);
	while (next_line(&rest, &line)) {
		if (line.indented != inside && (line.length > 0 || inside))
			append_block(out, line.indented, fence);
		inside = line.indented;
		if (inside)
			text_printf(out, "%.*s\n", (int)line.length - 2, line.at + 2);
		else if (line.length > 0) {
			text_append(out, "\n");
			append_sentence(out, &line);
		}
	}
	if (inside)
		append_block(out, false, fence);
	text_free(&words);
}

/* ---- JSON ---- */

static bool is_labelled(const struct line *line)
{
	char first = line->at[2];
	bool word = first == ' ' || (first >= 'a' && first <= 'z');
	return line->indented && line->length > VALUE_COLUMN && line->at[VALUE_COLUMN - 1] == ' ' && word;
}

/* A label that is empty stands for the one above it. */
static void add_sentence(cJSON *sentences, const struct line *line, struct text *label)
{
	bool labelled = is_labelled(line);
	size_t width = labelled ? VALUE_COLUMN : line->indented ? 2 : 0;
	if (labelled && line->at[2] != ' ') {
		size_t length = VALUE_COLUMN - 2;
		while (line->at[2 + length - 1] == ' ')
			length--;
		text_free(label);
		text_append_bytes(label, line->at + 2, length);
	}
	cJSON *sentence = json_append_object(sentences);
	json_add_string(sentence, "label", labelled ? text_string(label) : NULL);
	json_add_bytes(sentence, "text", line->at + width, line->length - width, false);
}

void explain_json(const cJSON *verdict, struct text *out)
{
	struct text words = { 0 }, label = { 0 };
	explain_words(verdict, false, &words);
	const char *rest = text_string(&words);
	struct line line;
	cJSON *object = cJSON_CreateObject();
	json_add_string(object, "schema", "bailiff.explanation/1");
	json_add_string(object, "status", json_string(verdict, "status"));
	json_add_string(object, "rule", json_string(verdict, "rule"));
	if (next_line(&rest, &line))
		json_add_bytes(object, "summary", line.at, line.length, false);
	cJSON *sentences = json_add_array(object, "sentences");
	while (next_line(&rest, &line))
		if (line.length > 0)
			add_sentence(sentences, &line, &label);

	char *json = verdict_print(object);
	text_append(out, json);
	free(json);
	cJSON_Delete(object);
	text_free(&label);
	text_free(&words);
}
