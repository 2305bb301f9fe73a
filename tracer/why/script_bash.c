/* Frames of bash 5: the line it executes is the global `line_number`; the calls around it are the arrays FUNCNAME,
 * BASH_SOURCE and BASH_LINENO, innermost first, as caller(1) of bash has them. Structures: variables.h, hashlib.h, array.h. */
#include "why/script.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	ELEMENT_MAX = 4096,
	BUCKET_MAX = 1 << 16,
	CHAIN_MAX = 256,
	LINE_MAX_KNOWN = 1 << 30,
	ATTRIBUTE_ARRAY = 0x4,
};

/* VAR_CONTEXT, HASH_TABLE, BUCKET_CONTENTS, SHELL_VAR and ARRAY_ELEMENT have been these since 4.0. */
enum { CONTEXT_TABLE = 32, TABLE_BUCKETS = 0, TABLE_BUCKET_COUNT = 8 };
struct bash_entry { uint64_t next, key, variable; };
struct bash_variable { uint64_t name, value, exported, dynamic, assign; uint32_t attributes, context; };
struct bash_element { int64_t index; uint64_t value, next, previous; };

/* A call stack in one of the arrays: a walk from the innermost element outwards. */
struct bash_stack {
	int64_t count, index;
	uint64_t head, element;
};

struct bash {
	const struct why_process *process;
	uint32_t minor;
	uint64_t variables;  /* the HASH_TABLE of global variables */
	bool from_string;    /* -c */
	uint32_t line;
};

static const struct why_map *bash_module(const struct why_process *process, uint64_t *line_number)
{
	const struct why_map *module;
	const char *const prefixes[] = {"bash", "rbash", "sh"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t index = 0;
		while ((module = why_module(process, prefixes[i], &index)))
			if ((*line_number = why_symbol(process, module, "line_number", NULL)) &&
			    why_symbol(process, module, "global_variables", NULL))
				return module;
	}
	return NULL;
}

static bool bash_probe(const struct why_process *process)
{
	uint64_t line_number;
	return bash_module(process, &line_number) != NULL;
}

/* The pointer that a pointer variable of bash's holds. */
static bool read_global(const struct why_process *process, const struct why_map *module, const char *name, uint64_t *value)
{
	uint64_t symbol = why_symbol(process, module, name, NULL);
	return symbol && why_read_u64(process, symbol, value);
}

static const char *bash_open(const struct why_process *process, struct bash *bash)
{
	uint64_t line_number, version, context, command;
	char number[16];
	const struct why_map *module = bash_module(process, &line_number);
	bash->process = process;
	if (!module)
		return "bash exports no line_number";
	if (!read_global(process, module, "dist_version", &version) || !why_read_string(process, version, number, sizeof(number)) ||
	    strncmp(number, "5.", 2) != 0)
		return "this version of bash is not known";
	bash->minor = (uint32_t)strtoul(number + 2, NULL, 10);
	if (!read_global(process, module, "global_variables", &context) ||
	    !why_read_u64(process, context + CONTEXT_TABLE, &bash->variables) ||
	    !read_global(process, module, "command_execution_string", &command) ||
	    !why_read_u32(process, line_number, &bash->line))
		return "bash's variables cannot be read";
	bash->from_string = command != 0;
	if (bash->line == 0 || bash->line > LINE_MAX_KNOWN)
		return "bash executes no line of a script";
	return NULL;
}

/* hashlib.c, FNV-1 since 4.4. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = hash * 16777619u ^ (unsigned char)*name;
	return hash;
}

static bool find_variable(const struct bash *bash, const char *name, struct bash_variable *variable)
{
	uint64_t buckets, at;
	uint32_t count;
	if (!why_read_u64(bash->process, bash->variables + TABLE_BUCKETS, &buckets) ||
	    !why_read_u32(bash->process, bash->variables + TABLE_BUCKET_COUNT, &count) || count == 0 || count > BUCKET_MAX ||
	    !why_read_u64(bash->process, buckets + (hash_of(name) & (count - 1)) * sizeof(at), &at))
		return false;
	for (unsigned i = 0; at && i < CHAIN_MAX; i++) {
		struct bash_entry entry;
		char key[32];
		if (!why_read(bash->process, at, &entry, sizeof(entry)))
			return false;
		if (why_read_string(bash->process, entry.key, key, sizeof(key)) && strcmp(key, name) == 0)
			return why_read(bash->process, entry.variable, variable, sizeof(*variable));
		at = entry.next;
	}
	return false;
}

/* ARRAY began with an enum until 5.1. Its first element is no element: it has the index -1 and closes the ring. */
static bool open_stack(const struct bash *bash, const char *name, struct bash_stack *stack)
{
	struct bash_variable variable;
	struct bash_element head;
	uint64_t words[4];
	if (!find_variable(bash, name, &variable) || !(variable.attributes & ATTRIBUTE_ARRAY) ||
	    !why_read(bash->process, variable.value, words, sizeof(words)))
		return false;
	const uint64_t *from_index = words + (bash->minor < 2 ? 1 : 0);
	*stack = (struct bash_stack){.count = (int64_t)from_index[1], .head = from_index[2]};
	if (stack->count < 0 || stack->count > ELEMENT_MAX || !why_read(bash->process, stack->head, &head, sizeof(head)) ||
	    head.index != -1)
		return false;
	stack->element = head.next;
	return true;
}

/* The next element's text, outwards. */
static bool next_value(const struct bash *bash, struct bash_stack *stack, char *to, size_t capacity)
{
	struct bash_element element;
	if (stack->element == stack->head || !why_read(bash->process, stack->element, &element, sizeof(element)) ||
	    element.index != stack->index || !why_read_string(bash->process, element.value, to, capacity))
		return false;
	stack->element = element.next;
	stack->index++;
	return true;
}

static void set_frame(struct record_script_frame *frame, const char *function, const char *file, uint32_t line)
{
	*frame = (struct record_script_frame){.language = "bash", .line = line, .own_code = true};
	text_copy(frame->function, sizeof(frame->function), function);
	record_bytes_set(&frame->file, file, strlen(file));
}

static const char *bash_walk(const struct bash *bash, struct record_script_frame *frames, size_t most, size_t *filled)
{
	const char *outside = bash->from_string ? "-c" : "standard input";
	struct bash_stack names, files, lines;
	uint32_t line = bash->line;
	if (!open_stack(bash, "FUNCNAME", &names) || !open_stack(bash, "BASH_SOURCE", &files) || !open_stack(bash, "BASH_LINENO", &lines))
		return "bash's call stack cannot be read: FUNCNAME, BASH_SOURCE or BASH_LINENO is no longer bash's own";
	if (names.count != files.count || names.count != lines.count)
		return "bash's call stack does not hold together";
	for (int64_t depth = 0; depth < names.count; depth++) {
		char function[sizeof(frames->function)], file[sizeof(frames->file.bytes)], number[24];
		if (*filled == most)
			return "there are more calls than are kept";
		if (!next_value(bash, &names, function, sizeof(function)) || !next_value(bash, &files, file, sizeof(file)) ||
		    !next_value(bash, &lines, number, sizeof(number)))
			return "bash's call stack cannot be read";
		/* The outermost one is no call but the script itself; that a file is sourced is no function either. */
		bool script = depth == names.count - 1 && strcmp(function, "main") == 0 && strcmp(number, "0") == 0;
		set_frame(&frames[(*filled)++], script || strcmp(function, "source") == 0 ? "" : function, file, line);
		if (script)
			return NULL;
		unsigned long called = strtoul(number, NULL, 10);
		line = called <= LINE_MAX_KNOWN ? (uint32_t)called : 0;
	}
	if (*filled < most)
		set_frame(&frames[(*filled)++], "", outside, line);
	return NULL;
}

static size_t script_bash_frames(const struct why_process *process, struct record_script_frame *frames, size_t most, char *reason,
				 size_t reason_bytes)
{
	struct bash bash;
	size_t filled = 0;
	const char *why = bash_open(process, &bash);
	if (!why)
		why = bash_walk(&bash, frames, most, &filled);
	if (why && why_time_is_over(process))
		why = "reading bash's call stack took too long";
	text_copy(reason, reason_bytes, why ? why : "");
	return filled;
}

const struct script_reader script_bash = {"bash", bash_probe, script_bash_frames, NULL};
