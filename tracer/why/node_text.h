/* Strings on V8's heap, of a script's source as well. */
#ifndef WHY_NODE_TEXT_H
#define WHY_NODE_TEXT_H

#include "why/node_layout.h"

bool node_is_text(const struct node *node, uint64_t object);

/* The text as UTF-8: at most capacity - 1 bytes, cut between two characters, and a NUL. False where it is no string, or its
 * parts cannot be read. */
bool node_text_read(const struct node *node, uint64_t object, char *to, size_t capacity);

/* The line, from 1, on which the character at `position` of a source stands. 0 where that cannot be told. */
uint32_t node_text_line(const struct node *node, uint64_t source, int64_t position);

#endif
