/* Prints where one PHP 8 keeps its call stack: one row of ../php_offsets.h.
 *
 *     cc -O2 -D_GNU_SOURCE -I FOLDER -I FOLDER/main -I FOLDER/Zend -I FOLDER/TSRM -o row php.c && ./row
 *
 * FOLDER is `php-config --include-dir`. `make` does not build it; tests/check_offsets.py does. */
#include <php.h>

#include <zend_generators.h>
#include <zend_modules.h>

#include <stddef.h>
#include <stdio.h>

#if defined(ZTS) || ZEND_DEBUG
#error a build with threads, or for debugging, lays its structures out in another way
#endif

#define ROW(field, value) printf("\t\t.%s = %zu,\n", #field, (size_t)(value))

static void row_registry(void)
{
	ROW(table_buckets, offsetof(HashTable, arData));
	ROW(table_used, offsetof(HashTable, nNumUsed));
	ROW(bucket_value, offsetof(Bucket, val.value.ptr));
	ROW(bucket_type, offsetof(Bucket, val.u1.v.type));
	ROW(type_pointer, IS_PTR);
	ROW(module_bytes, sizeof(zend_module_entry));
	ROW(module_size, offsetof(zend_module_entry, size));
	ROW(module_api, offsetof(zend_module_entry, zend_api));
	ROW(module_debug, offsetof(zend_module_entry, zend_debug));
	ROW(module_threads, offsetof(zend_module_entry, zts));
}

static void row_function(void)
{
	ROW(function_type, offsetof(zend_op_array, type));
	ROW(function_name, offsetof(zend_op_array, function_name));
	ROW(function_scope, offsetof(zend_op_array, scope));
	ROW(function_codes, offsetof(zend_op_array, opcodes));
	ROW(function_code_count, offsetof(zend_op_array, last));
	ROW(function_file, offsetof(zend_op_array, filename));
	ROW(type_internal, ZEND_INTERNAL_FUNCTION);
	ROW(type_user, ZEND_USER_FUNCTION);
	ROW(type_eval, ZEND_EVAL_CODE);
	ROW(code_bytes, sizeof(zend_op));
	ROW(code_line, offsetof(zend_op, lineno));
	ROW(class_name, offsetof(zend_class_entry, name));
	ROW(string_length, offsetof(zend_string, len));
	ROW(string_bytes, offsetof(zend_string, val));
}

int main(void)
{
	printf("\t{\n");
	ROW(api, ZEND_MODULE_API_NO);
	ROW(globals_bytes, sizeof(zend_executor_globals));
	ROW(current_frame, offsetof(zend_executor_globals, current_execute_data));
	ROW(exception_codes, offsetof(zend_executor_globals, exception_op));
	ROW(exception_codes_bytes, sizeof(((zend_executor_globals *)NULL)->exception_op));
	ROW(before_exception, offsetof(zend_executor_globals, opline_before_exception));
	ROW(frame_bytes, sizeof(zend_execute_data));
	ROW(frame_code, offsetof(zend_execute_data, opline));
	ROW(frame_function, offsetof(zend_execute_data, func));
	ROW(frame_object, offsetof(zend_execute_data, This.value.obj));
	ROW(frame_object_type, offsetof(zend_execute_data, This.u1.v.type));
	ROW(frame_previous, offsetof(zend_execute_data, prev_execute_data));
	ROW(type_object, IS_OBJECT);
	ROW(object_class, offsetof(zend_object, ce));
	ROW(generator_frame, offsetof(zend_generator, execute_data));
	ROW(generator_parent, offsetof(zend_generator, node.parent));
	row_function();
	row_registry();
	printf("\t},\n");
	return 0;
}
