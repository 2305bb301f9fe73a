#include "policy/json_tree.h"

#include "base/bug.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- duplicate keys ---- */

struct keyed {
	const char *key;
	const struct json_place *place;
};

static bool stands_before(const struct json_place *left, const struct json_place *right)
{
	return left->key_line < right->key_line ||
	       (left->key_line == right->key_line && left->key_column < right->key_column);
}

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;
	int order = strcmp(a->key, b->key);
	if (order != 0)
		return order;
	return stands_before(a->place, b->place) ? -1 : 1;
}

static size_t collect_keys(const struct json_node *object, struct keyed *keys)
{
	struct json_node child;
	size_t count = 0;
	for (bool more = json_node_first(object, &child); more; more = json_node_next(&child))
		keys[count++] = (struct keyed){ child.item->string, json_node_place(&child) };
	return count;
}

static void fault_duplicate(struct json_fault *fault, const struct keyed *first, const struct keyed *second)
{
	struct text shown = { 0 };
	text_append_visible(&shown, second->key, strnlen(second->key, 60));
	fault->line = second->place->key_line;
	fault->column = second->place->key_column;
	snprintf(fault->what, sizeof(fault->what), "duplicate key \"%s\"; it stands on line %u already",
		 text_string(&shown), first->place->key_line);
	text_free(&shown);
}

/* Sorted, because a file of one megabyte can hold a hundred thousand keys. Reports the duplicate that stands first. */
static int refuse_duplicates(const struct json_node *object, struct json_fault *fault)
{
	struct keyed *keys = memory_zeroed((size_t)cJSON_GetArraySize(object->item), sizeof(*keys));
	size_t count = collect_keys(object, keys);
	const struct keyed *found = NULL;
	qsort(keys, count, sizeof(*keys), compare_keyed);
	for (size_t i = 1; i < count; i++)
		if (strcmp(keys[i - 1].key, keys[i].key) == 0 && (!found || stands_before(keys[i].place, found->place)))
			found = &keys[i];
	if (found)
		fault_duplicate(fault, found - 1, found);
	free(keys);
	return found ? -EINVAL : 0;
}

static int refuse_duplicates_below(const struct json_node *node, struct json_fault *fault)
{
	if (cJSON_IsObject(node->item) && refuse_duplicates(node, fault) != 0)
		return -EINVAL;
	struct json_node child;
	for (bool more = json_node_first(node, &child); more; more = json_node_next(&child))
		if (refuse_duplicates_below(&child, fault) != 0)
			return -EINVAL;
	return 0;
}

/* ---- the tree ---- */

int json_tree_parse(const char *text, size_t length, enum json_form form, struct json_tree *tree,
		    struct json_fault *fault)
{
	*tree = (struct json_tree){ 0 };
	int result = json_scan(text, length, form, &tree->scan, fault);
	if (result != 0)
		return result;

	tree->root = cJSON_ParseWithLengthOpts(tree->scan.blanked, length + 1, NULL, true);
	if (!tree->root) {
		/* The scanner accepts nothing that cJSON refuses; memory may still have run out. */
		*fault = (struct json_fault){ .line = 1, .column = 1, .what = "the text cannot be parsed" };
		json_tree_free(tree);
		return -EINVAL;
	}
	struct json_node root = json_tree_root(tree);
	result = refuse_duplicates_below(&root, fault);
	if (result != 0)
		json_tree_free(tree);
	return result;
}

void json_tree_free(struct json_tree *tree)
{
	cJSON_Delete(tree->root);
	json_scan_free(&tree->scan);
	*tree = (struct json_tree){ 0 };
}

struct json_node json_tree_root(const struct json_tree *tree)
{
	return (struct json_node){ .tree = tree, .item = tree->root };
}

bool json_node_first(const struct json_node *parent, struct json_node *child)
{
	if (!parent->item->child)
		return false;
	*child = (struct json_node){
		.tree = parent->tree, .up = parent, .item = parent->item->child, .place = parent->place + 1
	};
	return true;
}

/* The two halves must agree on how many there are: a value with another's position would be blamed for it. */
bool json_node_next(struct json_node *node)
{
	size_t next = json_node_place(node)->next;
	bug_unless((next != 0) == (node->item->next != NULL));
	if (!next)
		return false;
	node->item = node->item->next;
	node->place = next;
	node->index++;
	return true;
}

const char *json_node_key(const struct json_node *node)
{
	return node->item->string;
}

const struct json_place *json_node_place(const struct json_node *node)
{
	bug_unless(node->place < node->tree->scan.count);
	return &node->tree->scan.places[node->place];
}

const char *json_node_kind(const struct json_node *node)
{
	switch (node->item->type & 0xFF) {
	case cJSON_String:
		return "a string";
	case cJSON_Number:
		return "a number";
	case cJSON_Array:
		return "a list";
	case cJSON_Object:
		return "an object";
	case cJSON_NULL:
		return "null";
	default:
		return "true or false";
	}
}

void json_pointer_append(struct text *pointer, const char *key)
{
	text_append(pointer, "/");
	for (; *key; key++) {
		if (*key == '~' || *key == '/')
			text_append(pointer, *key == '~' ? "~0" : "~1");
		else
			text_append_bytes(pointer, key, 1);
	}
}

static void append_pointer(struct text *pointer, const struct json_node *node)
{
	if (!node->up)
		return;
	append_pointer(pointer, node->up);
	if (json_node_key(node))
		json_pointer_append(pointer, json_node_key(node));
	else
		text_printf(pointer, "/%zu", node->index);
}

char *json_node_pointer(const struct json_node *node)
{
	struct text pointer = { 0 };
	text_append(&pointer, "");
	append_pointer(&pointer, node);
	return pointer.bytes;
}
