#include "why/node_layout.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BYTECODE_WIDTHS = 3, BYTECODE_COUNT_MAX = 256, OBJECT_BYTES_MAX = 1 << 16 };

/* node 18, 20 and 22. */
static const struct node_version versions[] = {
	{ 10, 2, 17720, 32, 16, 24, NODE_INSTRUCTIONS_INLINE },
	{ 11, 3, 384, 32, 16, 24, NODE_INSTRUCTIONS_STREAM },
	{ 12, 4, 272, 24, 8, 16, NODE_INSTRUCTIONS_ADDRESS },
};

/* A constant by its name behind "v8dbg_"; from 12 on another name where the type of a field is part of it. */
struct constant {
	size_t field;
	bool optional;
	const char *name, *later;
};

#define FIELD(name) offsetof(struct node_constants, name)

static const struct constant constants[] = {
	{ FIELD(tagged_bytes), false, "TaggedSize", NULL },
	{ FIELD(smi_shift), false, "SmiShiftSize", NULL },
	{ FIELD(map_type), false, "class_Map__instance_type__uint16_t", NULL },
	{ FIELD(map_prototype), false, "class_Map__prototype__HeapObject", "class_Map__prototype__Object" },
	{ FIELD(map_words), false, "class_Map__instance_size_in_words__char", NULL },
	{ FIELD(type_map), false, "type_Map__MAP_TYPE", NULL },
	{ FIELD(type_global), false, "type_JSGlobalProxy__JS_GLOBAL_PROXY_TYPE", NULL },
	{ FIELD(frame_function), false, "off_fp_function", NULL },
	{ FIELD(frame_bytecodes), false, "off_fp_bytecode_array", NULL },
	{ FIELD(frame_bytecode_offset), false, "off_fp_bytecode_offset", NULL },
	{ FIELD(frame_receiver), false, "off_fp_args", NULL },
	{ FIELD(kind_entry), false, "frametype_EntryFrame", NULL },
	{ FIELD(kind_construct_entry), false, "frametype_ConstructEntryFrame", NULL },
	{ FIELD(kind_exit), false, "frametype_ExitFrame", NULL },
	{ FIELD(kind_builtin_exit), false, "frametype_BuiltinExitFrame", NULL },
	{ FIELD(kind_callback_exit), true, "frametype_ApiCallbackExitFrame", NULL },
	{ FIELD(kind_accessor_exit), true, "frametype_ApiAccessorExitFrame", NULL },
	{ FIELD(type_function), false, "type_JSFunction__JS_FUNCTION_TYPE", NULL },
	{ FIELD(function_shared), false, "class_JSFunction__shared__SharedFunctionInfo", NULL },
	{ FIELD(function_prototype), false, "class_JSFunction__prototype_or_initial_map__HeapObject",
	  "class_JSFunction__prototype_or_initial_map__Tagged_HeapObject_" },
	{ FIELD(object_properties), false, "class_JSReceiver__raw_properties_or_hash__Object",
	  "class_JSReceiver__raw_properties_or_hash__Tagged_Object_" },
	{ FIELD(shared_name), false, "class_SharedFunctionInfo__name_or_scope_info__Object",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_" },
	{ FIELD(shared_script), false, "class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	  "class_SharedFunctionInfo__script__Tagged_HeapObject_" },
	{ FIELD(type_shared), false, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", NULL },
	{ FIELD(type_scope), false, "type_ScopeInfo__SCOPE_INFO_TYPE", NULL },
	{ FIELD(scope_local_count), false, "scopeinfo_idx_ncontextlocals", NULL },
	{ FIELD(scope_locals), false, "scopeinfo_idx_first_vars", NULL },
	{ FIELD(script_name), false, "class_Script__name__Object", NULL },
	{ FIELD(script_source), false, "class_Script__source__Object", NULL },
	{ FIELD(type_oddball), false, "type_Oddball__ODDBALL_TYPE", NULL },
	{ FIELD(type_script), false, "type_Script__SCRIPT_TYPE", NULL },
	{ FIELD(array_length), false, "class_FixedArrayBase__length__SMI", "class_BytecodeArray__length__SMI" },
	{ FIELD(bytecodes_data), false, "class_BytecodeArray__data__uintptr_t", NULL },
	{ FIELD(type_bytecodes), false, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", NULL },
	{ FIELD(type_code), false, "type_Code__CODE_TYPE", NULL },
	{ FIELD(code_start), true, "class_Code__instruction_start__uintptr_t", "class_Code__instruction_start__Address" },
	{ FIELD(instructions_start), true, "class_InstructionStream__instruction_start__uintptr_t", NULL },
	{ FIELD(type_instructions), true, "type_InstructionStream__INSTRUCTION_STREAM_TYPE", NULL },
	{ FIELD(string_first_other), false, "FirstNonstringType", NULL },
	{ FIELD(string_form_mask), false, "StringRepresentationMask", NULL },
	{ FIELD(string_sequential), false, "SeqStringTag", NULL },
	{ FIELD(string_cons), false, "ConsStringTag", NULL },
	{ FIELD(string_external), false, "ExternalStringTag", NULL },
	{ FIELD(string_sliced), false, "SlicedStringTag", NULL },
	{ FIELD(string_thin), false, "ThinStringTag", NULL },
	{ FIELD(string_width_mask), false, "StringEncodingMask", NULL },
	{ FIELD(string_one_byte), false, "OneByteStringTag", NULL },
	{ FIELD(string_length), false, "class_String__length__int32_t", NULL },
	{ FIELD(one_byte_data), false, "class_SeqOneByteString__chars__char", NULL },
	{ FIELD(two_byte_data), false, "class_SeqTwoByteString__chars__char", "class_SeqTwoByteString__chars__uint16_t" },
	{ FIELD(cons_first), false, "class_ConsString__first__String", NULL },
	{ FIELD(cons_second), false, "class_ConsString__second__String", NULL },
	{ FIELD(sliced_parent), false, "class_SlicedString__parent__String", NULL },
	{ FIELD(sliced_start), false, "class_SlicedString__offset__SMI", NULL },
	{ FIELD(thin_actual), false, "class_ThinString__actual__String", NULL },
	{ FIELD(external_resource), false, "class_ExternalString__resource__Object", NULL },
};

static const struct why_map *find_module(const struct why_process *process)
{
	const char *slash = strrchr(process->executable, '/');
	const char *prefixes[] = {"libnode", "node", slash ? slash + 1 : ""};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct why_map *module;
		size_t index = 0;
		while (prefixes[i][0] && (module = why_module(process, prefixes[i], &index)))
			if (why_symbol(process, module, "v8dbg_off_fp_function", NULL))
				return module;
	}
	return NULL;
}

bool node_layout_probe(const struct why_process *process)
{
	return find_module(process) != NULL;
}

static bool read_exported(const struct why_process *process, const struct why_map *module, const char *name, int32_t *value)
{
	char symbol[128];
	uint32_t word;
	snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
	uint64_t address = why_symbol(process, module, symbol, NULL);
	if (!address || !why_read_u32(process, address, &word))
		return false;
	*value = (int32_t)word;
	return true;
}

/* Everything is the target's own word: no offset may lead far away from what it is an offset in. */
static bool read_constants(const struct why_process *process, const struct why_map *module, struct node_constants *all)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		const struct constant *constant = &constants[i];
		int32_t value = -1;
		if (!read_exported(process, module, constant->name, &value) &&
		    !(constant->later && read_exported(process, module, constant->later, &value)) && !constant->optional)
			return false;
		if (value <= -OBJECT_BYTES_MAX || value >= OBJECT_BYTES_MAX)
			return false;
		memcpy((char *)all + constant->field, &value, sizeof(value));
	}
	return true;
}

static const struct node_version *find_version(const struct why_process *process, const struct why_map *module)
{
	uint64_t major_symbol = why_symbol(process, module, "_ZN2v88internal7Version6major_E", NULL);
	uint64_t minor_symbol = why_symbol(process, module, "_ZN2v88internal7Version6minor_E", NULL);
	uint32_t major, minor;
	if (!major_symbol || !minor_symbol || !why_read_u32(process, major_symbol, &major) ||
	    !why_read_u32(process, minor_symbol, &minor))
		return NULL;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].major == major && versions[i].minor == minor)
			return &versions[i];
	return NULL;
}

const char *node_layout_find(const struct why_process *process, struct node *node)
{
	uint64_t bytes = 0;
	const struct why_map *module = find_module(process);
	*node = (struct node){.process = process};
	if (!module)
		return "V8's constants for debuggers are not exported";
	node->version = find_version(process, module);
	if (!node->version)
		return "this version of V8 is not known";
	if (!read_constants(process, module, &node->constants))
		return "V8's constants for debuggers cannot be read";
	/* Compressed pointers and 31-bit integers are another layout, which node is not built with. */
	if (node->constants.tagged_bytes != sizeof(uint64_t) || node->constants.smi_shift != 31)
		return "this build of V8 is not known";
	node->bytecode_sizes = why_symbol(process, module, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", &bytes);
	if (bytes % BYTECODE_WIDTHS == 0 && bytes / BYTECODE_WIDTHS <= BYTECODE_COUNT_MAX)
		node->bytecode_count = (uint32_t)bytes / BYTECODE_WIDTHS;
	return NULL;
}

/* The page at `address`, as it was when it was first asked for; NULL where it cannot be read as a whole. */
static const unsigned char *read_page(const struct node *node, uint64_t address)
{
	struct node_memory *memory = node->memory;
	size_t slot = (size_t)(address / NODE_PAGE_BYTES % NODE_PAGES);
	if (address == 0 || memory->pages[slot] == address)
		return address ? memory->bytes[slot] : NULL;
	memory->pages[slot] = why_read(node->process, address, memory->bytes[slot], NODE_PAGE_BYTES) ? address : 0;
	return memory->pages[slot] ? memory->bytes[slot] : NULL;
}

bool node_read(const struct node *node, uint64_t address, void *to, size_t length)
{
	size_t within = (size_t)(address % NODE_PAGE_BYTES);
	const unsigned char *page = length <= NODE_PAGE_BYTES - within ? read_page(node, address - within) : NULL;
	if (page) {
		memcpy(to, page + within, length);
		return true;
	}
	bool read = why_read(node->process, address, to, length);
	node->memory->failed |= !read;
	return read;
}

bool node_read_fields(const struct node *node, uint64_t object, int32_t offset, uint64_t *values, size_t count)
{
	return (object & 3) == 1 && offset >= 0 && node_read(node, object - 1 + (uint64_t)offset, values, count * sizeof(*values));
}

bool node_read_field(const struct node *node, uint64_t object, int32_t offset, uint64_t *value)
{
	return node_read_fields(node, object, offset, value, 1);
}

bool node_is_integer(uint64_t value, int32_t *integer)
{
	*integer = (int32_t)(value >> 32);
	return (uint32_t)value == 0;
}

bool node_read_integer(const struct node *node, uint64_t object, int32_t offset, int32_t *value)
{
	uint64_t word;
	return node_read_field(node, object, offset, &word) && node_is_integer(word, value);
}

int32_t node_type(const struct node *node, uint64_t object)
{
	uint64_t map;
	uint16_t type;
	if (!node_read_field(node, object, 0, &map) || (map & 3) != 1 ||
	    !node_read(node, map - 1 + (uint64_t)node->constants.map_type, &type, sizeof(type)))
		return -1;
	return type;
}
