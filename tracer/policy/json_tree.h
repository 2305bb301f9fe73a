/* A JSON document whose every value knows its position: the scanner's places and cJSON's tree, walked side by side. */
#ifndef POLICY_JSON_TREE_H
#define POLICY_JSON_TREE_H

#include "base/text.h"
#include "policy/json_scan.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct json_tree {
	struct json_scan scan;
	cJSON *root;
};

/* One value. Its parent must outlive it: nodes live on the stack of whoever walks. */
struct json_node {
	const struct json_tree *tree;
	const struct json_node *up; /* NULL for the document */
	const cJSON *item;
	size_t place;
	size_t index; /* among its siblings */
};

/* Scans, builds the tree and refuses duplicate keys. 0, or -EINVAL with `fault` filled and nothing to free. */
int json_tree_parse(const char *text, size_t length, enum json_form form, struct json_tree *tree,
		    struct json_fault *fault);
void json_tree_free(struct json_tree *tree);

struct json_node json_tree_root(const struct json_tree *tree);

/* Both return false where there is no such value. */
bool json_node_first(const struct json_node *parent, struct json_node *child);
bool json_node_next(struct json_node *node);

/* The node's key; NULL in lists and at the top. */
const char *json_node_key(const struct json_node *node);

/* "a list", "a number", "null": what kind of value it is, for messages. */
const char *json_node_kind(const struct json_node *node);

const struct json_place *json_node_place(const struct json_node *node);

/* RFC 6901. Owned by the caller. */
char *json_node_pointer(const struct json_node *node);

/* One more step of such a pointer. */
void json_pointer_append(struct text *pointer, const char *key);

#endif
