/* Written by `tests/check_offsets.py --write` with offsets/php.c and the headers of PHP; a test compares. */
#ifndef WHY_PHP_OFFSETS_H
#define WHY_PHP_OFFSETS_H

#include <stdint.h>

/* One PHP without threads: the number of its interface for extensions (ZEND_MODULE_API_NO) and the size of executor_globals
 * tell which. Offsets in bytes; type_* are values of PHP's own. */
struct php_layout {
	uint32_t api;
	uint32_t globals_bytes;
	uint32_t current_frame;
	uint32_t exception_codes;
	uint32_t exception_codes_bytes;
	uint32_t before_exception;
	uint32_t frame_bytes;
	uint32_t frame_code;
	uint32_t frame_function;
	uint32_t frame_object;
	uint32_t frame_object_type;
	uint32_t frame_previous;
	uint32_t type_object;
	uint32_t object_class;
	uint32_t generator_frame;
	uint32_t generator_parent;
	uint32_t function_type;
	uint32_t function_name;
	uint32_t function_scope;
	uint32_t function_codes;
	uint32_t function_code_count;
	uint32_t function_file;
	uint32_t type_internal;
	uint32_t type_user;
	uint32_t type_eval;
	uint32_t code_bytes;
	uint32_t code_line;
	uint32_t class_name;
	uint32_t string_length;
	uint32_t string_bytes;
	uint32_t table_buckets;
	uint32_t table_used;
	uint32_t bucket_value;
	uint32_t bucket_type;
	uint32_t type_pointer;
	uint32_t module_bytes;
	uint32_t module_size;
	uint32_t module_api;
	uint32_t module_debug;
	uint32_t module_threads;
};

static const struct php_layout php_offsets[] = {
	{
		.api = 20220829,
		.globals_bytes = 1776,
		.current_frame = 488,
		.exception_codes = 888,
		.exception_codes_bytes = 96,
		.before_exception = 880,
		.frame_bytes = 80,
		.frame_code = 0,
		.frame_function = 24,
		.frame_object = 32,
		.frame_object_type = 40,
		.frame_previous = 48,
		.type_object = 8,
		.object_class = 16,
		.generator_frame = 56,
		.generator_parent = 152,
		.function_type = 0,
		.function_name = 8,
		.function_scope = 16,
		.function_codes = 88,
		.function_code_count = 80,
		.function_file = 152,
		.type_internal = 1,
		.type_user = 2,
		.type_eval = 4,
		.code_bytes = 32,
		.code_line = 24,
		.class_name = 8,
		.string_length = 16,
		.string_bytes = 24,
		.table_buckets = 16,
		.table_used = 24,
		.bucket_value = 0,
		.bucket_type = 8,
		.type_pointer = 13,
		.module_bytes = 168,
		.module_size = 0,
		.module_api = 4,
		.module_debug = 8,
		.module_threads = 9,
	},
	{
		.api = 20220829,
		.globals_bytes = 1800,
		.current_frame = 488,
		.exception_codes = 888,
		.exception_codes_bytes = 96,
		.before_exception = 880,
		.frame_bytes = 80,
		.frame_code = 0,
		.frame_function = 24,
		.frame_object = 32,
		.frame_object_type = 40,
		.frame_previous = 48,
		.type_object = 8,
		.object_class = 16,
		.generator_frame = 56,
		.generator_parent = 152,
		.function_type = 0,
		.function_name = 8,
		.function_scope = 16,
		.function_codes = 88,
		.function_code_count = 80,
		.function_file = 152,
		.type_internal = 1,
		.type_user = 2,
		.type_eval = 4,
		.code_bytes = 32,
		.code_line = 24,
		.class_name = 8,
		.string_length = 16,
		.string_bytes = 24,
		.table_buckets = 16,
		.table_used = 24,
		.bucket_value = 0,
		.bucket_type = 8,
		.type_pointer = 13,
		.module_bytes = 168,
		.module_size = 0,
		.module_api = 4,
		.module_debug = 8,
		.module_threads = 9,
	},
	{
		.api = 20240924,
		.globals_bytes = 1984,
		.current_frame = 488,
		.exception_codes = 960,
		.exception_codes_bytes = 96,
		.before_exception = 952,
		.frame_bytes = 80,
		.frame_code = 0,
		.frame_function = 24,
		.frame_object = 32,
		.frame_object_type = 40,
		.frame_previous = 48,
		.type_object = 8,
		.object_class = 16,
		.generator_frame = 56,
		.generator_parent = 152,
		.function_type = 0,
		.function_name = 8,
		.function_scope = 16,
		.function_codes = 104,
		.function_code_count = 96,
		.function_file = 168,
		.type_internal = 1,
		.type_user = 2,
		.type_eval = 4,
		.code_bytes = 32,
		.code_line = 24,
		.class_name = 8,
		.string_length = 16,
		.string_bytes = 24,
		.table_buckets = 16,
		.table_used = 24,
		.bucket_value = 0,
		.bucket_type = 8,
		.type_pointer = 13,
		.module_bytes = 168,
		.module_size = 0,
		.module_api = 4,
		.module_debug = 8,
		.module_threads = 9,
	},
};

#endif
