#include "why/node_code.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "why/maps.h"
#include "why/node_positions.h"
#include "why/node_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TABLE_BYTES_MAX = 4 << 20,
	HEAP_PAGE_BYTES = 256 << 10,
	NO_VALUE = 2,             /* neither an integer nor an object */
	LOCALS_INLINE_MAX = 75,   /* more locals are kept in a table of their own */
	LOCALS_MAX = 1 << 20,
	PROPERTY_MAX = 64,        /* of a prototype: its constructor is the first that a class makes */
	OBJECT_HEADER_WORDS = 3,
	FUNCTION_TYPES = 16,      /* behind the first of them */
	CODE_OFFSET_MAX = 1 << 28,
	NAME_BYTES = sizeof(((struct record_script_frame *)0)->function),
};

/* What a ScopeInfo says of its function. */
struct node_scope {
	char name[NAME_BYTES];
	int32_t start;  /* the first character of its parameters; -1 unknown */
	bool top_level; /* code of a file, not of a function in it */
};

/* ---- names -------------------------------------------------------------------------------------------------------- */

/* Five values: the name, where the function keeps itself, a name by what it was assigned to (not always there), start, end. */
static bool parse_names(const struct node *node, const uint64_t *values, struct node_scope *scope)
{
	int32_t none, slot, start, end;
	bool nameless = node_is_integer(values[0], &none) && none == 0;
	if ((!nameless && !node_is_text(node, values[0])) || !node_is_integer(values[1], &slot))
		return false;
	bool assigned = !node_is_integer(values[2], &start);
	const uint64_t *span = values + (assigned ? 3 : 2);
	if (!node_is_integer(span[0], &start) || !node_is_integer(span[1], &end) || start < 0 || start > end ||
	    (!nameless && !node_text_read(node, values[0], scope->name, sizeof(scope->name))))
		return false;
	if (!scope->name[0] && assigned && node_is_text(node, values[2]) &&
	    !node_text_read(node, values[2], scope->name, sizeof(scope->name)))
		return false;
	scope->start = start;
	return true;
}

/* Flags and counts, what is local in the contexts that functions share, then the names. A module has one more count. */
static bool read_scope(const struct node *node, uint64_t object, struct node_scope *scope)
{
	enum { KIND_MASK = 15, KIND_FUNCTION = 2, OPTIONAL_MAX = 2 };
	const struct node_constants *constants = &node->constants;
	int32_t flags, locals;
	uint64_t values[OPTIONAL_MAX + 5] = {[0 ... OPTIONAL_MAX + 4] = NO_VALUE};
	if (node_type(node, object) != constants->type_scope || !node_read_integer(node, object, 8, &flags) ||
	    !node_read_integer(node, object, 8 * (1 + constants->scope_local_count), &locals) || locals < 0 || locals > LOCALS_MAX)
		return false;
	int32_t names = 1 + constants->scope_locals + (locals < LOCALS_INLINE_MAX ? 2 * locals : 1 + locals);
	/* No object goes on behind the end of its heap page, where nothing may be mapped. */
	uint64_t left = HEAP_PAGE_BYTES - (object - 1 + 8 * (uint64_t)names) % HEAP_PAGE_BYTES, wanted = sizeof(values);
	if (!node_read_fields(node, object, 8 * names, values, (left < wanted ? left : wanted) / sizeof(values[0])))
		return false;
	for (int32_t skipped = 0; skipped <= OPTIONAL_MAX; skipped++)
		if (parse_names(node, values + skipped, scope)) {
			/* The function that a CommonJS file is wrapped in begins where the file does. */
			scope->top_level = (flags & KIND_MASK) != KIND_FUNCTION || (!scope->name[0] && scope->start == 0);
			return true;
		}
	return false;
}

/* Classes, and functions of V8's own that make arrays and the like, have types of their own. */
static bool is_function(const struct node *node, uint64_t object)
{
	int32_t type = node_type(node, object);
	return type >= node->constants.type_function && type <= node->constants.type_function + FUNCTION_TYPES;
}

static bool read_shared(const struct node *node, uint64_t function, uint64_t *shared)
{
	return is_function(node, function) && node_read_field(node, function, node->constants.function_shared, shared) &&
	       node_type(node, *shared) == node->constants.type_shared;
}

static bool describe_scope(const struct node *node, uint64_t shared, struct node_scope *scope)
{
	uint64_t name;
	*scope = (struct node_scope){.start = -1};
	if (!node_read_field(node, shared, node->constants.shared_name, &name))
		return false;
	return node_is_text(node, name) ? node_text_read(node, name, scope->name, sizeof(scope->name)) : read_scope(node, name, scope);
}

/* Is this the function whose `prototype` that is? Until it has made an object, it points to it itself. */
static bool is_constructor(const struct node *node, uint64_t function, uint64_t prototype, uint64_t *shared)
{
	uint64_t made;
	if (!read_shared(node, function, shared) || !node_read_field(node, function, node->constants.function_prototype, &made))
		return false;
	if (made == prototype)
		return true;
	return node_type(node, made) == node->constants.type_map &&
	       node_read_field(node, made, node->constants.map_prototype, &made) && made == prototype;
}

static bool search_constructor(const struct node *node, uint64_t object, size_t first, size_t end, uint64_t prototype, uint64_t *shared)
{
	uint64_t words[PROPERTY_MAX];
	size_t count = end < PROPERTY_MAX ? end : PROPERTY_MAX;
	if (first >= count || !node_read_fields(node, object, 0, words, count))
		return false;
	for (size_t i = first; i < count; i++)
		if (is_constructor(node, words[i], prototype, shared))
			return true;
	return false;
}

/* The class of an object: its prototype has a property that leads back to it, in the object or in the list beside it. */
static bool class_of(const struct node *node, uint64_t object, uint64_t *shared)
{
	const struct node_constants *constants = &node->constants;
	uint64_t map, prototype, properties;
	uint8_t words;
	int32_t listed;
	if (node_type(node, object) == constants->type_global || !node_read_field(node, object, 0, &map) ||
	    !node_read_field(node, map, constants->map_prototype, &prototype) || !node_read_field(node, prototype, 0, &map) ||
	    !node_read(node, map - 1 + (uint64_t)constants->map_words, &words, 1))
		return false;
	if (search_constructor(node, prototype, OBJECT_HEADER_WORDS, words, prototype, shared))
		return true;
	return node_read_field(node, prototype, constants->object_properties, &properties) &&
	       node_read_integer(node, properties, constants->array_length, &listed) && listed > 0 &&
	       search_constructor(node, properties, 2, 2 + ((size_t)listed & 0x3ff), prototype, shared);
}

/* Class.method, by the object that it was called on, or by the class itself for a static one. */
static void add_class(const struct node *node, const struct node_frame *frame, char name[static NAME_BYTES])
{
	struct node_scope scope;
	uint64_t shared;
	char whole[2 * NAME_BYTES];
	int32_t integer;
	if (!name[0] || strchr(name, '.') || node_is_integer(frame->receiver, &integer) || node_is_text(node, frame->receiver))
		return;
	if (!read_shared(node, frame->receiver, &shared) && !class_of(node, frame->receiver, &shared))
		return;
	if (!describe_scope(node, shared, &scope) || !scope.name[0] || strcmp(scope.name, "Object") == 0 ||
	    strcmp(scope.name, name) == 0)
		return;
	snprintf(whole, sizeof(whole), "%s.%s", scope.name, name);
	text_copy(name, NAME_BYTES, whole);
}

/* ---- positions ---------------------------------------------------------------------------------------------------- */

/* A ByteArray or BytecodeArray: both begin with their length. Owned by the caller. */
static uint8_t *read_bytes(const struct node *node, uint64_t object, int32_t data, size_t *length)
{
	int32_t bytes;
	if (!node_read_integer(node, object, node->constants.array_length, &bytes) || bytes < 0 || bytes > TABLE_BYTES_MAX)
		return NULL;
	uint8_t *copy = memory_zeroed((size_t)bytes + 1, 1);
	if (!node_read(node, object - 1 + (uint64_t)data, copy, (size_t)bytes)) {
		free(copy);
		return NULL;
	}
	*length = (size_t)bytes;
	return copy;
}

static uint8_t *read_table(const struct node *node, uint64_t object, size_t *length)
{
	return read_bytes(node, object, node->constants.array_length + (int32_t)sizeof(uint64_t), length);
}

/* Code that V8 was built with lies in a file: the interpreter too. */
static bool runs_interpreter(const struct node *node, const struct node_frame *frame)
{
	const struct why_map *map = maps_find(node->process->maps, node->process->map_count, frame->pc);
	return map && map->executable && map->path[0] == '/';
}

static bool interpreted_offset(const struct node *node, const struct node_frame *frame, int64_t *offset)
{
	int32_t raw, length;
	if (node_type(node, frame->bytecodes) != node->constants.type_bytecodes || !node_is_integer(frame->bytecode_offset, &raw) ||
	    !node_read_integer(node, frame->bytecodes, node->constants.array_length, &length))
		return false;
	*offset = (int64_t)raw - (node->constants.bytecodes_data - 1);
	return *offset >= 0 && *offset < length;
}

/* Where the instructions of a Code object begin. */
static bool find_instructions(const struct node *node, uint64_t code, const uint64_t *fields, uint64_t *start)
{
	const struct node_constants *constants = &node->constants;
	const struct node_version *version = node->version;
	if (version->instructions == NODE_INSTRUCTIONS_STREAM) {
		uint64_t stream = fields[version->code_table / sizeof(uint64_t) + 1];
		*start = stream - 1 + (uint64_t)constants->instructions_start;
		return constants->instructions_start > 0 && node_type(node, stream) == constants->type_instructions;
	}
	node->memory->failed |= constants->code_start <= 0;
	*start = code - 1 + (uint64_t)constants->code_start;
	return version->instructions == NODE_INSTRUCTIONS_INLINE || node_read(node, *start, start, sizeof(*start));
}

static int64_t bytecode_at(const struct node *node, uint64_t table_object, uint64_t bytecodes_object, uint32_t pc)
{
	struct node_bytecodes bytecodes = {.count = node->bytecode_count};
	size_t length;
	auto_free uint8_t *table = read_table(node, table_object, &length);
	auto_free uint8_t *code = read_bytes(node, bytecodes_object, node->constants.bytecodes_data, &bytecodes.length);
	auto_free uint8_t *sizes = memory_zeroed(3, node->bytecode_count + 1);
	node->memory->failed |= !bytecodes.count;
	if (!table || !code || !bytecodes.count || !node_read(node, node->bytecode_sizes, sizes, 3 * bytecodes.count))
		return -1;
	bytecodes.code = code;
	bytecodes.sizes = sizes;
	return node_bytecode_at(table, length, &bytecodes, pc);
}

/* Code that was compiled one bytecode after the other stands in the first field of the function's shared information. */
static bool baseline_offset(const struct node *node, const struct node_frame *frame, uint64_t shared, int64_t *offset)
{
	uint64_t code, fields[6], start;
	const struct node_version *version = node->version;
	if (!node_read_field(node, shared, sizeof(uint64_t), &code) || node_type(node, code) != node->constants.type_code ||
	    !node_read_fields(node, code, 0, fields, sizeof(fields) / sizeof(fields[0])) ||
	    fields[version->code_bytecodes / sizeof(uint64_t)] != frame->bytecodes || !find_instructions(node, code, fields, &start) ||
	    frame->pc <= start || frame->pc - start > CODE_OFFSET_MAX)
		return false;
	*offset = bytecode_at(node, fields[version->code_table / sizeof(uint64_t)], frame->bytecodes, (uint32_t)(frame->pc - start));
	return *offset >= 0;
}

/* -1 where the frame runs optimized code, or something could not be read. */
static int64_t find_position(const struct node *node, const struct node_frame *frame, uint64_t shared)
{
	int64_t offset;
	uint64_t table_object;
	size_t length;
	/* In optimized code anything may stand where bytecodes would be: it is compared, and not followed. */
	bool interpreted = runs_interpreter(node, frame);
	if (interpreted ? !interpreted_offset(node, frame, &offset) : !baseline_offset(node, frame, shared, &offset)) {
		node->memory->failed |= interpreted;
		return -1;
	}
	if (!node_read_field(node, frame->bytecodes, (int32_t)node->version->bytecodes_positions, &table_object))
		return -1;
	auto_free uint8_t *table = read_table(node, table_object, &length);
	int64_t position = table ? node_position(table, length, (uint32_t)offset) : -1;
	node->memory->failed |= position < 0; /* V8 may be told to make such tables only when it needs them */
	return position;
}

/* A script that is a part of a larger text says on which line of it: the number stands behind its name. */
static uint32_t line_of(const struct node *node, uint64_t script, int64_t position)
{
	uint64_t source;
	int32_t first;
	if (!node_read_field(node, script, node->constants.script_source, &source) ||
	    !node_read_integer(node, script, node->constants.script_name + (int32_t)sizeof(uint64_t), &first))
		return 0;
	int64_t line = node_text_line(node, source, position);
	return line > 0 && line + first > 0 && line + first <= INT32_MAX ? (uint32_t)(line + first) : 0;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static int digit_of(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit = character ? strchr(digits, character | 0x20) : NULL;
	return digit ? (int)(digit - digits) : -1;
}

void node_code_file_of_url(char *name)
{
	char *to = name;
	if (strncmp(name, "file:///", 8) != 0)
		return;
	for (const char *from = name + 7; *from; from++) {
		int high = *from == '%' ? digit_of(from[1]) : -1, low = high >= 0 ? digit_of(from[2]) : -1;
		bool escaped = low >= 0 && (high || low);
		*to++ = *from;
		if (!escaped)
			continue;
		to[-1] = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
}

bool node_code_is_own(const char *file)
{
	return strncmp(file, "node:", 5) != 0 && strcmp(file, "[eval]-wrapper") != 0 && !strstr(file, "/node_modules/");
}

/* A text that was evaluated has no name, and is called as Error().stack has it. */
static bool read_file(const struct node *node, uint64_t script, struct record_script_frame *described)
{
	char file[sizeof(described->file.bytes)];
	uint64_t name;
	if (!node_read_field(node, script, node->constants.script_name, &name))
		return false;
	if (!node_is_text(node, name))
		text_copy(file, sizeof(file), "<anonymous>");
	else if (!node_text_read(node, name, file, sizeof(file)))
		return false;
	node_code_file_of_url(file);
	record_bytes_set(&described->file, file, strlen(file));
	described->own_code = node_code_is_own(file);
	return true;
}

const char *node_code_describe(const struct node *node, const struct node_frame *frame, struct record_script_frame *described,
			       enum node_line *line, bool *hidden)
{
	struct node_scope scope;
	uint64_t shared, script;
	node->memory->failed = false;
	if (!read_shared(node, frame->function, &shared) ||
	    !node_read_field(node, shared, node->constants.shared_script, &script))
		return "a frame of JavaScript has no function";
	int32_t type = node_type(node, script);
	*hidden = type == node->constants.type_oddball; /* undefined */
	if (*hidden)
		return NULL;
	if (type != node->constants.type_script)
		return "a function of JavaScript is being debugged, or cannot be read";
	if (!read_file(node, script, described) || !describe_scope(node, shared, &scope))
		return "the name of a function of JavaScript cannot be read";
	add_class(node, frame, scope.name);
	if (node->memory->failed)
		return "a function of JavaScript cannot be read";
	text_copy(described->function, sizeof(described->function), scope.name[0] || scope.top_level ? scope.name : "<anonymous>");
	int64_t position = find_position(node, frame, shared);
	bool optimized = position < 0 && !node->memory->failed;
	*line = optimized ? NODE_LINE_OF_FUNCTION : NODE_LINE_EXACT;
	described->line = line_of(node, script, optimized ? scope.start : position);
	return NULL;
}
