/* Functions of JavaScript: their names, and where they stand. */
#ifndef WHY_NODE_CODE_H
#define WHY_NODE_CODE_H

#include "verdict/record.h"
#include "why/node_layout.h"

/* A frame of JavaScript on the stack. */
struct node_frame {
	uint64_t function; /* JSFunction */
	uint64_t bytecodes, bytecode_offset; /* what stands in their places: no such thing in optimized code */
	uint64_t receiver; /* `this` */
	uint64_t pc;       /* where it goes on when what it called returns */
};

enum node_line { NODE_LINE_EXACT, NODE_LINE_OF_FUNCTION };

/* Fills function, file, line and own_code. *line says which line that is, if it could be told: of optimized code it is the
 * one that the function begins on. *hidden: V8's own function, with no script. NULL, or why not. */
const char *node_code_describe(const struct node *node, const struct node_frame *frame, struct record_script_frame *described,
			       enum node_line *line, bool *hidden);

/* Is this a file of the program itself: neither node's own nor of an installed package? */
bool node_code_is_own(const char *file);

/* The path that a file: URL names, in place; anything else is left as it is. */
void node_code_file_of_url(char *name);

#endif
