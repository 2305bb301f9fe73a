/* Written by `tests/check_offsets.py --write` with offsets/perl.c and the headers of perl; a test compares. */
#ifndef WHY_PERL_OFFSETS_H
#define WHY_PERL_OFFSETS_H

#include <stdint.h>

/* One perl: 5.`version`, with an interpreter of `interpreter_bytes` (PL_interp_size), which tells builds apart. Offsets in
 * bytes; type_*, sv_type_*, code_is_named and hash_has_name are values of perl's own. */
struct perl_layout {
	uint32_t version;
	uint32_t interpreter_bytes;
	uint32_t current_cop;
	uint32_t current_stack;
	uint32_t stack_contexts;
	uint32_t stack_previous;
	uint32_t stack_top;
	uint32_t context_bytes;
	uint32_t context_cop;
	uint32_t context_sub;
	uint32_t type_mask;
	uint32_t type_sub;
	uint32_t type_format;
	uint32_t type_eval;
	uint32_t cop_line;
	uint32_t cop_file;
	uint32_t sv_body;
	uint32_t sv_flags;
	uint32_t sv_type_mask;
	uint32_t sv_type_code;
	uint32_t sv_type_glob;
	uint32_t sv_type_hash;
	uint32_t code_stash;
	uint32_t code_name;
	uint32_t code_flags;
	uint32_t code_is_named;
	uint32_t glob_name;
	uint32_t glob_stash;
	uint32_t hash_has_name;
	uint32_t hash_name;
	uint32_t hash_name_count;
	uint32_t key_length;
	uint32_t key_bytes;
	uint32_t current_op;
	uint32_t context_return;
	uint32_t context_eval_return;
	uint32_t op_next;
	uint32_t op_sibling;
	uint32_t op_target;
	uint32_t op_bits;
	uint32_t op_type_mask;
	uint32_t op_has_sibling;
	uint32_t op_flags;
	uint32_t op_has_kids;
	uint32_t op_first;
	uint32_t op_null;
	uint32_t op_nextstate;
	uint32_t op_call;
	uint32_t op_eval;
	uint32_t op_require;
	uint32_t op_do_file;
};

static const struct perl_layout perl_offsets[] = {
	{
		.version = 36,
		.interpreter_bytes = 3768,
		.current_cop = 208,
		.current_stack = 224,
		.stack_contexts = 8,
		.stack_previous = 16,
		.stack_top = 32,
		.context_bytes = 104,
		.context_cop = 16,
		.context_sub = 72,
		.type_mask = 15,
		.type_sub = 9,
		.type_format = 10,
		.type_eval = 11,
		.cop_line = 36,
		.cop_file = 48,
		.sv_body = 0,
		.sv_flags = 12,
		.sv_type_mask = 255,
		.sv_type_code = 13,
		.sv_type_glob = 9,
		.sv_type_hash = 12,
		.code_stash = 32,
		.code_name = 56,
		.code_flags = 92,
		.code_is_named = 32768,
		.glob_name = 32,
		.glob_stash = 40,
		.hash_has_name = 33554432,
		.hash_name = 32,
		.hash_name_count = 60,
		.key_length = 4,
		.key_bytes = 8,
		.current_op = 8,
		.context_return = 48,
		.context_eval_return = 48,
		.op_next = 0,
		.op_sibling = 8,
		.op_target = 24,
		.op_bits = 32,
		.op_type_mask = 511,
		.op_has_sibling = 16384,
		.op_flags = 34,
		.op_has_kids = 4,
		.op_first = 40,
		.op_null = 0,
		.op_nextstate = 195,
		.op_call = 184,
		.op_eval = 345,
		.op_require = 342,
		.op_do_file = 343,
	},
	{
		.version = 40,
		.interpreter_bytes = 3768,
		.current_cop = 208,
		.current_stack = 224,
		.stack_contexts = 8,
		.stack_previous = 16,
		.stack_top = 32,
		.context_bytes = 104,
		.context_cop = 16,
		.context_sub = 72,
		.type_mask = 15,
		.type_sub = 9,
		.type_format = 10,
		.type_eval = 11,
		.cop_line = 36,
		.cop_file = 48,
		.sv_body = 0,
		.sv_flags = 12,
		.sv_type_mask = 255,
		.sv_type_code = 13,
		.sv_type_glob = 9,
		.sv_type_hash = 12,
		.code_stash = 32,
		.code_name = 56,
		.code_flags = 92,
		.code_is_named = 32768,
		.glob_name = 32,
		.glob_stash = 40,
		.hash_has_name = 33554432,
		.hash_name = 32,
		.hash_name_count = 60,
		.key_length = 4,
		.key_bytes = 8,
		.current_op = 8,
		.context_return = 48,
		.context_eval_return = 48,
		.op_next = 0,
		.op_sibling = 8,
		.op_target = 24,
		.op_bits = 32,
		.op_type_mask = 511,
		.op_has_sibling = 16384,
		.op_flags = 34,
		.op_has_kids = 4,
		.op_first = 40,
		.op_null = 0,
		.op_nextstate = 198,
		.op_call = 187,
		.op_eval = 348,
		.op_require = 345,
		.op_do_file = 346,
	},
	{
		.version = 42,
		.interpreter_bytes = 3768,
		.current_cop = 208,
		.current_stack = 224,
		.stack_contexts = 8,
		.stack_previous = 16,
		.stack_top = 32,
		.context_bytes = 104,
		.context_cop = 16,
		.context_sub = 72,
		.type_mask = 15,
		.type_sub = 9,
		.type_format = 10,
		.type_eval = 11,
		.cop_line = 36,
		.cop_file = 48,
		.sv_body = 0,
		.sv_flags = 12,
		.sv_type_mask = 255,
		.sv_type_code = 13,
		.sv_type_glob = 9,
		.sv_type_hash = 12,
		.code_stash = 32,
		.code_name = 56,
		.code_flags = 92,
		.code_is_named = 32768,
		.glob_name = 32,
		.glob_stash = 40,
		.hash_has_name = 33554432,
		.hash_name = 32,
		.hash_name_count = 60,
		.key_length = 4,
		.key_bytes = 8,
		.current_op = 8,
		.context_return = 48,
		.context_eval_return = 48,
		.op_next = 0,
		.op_sibling = 8,
		.op_target = 24,
		.op_bits = 32,
		.op_type_mask = 511,
		.op_has_sibling = 16384,
		.op_flags = 34,
		.op_has_kids = 4,
		.op_first = 40,
		.op_null = 0,
		.op_nextstate = 202,
		.op_call = 191,
		.op_eval = 352,
		.op_require = 349,
		.op_do_file = 350,
	},
};

#endif
