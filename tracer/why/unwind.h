/* The inside of the unwinder: a helper process that is handed copies of a stopped thread and answers with frames.
 *
 *     front  ── memfd: struct unwind_input, snapshots ──▶  helper
 *     front  ◀── pipe: struct unwind_message, each checked ──  helper
 *
 * An ELF file that the target wrote itself can crash or hang what reads it; then the helper dies, and front keeps the last
 * whole stack that it has received. */
#ifndef WHY_UNWIND_H
#define WHY_UNWIND_H

#include "verdict/record.h"
#include "why/image.h"
#include "why/source.h"

enum { UNWIND_INPUT_FD = 3, UNWIND_OUTPUT_FD = 4, UNWIND_MAGIC = 0x6261696c };

struct unwind_head {
	uint32_t magic, snapshot_count;
	struct source_request source;
};

struct unwind_input {
	struct unwind_head head;
	struct record_snapshot snapshots[RECORD_SNAPSHOT_MAX];
};

/* A stack is sent as UNWIND_FRAME in order from 0 on, then UNWIND_END with their number. Every later one says more.
 * UNWIND_SOURCE comes before, at most once: the text in `function`, the file's canonical path in `module`. */
enum unwind_kind { UNWIND_FRAME = 1, UNWIND_END, UNWIND_SOURCE };

struct unwind_message {
	uint32_t magic, kind;
	uint32_t index, line;
	uint32_t of_parent, inlined;
	uint64_t address, offset;
	char function[sizeof(((struct record_stack_frame *)0)->function)];
	char module[sizeof(((struct record_stack_frame *)0)->module)];
	char build_id[sizeof(((struct record_stack_frame *)0)->build_id)];
	char file[sizeof(((struct record_stack_frame *)0)->file)];
	char source[sizeof(((struct record_explanation *)0)->stack_source)];   /* with UNWIND_END */
	char missing[sizeof(((struct record_explanation *)0)->stack_missing)]; /* with UNWIND_END */
};

/* A place on the stack. */
struct unwind_frame {
	uint64_t address;
	bool is_exact; /* the instruction itself: the innermost frame, or one that a signal interrupted. Others hold the address
			* that a call returns to, which may belong to the next line, or to the next function. */
	uint64_t unit; /* offset of the unit that has its line, in the module's debug information; 0: none */
};

struct unwind_walk {
	struct unwind_frame frames[RECORD_STACK_FRAME_MAX];
	size_t count;
	bool whole;       /* it ended where the thread began */
	char reason[160]; /* why not */
};

/* A back-end: fills a walk from registers, stack and modules of the image. */
struct unwinder {
	const char *name;
	void (*walk)(struct image *image, struct unwind_walk *walk);
};

extern const struct unwinder unwinder_libdw, unwinder_libunwind, unwinder_frame_pointers;

/* Adds a frame: false when there is no room, or when no code is mapped at the address (then the reason says so). */
bool unwind_add(const struct image *image, struct unwind_walk *walk, uint64_t address, bool is_exact);

/* Where the look-up of a frame's function and line begins. */
static inline uint64_t unwind_lookup(const struct unwind_frame *frame)
{
	return frame->address - !frame->is_exact;
}

/* Fill what the modules tell of each frame; `frames` and `out` run in parallel. */
void symbolise_functions(struct image *image, const struct unwind_frame *frames, size_t count, struct record_stack_frame *out);
void symbolise_demangle(struct record_stack_frame *frames, size_t count);
void symbolise_lines(struct image *image, struct unwind_frame *frames, size_t count, struct record_stack_frame *out);

/* Puts the functions that were inlined in front of the frames that hold them: the new number of frames, at most `most`. */
size_t symbolise_inlined(struct image *image, const struct unwind_frame *places, size_t count, struct record_stack_frame *frames,
			 size_t most);

/* The unit's folder in front of a relative name, as debuggers do. `unit` is a Dwarf_Die. */
void symbolise_set_file(void *unit, const char *name, struct record_stack_frame *frame);

#endif
