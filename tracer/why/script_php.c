/* Frames of PHP 8 as it is built for the command line, without threads: executor_globals names the frame that runs, and each
 * frame the one around it. Structures: zend_globals.h, zend_compile.h, zend_types.h, zend_generators.h of PHP. */
#include "why/php_offsets.h"
#include "why/script.h"

#include "base/text.h"
#include "tracee/proc.h"

#include <string.h>

enum {
	FRAME_MAX = 8192,
	DELEGATION_MAX = 64,
	BLOCK_BYTES = 256,
	STRING_BYTES_MAX = 1 << 20,
	MODULE_COUNT_MAX = 4096,
};

struct php {
	const struct why_process *process;
	const struct php_layout *layout;
	uint64_t globals;
	uint64_t generator_class;
	bool thrown; /* the one place that is kept of an exception has been told */
};

struct php_frame {
	uint64_t code, function, object, previous;
	unsigned char object_type;
};

/* One that is written in PHP. */
struct php_function {
	uint64_t name, scope, codes, file;
	uint32_t code_count;
};

static const struct why_map *php_module(const struct why_process *process, const char *symbol)
{
	const char *const prefixes[] = {"php", "libphp"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct why_map *module;
		size_t index = 0;
		while ((module = why_module(process, prefixes[i], &index)))
			if (why_symbol(process, module, symbol, NULL))
				return module;
	}
	return NULL;
}

static bool php_probe(const struct why_process *process)
{
	return php_module(process, "module_registry") != NULL;
}

static uint64_t word_at(const unsigned char *block, uint32_t offset)
{
	uint64_t word;
	memcpy(&word, block + offset, sizeof(word));
	return word;
}

static uint32_t number_at(const unsigned char *block, uint32_t offset)
{
	uint32_t number;
	memcpy(&number, block + offset, sizeof(number));
	return number;
}

/* Every extension that is loaded says for which interface it was compiled, the first one being PHP's own core. A build for
 * debugging or with threads has other structures under the same number. */
static bool is_layout(const struct why_process *process, uint64_t registry, const struct php_layout *layout)
{
	unsigned char block[BLOCK_BYTES];
	uint64_t buckets, entry;
	uint32_t used;
	uint16_t size;
	unsigned char type;
	if (!why_read_u64(process, registry + layout->table_buckets, &buckets) ||
	    !why_read_u32(process, registry + layout->table_used, &used) || used == 0 || used > MODULE_COUNT_MAX ||
	    !why_read(process, buckets + layout->bucket_type, &type, sizeof(type)) || type != layout->type_pointer ||
	    !why_read_u64(process, buckets + layout->bucket_value, &entry) ||
	    layout->module_bytes > sizeof(block) || !why_read(process, entry, block, layout->module_bytes))
		return false;
	memcpy(&size, block + layout->module_size, sizeof(size));
	return size == layout->module_bytes && number_at(block, layout->module_api) == layout->api &&
	       block[layout->module_debug] == 0 && block[layout->module_threads] == 0;
}

static const struct php_layout *find_layout(const struct why_process *process, const struct why_map *module, uint64_t globals_bytes)
{
	uint64_t registry = why_symbol(process, module, "module_registry", NULL);
	for (size_t i = 0; registry && i < sizeof(php_offsets) / sizeof(php_offsets[0]); i++)
		if (php_offsets[i].globals_bytes == globals_bytes && is_layout(process, registry, &php_offsets[i]))
			return &php_offsets[i];
	return NULL;
}

static const char *php_open(const struct why_process *process, struct php *php)
{
	const struct why_map *module = php_module(process, "executor_globals");
	struct proc_status status;
	uint64_t size = 0, class;
	*php = (struct php){.process = process};
	if (!module)
		return php_module(process, "executor_globals_offset") ? "a PHP with threads is not known" : "PHP exports no executor_globals";
	php->globals = why_symbol(process, module, "executor_globals", &size);
	if (!(php->layout = find_layout(process, module, size)))
		return "this version or build of PHP is not known";
	class = why_symbol(process, module, "zend_ce_generator", NULL);
	if (!class || !why_read_u64(process, class, &php->generator_class))
		return "PHP's state cannot be read";
	/* The state is that of the one thread that runs PHP; a library may have others, and PHP's goes on meanwhile. */
	if (proc_read_status(process->tid, &status) < 0 || status.tgid != process->tid)
		return "this thread does not run PHP";
	return NULL;
}

static bool read_frame(const struct php *php, uint64_t address, struct php_frame *frame)
{
	const struct php_layout *layout = php->layout;
	unsigned char block[BLOCK_BYTES];
	if (layout->frame_bytes > sizeof(block) || !why_read(php->process, address, block, layout->frame_bytes))
		return false;
	*frame = (struct php_frame){
		.code = word_at(block, layout->frame_code),
		.function = word_at(block, layout->frame_function),
		.object = word_at(block, layout->frame_object),
		.object_type = block[layout->frame_object_type],
		.previous = word_at(block, layout->frame_previous),
	};
	return true;
}

/* *written is false for a function that is part of PHP or of an extension. */
static bool read_function(const struct php *php, uint64_t address, struct php_function *function, bool *written)
{
	const struct php_layout *layout = php->layout;
	unsigned char type, block[BLOCK_BYTES];
	size_t length = layout->function_file + sizeof(uint64_t);
	if (!why_read(php->process, address + layout->function_type, &type, sizeof(type)))
		return false;
	*written = type == layout->type_user || type == layout->type_eval;
	if (!*written)
		return type == layout->type_internal;
	if (length > sizeof(block) || !why_read(php->process, address, block, length))
		return false;
	*function = (struct php_function){
		.name = word_at(block, layout->function_name),
		.scope = word_at(block, layout->function_scope),
		.codes = word_at(block, layout->function_codes),
		.code_count = number_at(block, layout->function_code_count),
		.file = word_at(block, layout->function_file),
	};
	return true;
}

/* What does not fit is cut. */
static bool read_string(const struct php *php, uint64_t string, char *to, size_t capacity, size_t *used)
{
	uint64_t length;
	if (!string || !why_read_u64(php->process, string + php->layout->string_length, &length) || length > STRING_BYTES_MAX)
		return false;
	*used = length < capacity ? (size_t)length : capacity - 1;
	to[*used] = '\0';
	return why_read(php->process, string + php->layout->string_bytes, to, *used);
}

/* As a stack trace of PHP has it: Class::method, {closure}; nothing for the text of a file. The name of a class without one
 * goes on behind a NUL with the place where it was made. */
static bool read_name(const struct php *php, const struct php_function *function, char *name, size_t capacity)
{
	char method[BLOCK_BYTES];
	uint64_t class;
	size_t used;
	name[0] = '\0';
	if (!function->name)
		return true;
	if (function->scope && (!why_read_u64(php->process, function->scope + php->layout->class_name, &class) ||
				!read_string(php, class, name, capacity, &used)))
		return false;
	if (!read_string(php, function->name, method, sizeof(method), &used))
		return false;
	used = strlen(name);
	if (function->scope && text_copy(name + used, capacity - used, "::"))
		used += strlen("::");
	text_copy(name + used, capacity - used, method);
	return true;
}

/* False where the frame is at none of its function's codes. While an exception is on its way, a code that belongs to no
 * function stands for the one that threw. Only the last such place is kept: it is that of the innermost frame that threw,
 * and one further out, whose cleaning up led there, has no line. */
static bool find_line(struct php *php, const struct php_function *function, uint64_t code, uint32_t *line)
{
	const struct php_layout *layout = php->layout;
	bool thrown = code - (php->globals + layout->exception_codes) < layout->exception_codes_bytes;
	*line = 0;
	if (thrown && php->thrown)
		return true;
	php->thrown |= thrown;
	if (thrown && !why_read_u64(php->process, php->globals + layout->before_exception, &code))
		return false;
	uint64_t distance = code - function->codes;
	if (distance % layout->code_bytes != 0 || distance / layout->code_bytes >= function->code_count)
		return thrown;
	return why_read_u32(php->process, code + layout->code_line, line);
}

/* PEAR's folders, and that of Composer. */
static bool is_own(const char *file)
{
	static const char *const folders[] = {"/usr/share/php/", "/usr/share/pear/", "/usr/local/lib/php/"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strncmp(file, folders[i], strlen(folders[i])) == 0)
			return false;
	return strstr(file, "/vendor/") == NULL;
}

static const char *add_frame(struct php *php, const struct php_frame *frame, struct script_walk *walk)
{
	struct record_script_frame described = {.language = "php"};
	char file[sizeof(described.file.bytes) + 1];
	struct php_function function;
	size_t used;
	bool written;
	if (!read_function(php, frame->function, &function, &written))
		return "a function of PHP's cannot be read";
	if (!written)
		return NULL;
	if (!find_line(php, &function, frame->code, &described.line))
		return "a frame of PHP's is at no place of its function";
	if (!read_name(php, &function, described.function, sizeof(described.function)) ||
	    !read_string(php, function.file, file, sizeof(file), &used))
		return "a name of PHP's cannot be read";
	record_bytes_set(&described.file, file, used);
	described.own_code = is_own(file);
	return script_walk_keep(walk, &described) && frame->previous ? "there are more calls than are kept" : NULL;
}

/* Generators that wait in `yield from` for the one that runs: a frame without function stands for them and names the
 * outermost, each of which knows the one that it waits for. The last of that chain is the one that runs. */
static const char *add_waiting(struct php *php, const struct php_frame *frame, struct script_walk *walk)
{
	const struct php_layout *layout = php->layout;
	uint64_t class, generator = frame->object, inner, waiting[DELEGATION_MAX];
	size_t count = 0;
	if (frame->object_type != layout->type_object || !why_read_u64(php->process, generator + layout->object_class, &class) ||
	    class != php->generator_class)
		return NULL;
	for (;; generator = inner) {
		if (!why_read_u64(php->process, generator + layout->generator_parent, &inner))
			return "a generator of PHP's cannot be read";
		if (!inner)
			break;
		if (count == DELEGATION_MAX || !why_read_u64(php->process, generator + layout->generator_frame, &waiting[count++]))
			return "generators of PHP's wait for each other too deep";
	}
	while (count > 0) {
		struct php_frame one;
		if (!read_frame(php, waiting[--count], &one))
			return "a generator of PHP's cannot be read";
		one.previous = frame->previous;
		const char *why = add_frame(php, &one, walk);
		if (why)
			return why;
	}
	return NULL;
}

static const char *walk_frames(struct php *php, struct script_walk *walk)
{
	struct php_frame frame;
	uint64_t at;
	if (!why_read_u64(php->process, php->globals + php->layout->current_frame, &at))
		return "PHP's state cannot be read";
	if (!at)
		return "PHP executes no script";
	for (unsigned count = 0; at; count++) {
		if (count == FRAME_MAX)
			return "there are too many frames of PHP's";
		if (!read_frame(php, at, &frame))
			return "a frame of PHP's cannot be read";
		const char *why = frame.function ? add_frame(php, &frame, walk) : add_waiting(php, &frame, walk);
		if (why)
			return why;
		at = frame.previous;
	}
	return NULL;
}

static size_t script_php_frames(const struct why_process *process, struct record_script_frame *frames, size_t most, char *reason,
				size_t reason_bytes)
{
	struct script_walk walk = {.frames = frames, .most = most};
	struct php php;
	const char *why = php_open(process, &php);
	if (!why && most)
		why = walk_frames(&php, &walk);
	if (why && why_time_is_over(process))
		why = "reading PHP's call stack took too long";
	text_copy(reason, reason_bytes, why ? why : "");
	return walk.count;
}

const struct script_reader script_php = {"php", php_probe, script_php_frames, NULL};
