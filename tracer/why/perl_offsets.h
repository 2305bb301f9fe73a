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
	},
};

#endif
