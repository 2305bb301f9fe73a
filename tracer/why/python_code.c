#include "why/python_code.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "why/python_lines.h"

#include <string.h>

enum {
	TABLE_BYTES_MAX = 1 << 20,  /* a line table of 1 MiB belongs to some 100,000 lines in one function */
	CODE_BYTES_MAX = 1 << 24,
	TEXT_CHUNK = 512,
};

bool python_code_has_type(const struct python *python, uint64_t object, uint64_t type)
{
	uint64_t found;
	return why_read_u64(python->process, object + python->layout.object_type, &found) && found == type;
}

/* A str of the kind that CPython makes for names: compact, 1, 2 or 4 bytes a character. */
struct python_text {
	uint64_t data, length;
	unsigned width;
};

static bool text_open(const struct python *python, uint64_t object, struct python_text *text)
{
	const struct python_layout *layout = &python->layout;
	uint32_t state;
	if (!python_code_has_type(python, object, python->text_type) ||
	    !why_read_u64(python->process, object + layout->text_length, &text->length) ||
	    !why_read_u32(python->process, object + layout->text_state, &state))
		return false;
	bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	text->width = state >> 2 & 7;
	/* Behind PyASCIIObject a text that is not ASCII keeps its UTF-8 form (pointer, length), to 3.11 also wstr_length. */
	text->data = object + layout->text_ascii + (ascii ? 0 : layout->minor >= 12 ? 16 : 24);
	return compact && (text->width == 1 || text->width == 2 || text->width == 4) && !(ascii && text->width != 1) &&
	       text->length <= INT32_MAX;
}

static uint32_t text_character(const unsigned char *data, unsigned width)
{
	uint32_t character = 0;
	memcpy(&character, data, width);
	return character;
}

/* UTF-8; what `surrogateescape` made of a byte that was none becomes that byte again. */
static size_t text_encode(uint32_t character, char *to)
{
	if (character >= 0xdc80 && character <= 0xdcff) {
		to[0] = (char)(character & 0xff);
		return 1;
	}
	if ((character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff)
		character = 0xfffd;
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	static const unsigned char head[] = {0, 0xc0, 0xe0, 0xf0};
	to[0] = (char)(head[more] | character >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
	return more + 1;
}

/* Fills at most capacity - 1 bytes and a NUL; a text that does not fit is cut between two characters. */
static bool read_text(const struct python *python, uint64_t object, char *to, size_t capacity, size_t *used)
{
	unsigned char chunk[TEXT_CHUNK * 4];
	struct python_text text;
	*used = 0;
	if (!text_open(python, object, &text))
		return false;
	for (uint64_t done = 0; done < text.length; done += TEXT_CHUNK) {
		size_t count = text.length - done < TEXT_CHUNK ? (size_t)(text.length - done) : TEXT_CHUNK;
		if (!why_read(python->process, text.data + done * text.width, chunk, count * text.width))
			return false;
		for (size_t i = 0; i < count; i++) {
			char bytes[4];
			size_t size = text_encode(text_character(chunk + i * text.width, text.width), bytes);
			if (*used + size >= capacity)
				goto full;
			memcpy(to + *used, bytes, size);
			*used += size;
		}
	}
full:
	to[*used] = '\0';
	return true;
}

/* The bytes object at `object`, owned by the caller; NULL where it is none. */
static uint8_t *read_table(const struct python *python, uint64_t object, size_t *length)
{
	const struct python_layout *layout = &python->layout;
	uint64_t size;
	if (!python_code_has_type(python, object, python->bytes_type) ||
	    !why_read_u64(python->process, object + layout->object_size, &size) || size > TABLE_BYTES_MAX)
		return NULL;
	uint8_t *table = memory_zeroed(size + 1, 1);
	if (!why_read(python->process, object + layout->bytes_data, table, size)) {
		free(table);
		return NULL;
	}
	*length = size;
	return table;
}

/* How many bytes into the instructions of `code` stands the frame? False where it stands outside of them. A frame that has
 * not begun (-1 to 3.10, one unit before the first instruction in 3.11 and 3.12) stands at 0, as its traceback has it. */
static bool find_offset(const struct python *python, uint64_t code, uint64_t position, uint32_t *offset)
{
	const struct python_layout *layout = &python->layout;
	uint64_t start, size;
	if (layout->minor >= 11) {
		start = code + layout->code_instructions;
		if (!why_read_u64(python->process, code + layout->object_size, &size) || size > CODE_BYTES_MAX)
			return false;
		size *= 2;
		position = position + 2 == start ? 0 : position - start;
	} else {
		uint64_t instructions;
		if (!why_read_u64(python->process, code + layout->code_instructions, &instructions) ||
		    !python_code_has_type(python, instructions, python->bytes_type) ||
		    !why_read_u64(python->process, instructions + layout->object_size, &size) || size > CODE_BYTES_MAX)
			return false;
		position = (uint32_t)position == UINT32_MAX ? 0 : (uint64_t)(uint32_t)position * (layout->minor == 10 ? 2 : 1);
	}
	*offset = (uint32_t)position;
	return position < size;
}

static const char *find_line(const struct python *python, uint64_t code, uint64_t position, uint32_t *line)
{
	const struct python_layout *layout = &python->layout;
	uint64_t object;
	uint32_t first, offset;
	size_t length;
	if (!find_offset(python, code, position, &offset))
		return "a Python frame stands outside of its code";
	if (!why_read_u64(python->process, code + layout->code_lines, &object) ||
	    !why_read_u32(python->process, code + layout->code_first_line, &first))
		return "a Python code object cannot be read";
	auto_free uint8_t *table = read_table(python, object, &length);
	if (!table)
		return "a Python line table cannot be read";
	*line = layout->minor >= 11   ? python_line_locations(table, length, first, offset)
		: layout->minor == 10 ? python_line_pairs(table, length, first, offset)
				      : python_line_lnotab(table, length, first, offset);
	return NULL;
}

const char *python_code_describe(const struct python *python, uint64_t code, uint64_t position,
				 struct record_script_frame *frame, bool *shim)
{
	const struct python_layout *layout = &python->layout;
	uint64_t filename, name, qualname;
	char file[sizeof(frame->file.bytes)];
	size_t used;
	if (!python_code_has_type(python, code, python->code_type))
		return "a Python frame has no code object";
	if (!why_read_u64(python->process, code + layout->code_filename, &filename) ||
	    !why_read_u64(python->process, code + layout->code_name, &name) ||
	    !why_read_u64(python->process, code + layout->code_qualname, &qualname))
		return "a Python code object cannot be read";
	const char *reason = find_line(python, code, position, &frame->line);
	if (reason)
		return reason;
	/* From 3.12 a frame of glue stands between a class that is called often and its __init__; there alone the file's name
	 * is the very object that is the function's name, and nothing has a line. */
	*shim = layout->minor >= 12 && filename == name && frame->line == 0;
	if (*shim)
		return NULL;
	if (!read_text(python, qualname, frame->function, sizeof(frame->function), &used) ||
	    !read_text(python, filename, file, sizeof(file), &used))
		return "a Python name cannot be read";
	if (strcmp(frame->function, "<module>") == 0)
		frame->function[0] = '\0';
	record_bytes_set(&frame->file, file, used);
	frame->own_code = python_code_is_own(frame->file.bytes);
	return NULL;
}

/* Is this component `python3`, `python3.11` or `python311.zip`, as a standard library's folder or archive is called? */
static bool is_library_folder(const char *component)
{
	return strncmp(component, "python3", 7) == 0 && component[7 + strspn(component + 7, ".0123456789tzip")] == '/';
}

bool python_code_is_own(const char *file)
{
	if (strncmp(file, "<frozen ", 8) == 0)
		return false;
	if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
		return false;
	static const char *const parents[] = {"/lib/", "/lib64/", "/lib32/"};
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
		for (const char *at = file; (at = strstr(at, parents[i])); at++)
			if (is_library_folder(at + strlen(parents[i])))
				return false;
	return true;
}
