/* The V8 inside a node: where it keeps what, and how a value on its heap is read.
 *
 * V8 exports constants for debuggers (v8dbg_*): offsets in its objects, types, kinds of frames. They hold for the very build,
 * and are read from the target's memory. What they leave out stands in one row for each known version. A value is a small
 * integer, in its upper half, or the address of an object plus one. */
#ifndef WHY_NODE_LAYOUT_H
#define WHY_NODE_LAYOUT_H

#include "why/process.h"

enum { NODE_PAGES = 64, NODE_PAGE_BYTES = 4096 };

/* Offsets in bytes from the start of an object, from the frame pointer where the name begins with `frame_`. `type_*` are
 * instance types, `kind_*` kinds of frames. -1: this version has none. */
struct node_constants {
	int32_t tagged_bytes, smi_shift;
	int32_t map_type, map_prototype, map_words, type_map, type_global;
	int32_t frame_function, frame_bytecodes, frame_bytecode_offset, frame_receiver;
	int32_t kind_entry, kind_construct_entry, kind_exit, kind_builtin_exit, kind_callback_exit, kind_accessor_exit;
	int32_t type_function, function_shared, function_prototype, object_properties, shared_name, shared_script, type_shared, type_scope;
	int32_t scope_local_count, scope_locals;
	int32_t script_name, script_source, type_script, type_oddball;
	int32_t array_length, bytecodes_data, type_bytecodes;
	int32_t type_code, code_start, instructions_start, type_instructions;
	int32_t string_first_other, string_form_mask, string_sequential, string_cons, string_external, string_sliced, string_thin;
	int32_t string_width_mask, string_one_byte;
	int32_t string_length, one_byte_data, two_byte_data, cons_first, cons_second, sliced_parent, sliced_start, thin_actual;
	int32_t external_resource;
};

/* How the instructions of a Code object are found. */
enum node_instructions { NODE_INSTRUCTIONS_INLINE, NODE_INSTRUCTIONS_STREAM, NODE_INSTRUCTIONS_ADDRESS };

/* What no constant tells: the same for all builds of a version of V8. */
struct node_version {
	uint32_t major, minor;
	uint32_t isolate_exit;           /* in an isolate: the frame through which its thread left V8, 0 while it is in V8 */
	uint32_t bytecodes_positions;    /* BytecodeArray: its source position table */
	uint32_t code_bytecodes, code_table; /* Code: the bytecodes that it was made of, its table of their offsets */
	enum node_instructions instructions;
};

struct node {
	const struct why_process *process;
	const struct node_version *version;
	struct node_constants constants;
	uint64_t bytecode_sizes; /* address of V8's table: one byte for each width of operands and bytecode */
	uint32_t bytecode_count;
	struct node_memory *memory;
};

/* What was read of the process last: the objects of one frame lie close to each other, and to those of the next. */
struct node_memory {
	bool failed; /* set when what should be there could not be read: what is concluded from that is nothing */
	uint64_t pages[NODE_PAGES]; /* addresses, 0 for none */
	unsigned char bytes[NODE_PAGES][NODE_PAGE_BYTES];
};

bool node_layout_probe(const struct why_process *process);

/* NULL, or why this V8 cannot be read. Leaves `memory` to the caller. */
const char *node_layout_find(const struct why_process *process, struct node *node);

/* As why_read; what fails is remembered. */
bool node_read(const struct node *node, uint64_t address, void *to, size_t length);

/* The value that stands `offset` bytes into an object. False also for what is no object. */
bool node_read_field(const struct node *node, uint64_t object, int32_t offset, uint64_t *value);
/* The same for a field that must hold a small integer. */
bool node_read_integer(const struct node *node, uint64_t object, int32_t offset, int32_t *value);
/* `count` fields at once. */
bool node_read_fields(const struct node *node, uint64_t object, int32_t offset, uint64_t *values, size_t count);

/* An object's type; -1 where that cannot be read. */
int32_t node_type(const struct node *node, uint64_t object);
bool node_is_integer(uint64_t value, int32_t *integer);

#endif
