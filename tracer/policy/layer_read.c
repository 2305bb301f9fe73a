#include "policy/layer_read.h"

#include "base/text.h"
#include "policy/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions ---- */

static const char *layer_file(const struct layer *layer)
{
	return layer->policy.files[0].file;
}

struct position layer_position(const struct layer *layer, const struct json_node *node)
{
	const struct json_place *place = json_node_place(node);
	return (struct position){ .file = layer_file(layer), .pointer = json_node_pointer(node), .line = place->line,
				  .column = place->column };
}

static int refuse(const struct layer *layer, unsigned line, unsigned column, struct error *error, const char *format,
		  va_list arguments)
{
	struct position position = { .file = layer_file(layer), .line = line, .column = column };
	struct text what = { 0 };
	text_vprintf(&what, format, arguments);
	int result = complain_at(error, &position, "%s", text_string(&what));
	text_free(&what);
	return result;
}

int layer_refuse(const struct layer *layer, const struct json_node *node, struct error *error, const char *format, ...)
{
	const struct json_place *place = json_node_place(node);
	va_list arguments;
	va_start(arguments, format);
	int result = refuse(layer, place->line, place->column, error, format, arguments);
	va_end(arguments);
	return result;
}

int layer_refuse_key(const struct layer *layer, const struct json_node *node, struct error *error, const char *format,
		     ...)
{
	const struct json_place *place = json_node_place(node);
	va_list arguments;
	va_start(arguments, format);
	int result = refuse(layer, place->key_line, place->key_column, error, format, arguments);
	va_end(arguments);
	return result;
}

/* ---- kinds of values ---- */

/* "paths", an entry of "read", a policy: what the value is, for a message. */
static char *describe(const struct json_node *node)
{
	if (!node->up)
		return text_duplicate("a policy");
	if (json_node_key(node))
		return text_format("\"%s\"", json_node_key(node));
	return text_format("an entry of \"%s\"", json_node_key(node->up) ? json_node_key(node->up) : "a list");
}

static int refuse_kind(const struct layer *layer, const struct json_node *node, const char *wanted, struct error *error)
{
	char *described = describe(node);
	int result = layer_refuse(layer, node, error, "%s must be %s, not %s", described, wanted, json_node_kind(node));
	free(described);
	return result;
}

int layer_string(const struct layer *layer, const struct json_node *node, const char **string, struct error *error)
{
	if (!cJSON_IsString(node->item))
		return refuse_kind(layer, node, "a string", error);
	if (*node->item->valuestring == '\0')
		return layer_refuse(layer, node, error, "an empty string");
	*string = node->item->valuestring;
	return 0;
}

int layer_word(const struct layer *layer, const struct json_node *node, const char *const *words, size_t *index,
	       struct error *error)
{
	const char *string;
	if (layer_string(layer, node, &string, error) != 0)
		return -EINVAL;
	struct text known = { 0 };
	for (size_t i = 0; words[i]; i++) {
		if (strcmp(words[i], string) == 0) {
			*index = i;
			text_free(&known);
			return 0;
		}
		text_printf(&known, "%s\"%s\"", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
	}
	int result = layer_refuse(layer, node, error, "\"%s\" must be %s, not \"%.60s\"", json_node_key(node),
				  text_string(&known), string);
	text_free(&known);
	return result;
}

int layer_list(struct layer *layer, const struct json_node *node, int id,
	       int (*read)(struct layer *, const struct json_node *, int, struct error *), struct error *error)
{
	if (!cJSON_IsArray(node->item))
		return refuse_kind(layer, node, "a list", error);
	struct json_node entry;
	for (bool more = json_node_first(node, &entry); more; more = json_node_next(&entry))
		if (read(layer, &entry, id, error) != 0)
			return -EINVAL;
	return 0;
}

static int refuse_key(const struct layer *layer, const struct json_node *node, const struct key_row *rows, size_t count,
		      struct error *error)
{
	struct nearest nearest = { .word = json_node_key(node) };
	struct text known = { 0 };
	for (size_t i = 0; i < count; i++) {
		nearest_offer(&nearest, rows[i].key);
		text_printf(&known, "%s%s", i ? ", " : "; known keys: ", rows[i].key);
	}
	char question[NEAREST_TEXT];
	nearest_format(&nearest, question);
	int result = layer_refuse_key(layer, node, error, "unknown key \"%.60s\"%s", json_node_key(node),
				      nearest.best ? question : text_string(&known));
	text_free(&known);
	return result;
}

static const struct key_row *find_key(const struct json_node *node, const struct key_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].key, json_node_key(node)) == 0)
			return &rows[i];
	return NULL;
}

int layer_object(struct layer *layer, const struct json_node *node, const struct key_row *rows, size_t count,
		 struct error *error)
{
	if (!cJSON_IsObject(node->item))
		return refuse_kind(layer, node, "an object", error);
	struct json_node child;
	for (bool more = json_node_first(node, &child); more; more = json_node_next(&child)) {
		const struct key_row *row = find_key(&child, rows, count);
		if (!row)
			return refuse_key(layer, &child, rows, count, error);
		if (row->read(layer, &child, row->id, error) != 0)
			return -EINVAL;
	}
	return 0;
}
