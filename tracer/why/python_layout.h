/* Where one CPython keeps its frames. Offsets in bytes, from the start of the structure that the field's name begins with. */
#ifndef WHY_PYTHON_LAYOUT_H
#define WHY_PYTHON_LAYOUT_H

#include "why/process.h"

struct python_layout {
	uint32_t minor;              /* 7 for 3.7; every field is a uint32_t */
	uint32_t interpreters_head;  /* in _PyRuntime */
	uint32_t interpreter_next, threads_head; /* in PyInterpreterState */
	uint32_t thread_next, thread_interpreter, thread_id;
	uint32_t thread_frame;       /* the innermost frame; in 3.11 and 3.12 the cframe that points to it */
	uint32_t cframe_frame;
	uint32_t frame_previous, frame_code;
	uint32_t frame_position;     /* to 3.10 f_lasti, an int; from 3.11 a pointer to the instruction */
	uint32_t frame_owner;        /* from 3.12 */
	uint32_t frame_entry;        /* 3.11 */
	uint32_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint32_t code_instructions;  /* to 3.10 a pointer to a bytes object, from 3.11 the instructions themselves */
	uint32_t object_type, object_size, bytes_data;
	uint32_t text_length, text_state;
	uint32_t text_ascii;         /* the size of PyASCIIObject */
};

/* One CPython in one process. */
struct python {
	const struct why_process *process;
	struct python_layout layout;
	uint64_t address;                            /* of _PyRuntime */
	uint64_t code_type, text_type, bytes_type;   /* what ob_type of such an object must be */
};

/* Does some module of the process export _PyRuntime (3.7 and later)? */
bool python_layout_probe(const struct why_process *process);

/* Finds the interpreter and its layout. NULL, else a reason in a few words. */
const char *python_layout_find(const struct why_process *process, struct python *python);

#endif
