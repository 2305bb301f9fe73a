#include "policy/patch.h"

#include "base/cleanup.h"
#include "policy/json_tree.h"

#include <errno.h>
#include <string.h>

/* One addition to a text that has been scanned. */
struct patch {
	const char *text;
	const char *blanked; /* the same without comments, byte for byte at the same place */
	const char *pointer;
	struct text *out;
};

/* ---- places in the text ---- */

static size_t line_offset(const char *text, unsigned line)
{
	const char *at = text;
	for (; line > 1; line--)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

static size_t value_offset(const struct patch *patch, const struct json_node *node)
{
	const struct json_place *place = json_node_place(node);
	return line_offset(patch->blanked, place->line) + place->column - 1;
}

/* Where the value begins together with its key. */
static size_t member_offset(const struct patch *patch, const struct json_node *node)
{
	const struct json_place *place = json_node_place(node);
	if (place->key_line == 0)
		return value_offset(patch, node);
	return line_offset(patch->blanked, place->key_line) + place->key_column - 1;
}

static size_t string_end(const char *text, size_t at)
{
	for (at++; text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at + 1;
}

/* Behind the value that starts at `at`. The text has been scanned: brackets and quotes are known to match. */
static size_t value_end(const char *text, size_t at)
{
	unsigned depth = 0;
	do {
		if (text[at] == '"') {
			at = string_end(text, at);
		} else if (depth == 0 && text[at] != '{' && text[at] != '[') {
			at += strcspn(text + at, " \t\r\n,]}");
		} else {
			depth += text[at] == '{' || text[at] == '[';
			depth -= text[at] == '}' || text[at] == ']';
			at++;
		}
	} while (depth > 0);
	return at;
}

static size_t line_start(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* The white space at the beginning of the line that holds `at`; `alone` tells whether nothing else stands before `at`. */
static char *indentation(const char *text, size_t at, bool *alone)
{
	size_t start = line_start(text, at), blanks = strspn(text + start, " \t");
	*alone = start + blanks >= at;
	return text_duplicate_bytes(text + start, *alone ? at - start : blanks);
}

static const char *line_break(const char *text)
{
	const char *end = strchr(text, '\n');
	return end && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

/* Does nothing but comments that end there follow up to the end of the line? Then *end is that end. */
static bool comments_follow(const char *text, size_t at, size_t *end)
{
	for (;;) {
		at += strspn(text + at, " \t");
		size_t rest = strcspn(text + at, "\n");
		if (strncmp(text + at, "/*", 2) == 0) {
			const char *close = strstr(text + at + 2, "*/");
			if (!close || close >= text + at + rest)
				return false;
			at = (size_t)(close - text) + 2;
			continue;
		}
		if (strncmp(text + at, "//", 2) == 0)
			at += rest - (rest > 0 && text[at + rest - 1] == '\r');
		*end = at;
		return text[at] == '\n' || strncmp(text + at, "\r\n", 2) == 0;
	}
}

/* ---- writing ---- */

static void append_value(struct text *out, const cJSON *value)
{
	bool object = cJSON_IsObject(value), first = true;
	if (cJSON_IsString(value)) {
		text_append_json_string(out, value->valuestring, strlen(value->valuestring));
	} else if (object || cJSON_IsArray(value)) {
		const cJSON *item;
		text_append(out, object ? "{" : "[");
		cJSON_ArrayForEach(item, value) {
			text_append(out, first ? "" : ", ");
			if (object) {
				text_append_json_string(out, item->string, strlen(item->string));
				text_append(out, ": ");
			}
			append_value(out, item);
			first = false;
		}
		text_append(out, object ? "}" : "]");
	} else {
		char *plain = cJSON_PrintUnformatted(value);
		text_append(out, plain ? plain : "null");
		cJSON_free(plain);
	}
}

/* The next reference token of a JSON pointer, which is moved behind it. Owned by the caller. */
static char *next_token(const char **pointer)
{
	struct text token = { 0 };
	const char *at = *pointer + 1;
	for (; *at && *at != '/'; at++) {
		bool escaped = *at == '~' && (at[1] == '0' || at[1] == '1');
		text_append_bytes(&token, escaped ? (*++at == '0' ? "~" : "/") : at, 1);
	}
	*pointer = at;
	text_append(&token, "");
	return token.bytes;
}

/* The value inside of what the rest of the pointer names and the text does not have yet. */
static void append_wrapped(struct text *out, const char *rest, const cJSON *value)
{
	if (*rest != '/') {
		append_value(out, value);
		return;
	}
	auto_free char *token = next_token(&rest);
	bool list = strcmp(token, "-") == 0;
	text_append(out, list ? "[" : "{");
	if (!list) {
		text_append_json_string(out, token, strlen(token));
		text_append(out, ": ");
	}
	append_wrapped(out, rest, value);
	text_append(out, list ? "]" : "}");
}

/* Behind the last one: on a line of its own where that has one, its comment left beside it. */
static void insert_behind(const struct patch *patch, const struct json_node *last, const char *added)
{
	bool alone;
	size_t end = value_end(patch->blanked, value_offset(patch, last)), line_end = end;
	auto_free char *indent = indentation(patch->text, member_offset(patch, last), &alone);
	text_append_bytes(patch->out, patch->text, end);
	text_append(patch->out, ",");
	if (!alone)
		text_printf(patch->out, " %s", added);
	else if (comments_follow(patch->text, end, &line_end))
		text_append_bytes(patch->out, patch->text + end, line_end - end);
	else
		line_end = end;
	if (alone)
		text_printf(patch->out, "%s%s%s", line_break(patch->text), indent, added);
	text_append(patch->out, patch->text + line_end);
}

/* One step of indentation, as the document's first member has it. */
static char *indentation_step(const struct patch *patch, const struct json_tree *tree)
{
	bool alone = false;
	const struct json_node root = json_tree_root(tree);
	struct json_node first;
	auto_free char *indent = json_node_first(&root, &first)
					 ? indentation(patch->text, member_offset(patch, &first), &alone)
					 : NULL;
	return text_duplicate(alone && *indent ? indent : "  ");
}

/* Into a list or an object that holds nothing but, perhaps, comments. */
static void insert_first(const struct patch *patch, const struct json_node *container, const char *added)
{
	bool alone;
	size_t open = value_offset(patch, container), close = value_end(patch->blanked, open) - 1;
	bool one_line = !memchr(patch->text + open, '\n', close - open);
	auto_free char *indent = indentation(patch->text, close, &alone);
	auto_free char *step = indentation_step(patch, container->tree);
	size_t at = one_line ? open + 1 : alone ? line_start(patch->text, close) : close;
	text_append_bytes(patch->out, patch->text, at);
	if (!one_line && alone)
		text_printf(patch->out, "%s%s%s%s", indent, step, added, line_break(patch->text));
	else
		text_append(patch->out, added);
	text_append(patch->out, patch->text + at);
}

static void insert(const struct patch *patch, const struct json_node *container, const char *added)
{
	struct json_node child, last;
	bool any = false;
	for (bool more = json_node_first(container, &child); more; more = json_node_next(&child)) {
		last = child;
		any = true;
	}
	if (any)
		insert_behind(patch, &last, added);
	else
		insert_first(patch, container, added);
}

/* ---- the three kinds of addition ---- */

static int refuse(const struct patch *patch, const struct json_node *node, const char *what, struct error *error)
{
	return error_set(error, EINVAL, "cannot add at \"%.200s\": line %u has %s, %s", patch->pointer,
			 json_node_place(node)->line, json_node_kind(node), what);
}

static int add_member(const struct patch *patch, const struct json_node *object, const char *key, const char *rest,
		      const cJSON *value)
{
	struct text added = { 0 };
	text_append_json_string(&added, key, strlen(key));
	text_append(&added, ": ");
	append_wrapped(&added, rest, value);
	insert(patch, object, text_string(&added));
	text_free(&added);
	return 0;
}

/* An entry that the list has already is not written twice. */
static int add_element(const struct patch *patch, const struct json_node *list, const cJSON *value)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, list->item)
		if (cJSON_Compare(item, value, true)) {
			text_append(patch->out, patch->text);
			return 0;
		}
	struct text added = { 0 };
	append_value(&added, value);
	insert(patch, list, text_string(&added));
	text_free(&added);
	return 0;
}

/* Each part of `value` by itself: every addition moves what stands behind it, so the text is scanned anew for each. */
static int join(const struct patch *patch, const cJSON *value, struct error *error)
{
	struct text current = { 0 };
	int result = 0;
	const cJSON *item;
	text_append(&current, patch->text);
	cJSON_ArrayForEach(item, value) {
		struct text pointer = { 0 }, next = { 0 };
		text_append(&pointer, patch->pointer);
		json_pointer_append(&pointer, item->string ? item->string : "-");
		result = patch_add(text_string(&current), text_string(&pointer), item, &next, error);
		text_free(&pointer);
		text_free(&current);
		current = next;
		if (result != 0)
			break;
	}
	if (result == 0)
		text_append(patch->out, text_string(&current));
	text_free(&current);
	return result;
}

static bool holds_values(const cJSON *item)
{
	return cJSON_IsObject(item) || cJSON_IsArray(item);
}

/* The pointer names what is there already. */
static int add_to_present(const struct patch *patch, const struct json_node *node, const cJSON *value,
			  struct error *error)
{
	bool same = cJSON_IsObject(node->item) == cJSON_IsObject(value) && cJSON_IsArray(node->item) == cJSON_IsArray(value);
	if (!same)
		return refuse(patch, node, "which is of another kind", error);
	if (holds_values(value))
		return join(patch, value, error);
	size_t start = value_offset(patch, node);
	text_append_bytes(patch->out, patch->text, start);
	append_value(patch->out, value);
	text_append(patch->out, patch->text + value_end(patch->blanked, start));
	return 0;
}

static bool find_member(const struct json_node *object, const char *key, struct json_node *child)
{
	for (bool more = json_node_first(object, child); more; more = json_node_next(child))
		if (strcmp(json_node_key(child), key) == 0)
			return true;
	return false;
}

static int add_below(const struct patch *patch, const struct json_node *node, const char *rest, const cJSON *value,
		     struct error *error)
{
	if (*rest != '/')
		return add_to_present(patch, node, value, error);
	auto_free char *token = next_token(&rest);
	struct json_node child;
	if (cJSON_IsArray(node->item) && strcmp(token, "-") == 0 && *rest == '\0')
		return add_element(patch, node, value);
	if (!cJSON_IsObject(node->item))
		return refuse(patch, node, "which holds no such value", error);
	if (!find_member(node, token, &child))
		return add_member(patch, node, token, rest, value);
	return add_below(patch, &child, rest, value, error);
}

int patch_add(const char *text, const char *pointer, const cJSON *value, struct text *out, struct error *error)
{
	struct json_tree tree;
	struct json_fault fault;
	if (*pointer != '/' && *pointer != '\0')
		return error_set(error, EINVAL, "\"%.200s\" is no JSON pointer", pointer);
	if (json_tree_parse(text, strlen(text), JSON_POLICY, &tree, &fault) != 0)
		return error_set(error, EINVAL, "%u:%u: %s", fault.line, fault.column, fault.what);

	const struct patch patch = { .text = text, .blanked = tree.scan.blanked, .pointer = pointer, .out = out };
	const struct json_node root = json_tree_root(&tree);
	int result = add_below(&patch, &root, pointer, value, error);
	json_tree_free(&tree);
	return result;
}
