/* Reading the values of a policy file: what the tables of layer_read.c are made of. Internal to policy/. */
#ifndef POLICY_LAYER_READ_H
#define POLICY_LAYER_READ_H

#include "policy/json_tree.h"
#include "policy/layer.h"

/* One known key of an object. `id` is handed to `read`. */
struct key_row {
	const char *key;
	int id;
	int (*read)(struct layer *layer, const struct json_node *node, int id, struct error *error);
};

/* Errors at the value, and at its key. The position's pointer is NULL in both. */
int layer_refuse(const struct layer *layer, const struct json_node *node, struct error *error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int layer_refuse_key(const struct layer *layer, const struct json_node *node, struct error *error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Pointer owned by the position. */
struct position layer_position(const struct layer *layer, const struct json_node *node);

/* Reads an object key by key. An unknown key is an error that names the nearest known one. */
int layer_object(struct layer *layer, const struct json_node *node, const struct key_row *rows, size_t count,
		 struct error *error);

/* Calls `read` for each element of a list. */
int layer_list(struct layer *layer, const struct json_node *node, int id,
	       int (*read)(struct layer *, const struct json_node *, int, struct error *), struct error *error);

/* A string that is not empty; borrowed from the tree. */
int layer_string(const struct layer *layer, const struct json_node *node, const char **string, struct error *error);

/* One of the words of a NULL-terminated list; `*index` is its place there. */
int layer_word(const struct layer *layer, const struct json_node *node, const char *const *words, size_t *index,
	       struct error *error);

#endif
