/* Go's own table of functions and lines, which stays in a stripped program (go.dev/src/internal/abi, runtime/symtab.go). */
#ifndef WHY_GOPCLNTAB_H
#define WHY_GOPCLNTAB_H

#include "why/image.h"

/* `place` is an address as the file has it. Both fill nothing where the module is no Go program of 1.16 or later. */
void gopclntab_function(struct image_module *module, uint64_t place, struct record_stack_frame *frame);
void gopclntab_line(struct image_module *module, uint64_t place, struct record_stack_frame *frame);

#endif
