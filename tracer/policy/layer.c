#include "policy/layer.h"

#include "base/text.h"
#include "policy/complain.h"
#include "policy/environment.h"
#include "policy/layer_read.h"
#include "policy/limits.h"
#include "policy/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- lists ---- */

static int check_entry(struct layer *layer, const struct json_node *node, int list, const char *text,
		       struct error *error)
{
	struct error inner = { 0 };
	if (rule_check((enum rule_list)list, text, false, &inner) == 0)
		return 0;
	return layer_refuse(layer, node, error, "%s", inner.message);
}

static int read_entry(struct layer *layer, const struct json_node *node, int list, struct error *error)
{
	const char *text;
	if (layer_string(layer, node, &text, error) != 0 || check_entry(layer, node, list, text, error) != 0)
		return -EINVAL;
	rules_add(&layer->policy.lists[list], rule_make(text, layer_position(layer, node)));
	return 0;
}

/* The rule is there already, without a text, when its object is read. */
static struct rule *last_execute(struct layer *layer)
{
	struct rules *rules = &layer->policy.lists[LIST_EXECUTE];
	return &rules->items[rules->count - 1];
}

static int read_execute_path(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	const char *text;
	if (layer_string(layer, node, &text, error) != 0 || check_entry(layer, node, LIST_EXECUTE, text, error) != 0)
		return -EINVAL;
	free(last_execute(layer)->text);
	last_execute(layer)->text = text_duplicate(text);
	return 0;
}

static int read_sha256(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	const char *text;
	if (layer_string(layer, node, &text, error) != 0)
		return -EINVAL;
	if (strlen(text) != HASH_TEXT - 1 || strspn(text, "0123456789abcdefABCDEF") != HASH_TEXT - 1)
		return layer_refuse(layer, node, error, "\"sha256\" must be %d hexadecimal digits", HASH_TEXT - 1);
	for (size_t i = 0; i < HASH_TEXT; i++)
		last_execute(layer)->sha256[i] =
			(char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
	return 0;
}

static int read_execute_entry(struct layer *layer, const struct json_node *node, int list, struct error *error)
{
	static const struct key_row keys[] = { { "path", 0, read_execute_path }, { "sha256", 0, read_sha256 } };
	if (cJSON_IsString(node->item))
		return read_entry(layer, node, list, error);
	if (!cJSON_IsObject(node->item))
		return layer_refuse(layer, node, error, "an entry of \"execute\" must be a string or an object, not %s",
				    json_node_kind(node));
	rules_add(&layer->policy.lists[LIST_EXECUTE], rule_make("", layer_position(layer, node)));
	if (layer_object(layer, node, keys, COUNT(keys), error) != 0)
		return -EINVAL;
	if (*last_execute(layer)->text == '\0')
		return layer_refuse(layer, node, error, "the key \"path\" is missing");
	if (*last_execute(layer)->sha256 == '\0')
		return layer_refuse(layer, node, error,
				    "the key \"sha256\" is missing; without one an entry is a plain string");
	return 0;
}

static int read_list(struct layer *layer, const struct json_node *node, int list, struct error *error)
{
	struct position *missing = &layer->policy.missing[list];
	free(missing->pointer);
	*missing = layer_position(layer, node);
	layer->policy.has.lists[list] = true;
	return layer_list(layer, node, list, list == LIST_EXECUTE ? read_execute_entry : read_entry, error);
}

/* A list that is not there is missed at its nearest parent: where it would have to be added. */
static void miss_lists(struct layer *layer, const struct json_node *node, enum rule_list first, enum rule_list last)
{
	const struct json_place *place = json_node_place(node);
	for (unsigned list = first; list <= last; list++) {
		struct position *missing = &layer->policy.missing[list];
		free(missing->pointer);
		*missing = (struct position){ .file = layer->policy.files[0].file,
					      .line = place->line,
					      .column = place->column };
		missing->pointer = text_duplicate(rule_list_pointer((enum rule_list)list));
	}
}

/* ---- objects ---- */

static int read_stat(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	static const char *const words[] = { "any", "listed", NULL };
	size_t word;
	if (layer_word(layer, node, words, &word, error) != 0)
		return -EINVAL;
	layer->policy.stat_listed = word == 1;
	layer->policy.stat_position = layer_position(layer, node);
	return 0;
}

static int read_paths(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	static const struct key_row keys[] = {
		{ "read", LIST_READ, read_list },
		{ "write", LIST_WRITE, read_list },
		{ "execute", LIST_EXECUTE, read_list },
		{ "deny", LIST_DENY, read_list },
		{ "hide", LIST_HIDE, read_list },
		{ "stat", 0, read_stat },
	};
	layer->policy.has.paths = true;
	miss_lists(layer, node, LIST_READ, LIST_HIDE);
	return layer_object(layer, node, keys, COUNT(keys), error);
}

static int read_network(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	static const struct key_row keys[] = { { "connect", LIST_CONNECT, read_list },
					       { "bind", LIST_BIND, read_list } };
	layer->policy.has.network = true;
	miss_lists(layer, node, LIST_CONNECT, LIST_BIND);
	return layer_object(layer, node, keys, COUNT(keys), error);
}

static int read_syscalls(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	static const struct key_row keys[] = { { "allow", LIST_SYSCALL_ALLOW, read_list },
					       { "deny", LIST_SYSCALL_DENY, read_list } };
	layer->policy.has.syscalls = true;
	miss_lists(layer, node, LIST_SYSCALL_ALLOW, LIST_SYSCALL_DENY);
	return layer_object(layer, node, keys, COUNT(keys), error);
}

/* ---- environment ---- */

static int read_pass(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	const char *name;
	struct error inner = { 0 };
	if (layer_string(layer, node, &name, error) != 0)
		return -EINVAL;
	if (environment_check_pass(name, &inner) != 0)
		return layer_refuse(layer, node, error, "%s", inner.message);
	environment_add(&layer->policy, (struct environment_entry){ .name = text_duplicate(name),
								    .position = layer_position(layer, node) });
	return 0;
}

static int read_pass_list(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	return layer_list(layer, node, id, read_pass, error);
}

static int read_set(struct layer *layer, const struct json_node *node, struct error *error)
{
	struct error inner = { 0 };
	if (!cJSON_IsString(node->item))
		return layer_refuse(layer, node, error, "the value of a variable must be a string, not %s",
				    json_node_kind(node));
	const char *name = json_node_key(node), *value = node->item->valuestring;
	if (environment_check_set(name, "", &inner) != 0)
		return layer_refuse_key(layer, node, error, "%s", inner.message);
	if (environment_check_set(name, value, &inner) != 0)
		return layer_refuse(layer, node, error, "%s", inner.message);
	environment_add(&layer->policy, (struct environment_entry){ .name = text_duplicate(name),
								    .value = text_duplicate(value),
								    .position = layer_position(layer, node) });
	return 0;
}

static int read_set_object(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	if (!cJSON_IsObject(node->item))
		return layer_refuse(layer, node, error, "\"set\" must be an object, not %s", json_node_kind(node));
	struct json_node child;
	for (bool more = json_node_first(node, &child); more; more = json_node_next(&child))
		if (read_set(layer, &child, error) != 0)
			return -EINVAL;
	return 0;
}

static int read_environment(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	static const struct key_row keys[] = { { "pass", 0, read_pass_list }, { "set", 0, read_set_object } };
	return layer_object(layer, node, keys, COUNT(keys), error);
}

/* ---- limits ---- */

/* A plain number is a size in bytes or a count. Doubles are exact below 2^53. */
static const char *number_as_text(double number, char *target, size_t size)
{
	const double exact = 9007199254740992.0;
	if (number < 0)
		return "must not be negative";
	if (number >= exact)
		return "is out of range";
	if (number != (double)(int64_t)number)
		return "must be a whole number";
	snprintf(target, size, "%.0f", number);
	return NULL;
}

static int read_limit_number(struct layer *layer, const struct json_node *node, const struct limit_row *row, char *text,
			     size_t size, struct error *error)
{
	if (row->unit == UNIT_DURATION_MS)
		return layer_refuse(layer, node, error,
				    "\"%s\" must be a duration in a string, such as \"3s\", not a number", row->key);
	const char *wrong = number_as_text(node->item->valuedouble, text, size);
	return wrong ? layer_refuse(layer, node, error, "\"%s\" %s", row->key, wrong) : 0;
}

static int read_limit(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	const struct limit_row *row = &limit_rows[id];
	struct limit *limit = &layer->policy.limits[id];
	struct error inner = { 0 };
	char number[32];
	const char *text = number;
	if (cJSON_IsNumber(node->item)) {
		if (read_limit_number(layer, node, row, number, sizeof(number), error) != 0)
			return -EINVAL;
	} else if (layer_string(layer, node, &text, error) != 0) {
		return -EINVAL;
	}
	if (limit_parse((enum limit_id)id, text, &limit->value, &inner) != 0)
		return layer_refuse(layer, node, error, "%s", inner.message);
	limit->set = true;
	limit->position = layer_position(layer, node);
	return 0;
}

static int read_limits(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	struct key_row keys[LIMIT_COUNT];
	for (int i = 0; i < LIMIT_COUNT; i++)
		keys[i] = (struct key_row){ limit_rows[i].key, i, read_limit };
	layer->policy.has.limits = true;
	return layer_object(layer, node, keys, LIMIT_COUNT, error);
}

/* ---- the document ---- */

static int read_text(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	char **const texts[] = { &layer->policy.name, &layer->policy.description, &layer->extends };
	const char *string;
	if (layer_string(layer, node, &string, error) != 0)
		return -EINVAL;
	*texts[id] = text_duplicate(string);
	return 0;
}

static int read_extends(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	layer->extends_position = layer_position(layer, node);
	return read_text(layer, node, id, error);
}

static int read_on_violation(struct layer *layer, const struct json_node *node, int id, struct error *error)
{
	(void)id;
	const char *const words[] = { on_violation_name(ON_VIOLATION_KILL), on_violation_name(ON_VIOLATION_DENY),
				      on_violation_name(ON_VIOLATION_LOG), NULL };
	size_t word;
	if (layer_word(layer, node, words, &word, error) != 0)
		return -EINVAL;
	layer->policy.on_violation = (enum on_violation)word;
	layer->on_violation_set = true;
	return 0;
}

static const struct key_row document_keys[] = {
	{ "name", 0, read_text },
	{ "description", 1, read_text },
	{ "extends", 2, read_extends },
	{ "paths", 0, read_paths },
	{ "network", 0, read_network },
	{ "environment", 0, read_environment },
	{ "limits", 0, read_limits },
	{ "syscalls", 0, read_syscalls },
	{ "on_violation", 0, read_on_violation },
};

static int read_tree(struct layer *layer, const struct json_tree *tree, struct error *error)
{
	struct json_node root = json_tree_root(tree);
	miss_lists(layer, &root, LIST_READ, LIST_SYSCALL_DENY);
	return layer_object(layer, &root, document_keys, COUNT(document_keys), error);
}

int layer_read(struct layer *layer, const char *file, bool embedded, const char *text, size_t length,
	       struct error *error)
{
	*layer = (struct layer){ 0 };
	layer->policy.files = memory_zeroed(1, sizeof(*layer->policy.files));
	layer->policy.files[0] = (struct policy_file){ .file = text_duplicate(file), .embedded = embedded };
	layer->policy.file_count = 1;
	hash_bytes(text, length, layer->policy.files[0].sha256);

	struct json_tree tree;
	struct json_fault fault;
	int result = json_tree_parse(text, length, JSON_POLICY, &tree, &fault);
	if (result != 0) {
		struct position position = { .file = file, .line = fault.line, .column = fault.column };
		result = complain_at(error, &position, "%s", fault.what);
	} else {
		result = read_tree(layer, &tree, error);
		json_tree_free(&tree);
	}
	if (result != 0)
		layer_free(layer);
	return result;
}

void layer_free(struct layer *layer)
{
	policy_clear(&layer->policy);
	free(layer->extends);
	free(layer->extends_position.pointer);
	*layer = (struct layer){ 0 };
}
