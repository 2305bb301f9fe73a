/* V8's tables from code to source. Pure: bytes in, a number out. Whatever the bytes are, the end comes. */
#ifndef WHY_NODE_POSITIONS_H
#define WHY_NODE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A source position table (source-position-table.cc): at which character of the source does the bytecode at `offset` stand?
 * -1 where the table gives none, or is no such table. */
int64_t node_position(const uint8_t *table, size_t length, uint32_t offset);

/* Bytecodes and the sizes of each, for operands of one, two and four bytes. */
struct node_bytecodes {
	const uint8_t *code;
	size_t length;
	const uint8_t *sizes; /* 3 x count */
	size_t count;
};

/* A table of code that was made one bytecode after the other (bytecode-offset-iterator.h): which bytecode returns to `pc`,
 * bytes from the start of the instructions? -1 where the table does not tell. */
int64_t node_bytecode_at(const uint8_t *table, size_t length, const struct node_bytecodes *bytecodes, uint32_t pc);

#endif
