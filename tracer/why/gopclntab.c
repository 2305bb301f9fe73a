#include "why/gopclntab.h"

#include "base/text.h"
#include "why/libraries.h"

#include <string.h>

enum { MAGIC_1_16 = 0xfa, MAGIC_1_18 = 0xf0, MAGIC_1_20 = 0xf1, SECTION_MAX = 4096, STEP_MAX = 1 << 20 };

/* All offsets are from the table's start and checked when used; the file may be the target's own making. */
struct table {
	const unsigned char *bytes;
	size_t length;
	bool is_1_16;          /* pointers where later versions have offsets */
	unsigned quantum;
	uint64_t text_start;
	uint64_t function_count, names, units, files, values, functions;
};

struct function {
	uint64_t entry;
	uint64_t name, file_values, line_values, unit; /* offsets */
};

static bool read_bytes(const struct table *table, uint64_t at, void *to, size_t length)
{
	if (at > table->length || length > table->length - at)
		return false;
	memcpy(to, table->bytes + at, length);
	return true;
}

static bool read_u32(const struct table *table, uint64_t at, uint64_t *value)
{
	uint32_t word;
	if (!read_bytes(table, at, &word, sizeof(word)))
		return false;
	*value = word;
	return true;
}

static bool read_u64(const struct table *table, uint64_t at, uint64_t *value)
{
	return read_bytes(table, at, value, sizeof(*value));
}

static const char *string_at(const struct table *table, uint64_t at)
{
	return at < table->length && memchr(table->bytes + at, '\0', table->length - at) ? (const char *)table->bytes + at : NULL;
}

static bool read_header(struct table *table)
{
	unsigned char head[8];
	if (!read_bytes(table, 0, head, sizeof(head)) || head[1] != 0xff || head[2] != 0xff || head[3] != 0xff || head[7] != sizeof(uint64_t))
		return false;
	if (head[0] != MAGIC_1_16 && head[0] != MAGIC_1_18 && head[0] != MAGIC_1_20)
		return false;
	table->is_1_16 = head[0] == MAGIC_1_16;
	table->quantum = head[6];
	uint64_t rest = table->is_1_16 ? 24 : 32; /* behind the counts, and from 1.18 on textStart */
	return read_u64(table, 8, &table->function_count) && (table->is_1_16 || read_u64(table, 24, &table->text_start)) &&
	       read_u64(table, rest, &table->names) && read_u64(table, rest + 8, &table->units) && read_u64(table, rest + 16, &table->files) &&
	       read_u64(table, rest + 24, &table->values) && read_u64(table, rest + 32, &table->functions) &&
	       table->function_count < table->length && table->names < table->length && table->units < table->length &&
	       table->files < table->length && table->values < table->length && table->functions < table->length;
}

/* In a program that may lie anywhere the start of the text is filled in by the loader: then the section tells. */
static bool open_table(const struct image_module *module, struct table *table)
{
	size_t names;
	uint64_t text_section = 0;
	Elf_Scn *section = NULL;
	bool found = false;
	*table = (struct table){ 0 };
	if (libraries.elf_getshdrstrndx(module->elf, &names) != 0)
		return false;
	for (unsigned i = 0; i < SECTION_MAX && (section = libraries.elf_nextscn(module->elf, section)); i++) {
		GElf_Shdr header;
		const char *name = libraries.gelf_getshdr(section, &header) ? libraries.elf_strptr(module->elf, names, header.sh_name) : NULL;
		if (name && strcmp(name, ".text") == 0)
			text_section = header.sh_addr;
		if (!name || (strcmp(name, ".gopclntab") != 0 && strcmp(name, ".data.rel.ro.gopclntab") != 0))
			continue;
		const Elf_Data *data = libraries.elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			return false;
		table->bytes = data->d_buf;
		table->length = data->d_size;
		found = true;
	}
	if (!found || !read_header(table))
		return false;
	if (table->text_start == 0)
		table->text_start = text_section;
	return true;
}

static bool read_row(const struct table *table, uint64_t row, uint64_t *entry, uint64_t *function)
{
	if (table->is_1_16)
		return read_u64(table, table->functions + row * 16, entry) && read_u64(table, table->functions + row * 16 + 8, function);
	if (!read_u32(table, table->functions + row * 8, entry) || !read_u32(table, table->functions + row * 8 + 4, function))
		return false;
	*entry += table->text_start;
	return true;
}

static bool find_function(const struct table *table, uint64_t place, struct function *function)
{
	uint64_t low = 0, high = table->function_count, entry, offset, end;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!read_row(table, middle, &entry, &offset))
			return false;
		if (entry <= place)
			low = middle + 1;
		else
			high = middle;
	}
	/* The row behind the last function holds where the text ends. */
	if (low == 0 || !read_row(table, low, &end, &offset) || place >= end || !read_row(table, low - 1, &entry, &offset))
		return false;
	uint64_t at = table->functions + offset + (table->is_1_16 ? 8 : 4);
	function->entry = entry;
	return read_u32(table, at, &function->name) && read_u32(table, at + 16, &function->file_values) &&
	       read_u32(table, at + 20, &function->line_values) && read_u32(table, at + 28, &function->unit);
}

static bool read_varint(const struct table *table, uint64_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		unsigned char byte;
		if (!read_bytes(table, (*at)++, &byte, 1))
			return false;
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Pairs of steps, of a value (zigzag, from -1) and of the address up to which it holds; a value step of 0 ends them. */
static bool value_at(const struct table *table, const struct function *function, uint64_t offset, uint64_t place, int64_t *value)
{
	uint64_t at = table->values + offset, address = function->entry;
	*value = -1;
	for (unsigned i = 0; i < STEP_MAX; i++) {
		uint32_t step, length;
		if (!read_varint(table, &at, &step) || (step == 0 && i > 0) || !read_varint(table, &at, &length))
			return false;
		*value += (step & 1) ? -(int64_t)(step >> 1) - 1 : (int64_t)(step >> 1);
		address += (uint64_t)length * table->quantum;
		if (place < address)
			return true;
	}
	return false;
}

void gopclntab_function(struct image_module *module, uint64_t place, struct record_stack_frame *frame)
{
	struct table table;
	struct function function;
	if (!open_table(module, &table) || !find_function(&table, place, &function))
		return;
	const char *name = string_at(&table, table.names + function.name);
	if (!name || !*name)
		return;
	text_copy(frame->function, sizeof(frame->function), name);
	frame->offset = frame->address - module->bias - function.entry;
}

void gopclntab_line(struct image_module *module, uint64_t place, struct record_stack_frame *frame)
{
	struct table table;
	struct function function;
	int64_t line, file;
	uint64_t name;
	if (!open_table(module, &table) || !find_function(&table, place, &function) ||
	    !value_at(&table, &function, function.line_values, place, &line) || line <= 0 || line > UINT32_MAX ||
	    !value_at(&table, &function, function.file_values, place, &file) || file < 0)
		return;
	if (!read_u32(&table, table.units + (function.unit + (uint64_t)file) * sizeof(uint32_t), &name) || name == UINT32_MAX)
		return;
	const char *path = string_at(&table, table.files + name);
	if (!path || !*path)
		return;
	text_copy(frame->file, sizeof(frame->file), path);
	frame->line = (uint32_t)line;
}
