/* From a code object and a position in it to function, file and line. */
#ifndef WHY_PYTHON_CODE_H
#define WHY_PYTHON_CODE_H

#include "verdict/record.h"
#include "why/python_layout.h"

/* Is `object` of exactly the type at `type`? */
bool python_code_has_type(const struct python *python, uint64_t object, uint64_t type);

/* Describes the frame that stands at `position` (f_lasti, from 3.11 the instruction's address) of `code`. NULL, else the
 * reason why it cannot. `*shim` says that the code is CPython's own glue, which no traceback shows. */
const char *python_code_describe(const struct python *python, uint64_t code, uint64_t position,
				 struct record_script_frame *frame, bool *shim);

/* Is `file` the program's own: not of the standard library, site-packages or what is frozen into CPython? */
bool python_code_is_own(const char *file);

#endif
