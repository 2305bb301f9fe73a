#include "why/node_text.h"

#include <string.h>

enum { DEPTH_MAX = 16, LINK_MAX = 16, SOURCE_CHARACTER_MAX_COUNT = 64 << 20, CHUNK = 4096, UNCACHED_EXTERNAL = 0x10 };

/* Characters in a row: one byte (Latin-1) or two bytes (UTF-16) each. */
struct node_text {
	uint64_t data;
	uint32_t length;
	bool wide;
};

struct string_header {
	int32_t form;
	bool wide, uncached;
	uint32_t length;
};

static bool read_header(const struct node *node, uint64_t object, struct string_header *header)
{
	const struct node_constants *constants = &node->constants;
	int32_t type = node_type(node, object);
	if (type < 0 || type >= constants->string_first_other ||
	    !node_read(node, object - 1 + (uint64_t)constants->string_length, &header->length, sizeof(header->length)))
		return false;
	header->form = type & constants->string_form_mask;
	header->uncached = type & UNCACHED_EXTERNAL;
	header->wide = (type & constants->string_width_mask) != constants->string_one_byte;
	return header->length <= INT32_MAX;
}

bool node_is_text(const struct node *node, uint64_t object)
{
	struct string_header header;
	return read_header(node, object, &header);
}

/* Behind an external string's resource stands the address of its characters, but for those that are marked otherwise. */
static bool find_external(const struct node *node, uint64_t object, struct node_text *text)
{
	uint64_t words[2];
	if (!node_read_fields(node, object, node->constants.external_resource, words, 2))
		return false;
	text->data = words[1];
	return text->data != 0;
}

/* What a string that stands for (a part of) another one leads to. A cons string that was flattened has an empty second part. */
static bool follow(const struct node *node, uint64_t *object, const struct string_header *header, uint32_t *start)
{
	const struct node_constants *constants = &node->constants;
	if (header->form == constants->string_thin)
		return node_read_field(node, *object, constants->thin_actual, object);
	if (header->form == constants->string_cons) {
		uint64_t second;
		struct string_header rest;
		return node_read_field(node, *object, constants->cons_second, &second) && read_header(node, second, &rest) &&
		       rest.length == 0 && node_read_field(node, *object, constants->cons_first, object);
	}
	int32_t from;
	if (header->form != constants->string_sliced || !node_read_integer(node, *object, constants->sliced_start, &from) || from < 0)
		return false;
	return !__builtin_add_overflow(*start, (uint32_t)from, start) &&
	       node_read_field(node, *object, constants->sliced_parent, object);
}

/* False also for a string whose parts lie in several places. */
static bool find_text(const struct node *node, uint64_t object, struct node_text *text)
{
	const struct node_constants *constants = &node->constants;
	struct string_header header;
	uint32_t start = 0, wanted = 0;
	for (unsigned link = 0; link < LINK_MAX; link++) {
		if (!read_header(node, object, &header))
			return false;
		if (link == 0)
			wanted = header.length;
		text->wide = header.wide;
		if (header.form == constants->string_sequential)
			text->data = object - 1 + (uint64_t)(header.wide ? constants->two_byte_data : constants->one_byte_data);
		else if (header.form == constants->string_external && (header.uncached || !find_external(node, object, text)))
			return false;
		if (header.form == constants->string_sequential || header.form == constants->string_external) {
			text->data += (uint64_t)start * (header.wide ? 2 : 1);
			text->length = wanted;
			return (uint64_t)start + wanted <= header.length;
		}
		if (!follow(node, &object, &header, &start))
			return false;
	}
	return false;
}

static bool read_characters(const struct node *node, const struct node_text *text, uint32_t from, uint16_t *to, size_t count)
{
	unsigned char narrow[CHUNK];
	if (text->wide)
		return node_read(node, text->data + (uint64_t)from * 2, to, count * 2);
	if (!node_read(node, text->data + from, narrow, count))
		return false;
	for (size_t i = 0; i < count; i++)
		to[i] = narrow[i];
	return true;
}

/* One character of `left` code units as UTF-8; *used tells how many it took. Half a pair becomes U+FFFD. */
static size_t encode(const uint16_t *units, size_t left, size_t *used, char *to)
{
	uint32_t character = units[0];
	bool pair = (character & 0xfc00) == 0xd800 && left > 1 && (units[1] & 0xfc00) == 0xdc00;
	*used = pair ? 2 : 1;
	if (pair)
		character = 0x10000 + ((character & 0x3ff) << 10 | (units[1] & 0x3ff));
	else if ((character & 0xf800) == 0xd800)
		character = 0xfffd;
	size_t more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	static const unsigned char head[] = {0, 0xc0, 0xe0, 0xf0};
	to[0] = (char)(head[more] | character >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
	return more + 1;
}

/* Appends to what `to` holds; false where something was wrong, not where there is no room. */
static bool append(const struct node *node, uint64_t object, char *to, size_t capacity, size_t *length, unsigned depth)
{
	uint16_t units[CHUNK];
	struct node_text text;
	if (!find_text(node, object, &text)) {
		uint64_t first, second;
		struct string_header header;
		return depth < DEPTH_MAX && read_header(node, object, &header) && header.form == node->constants.string_cons &&
		       node_read_field(node, object, node->constants.cons_first, &first) &&
		       node_read_field(node, object, node->constants.cons_second, &second) &&
		       append(node, first, to, capacity, length, depth + 1) && append(node, second, to, capacity, length, depth + 1);
	}
	/* A unit makes one byte or more: what stands behind CHUNK would not fit. */
	size_t count = text.length < CHUNK ? text.length : CHUNK;
	if (!read_characters(node, &text, 0, units, count))
		return false;
	for (size_t i = 0, used; i < count; i += used) {
		char bytes[4];
		size_t size = encode(units + i, count - i, &used, bytes);
		if (*length + size >= capacity)
			break;
		memcpy(to + *length, bytes, size);
		*length += size;
	}
	return true;
}

bool node_text_read(const struct node *node, uint64_t object, char *to, size_t capacity)
{
	size_t length = 0;
	bool whole = append(node, object, to, capacity, &length, 0);
	to[length] = '\0';
	return whole;
}

/* A line ends behind \n, \r, \r\n and the two separators of Unicode. */
static uint32_t count_ends(const uint16_t *units, size_t count, uint16_t *before)
{
	uint32_t ends = 0;
	for (size_t i = 0; i < count; i++) {
		bool end = units[i] == '\n' || units[i] == '\r' || units[i] == 0x2028 || units[i] == 0x2029;
		ends += end && !(units[i] == '\n' && *before == '\r');
		*before = units[i];
	}
	return ends;
}

uint32_t node_text_line(const struct node *node, uint64_t source, int64_t position)
{
	uint16_t units[CHUNK], before = 0;
	struct node_text text;
	uint32_t line = 1;
	if (position < 0 || position > SOURCE_CHARACTER_MAX_COUNT || !find_text(node, source, &text) || position > text.length)
		return 0;
	for (int64_t done = 0; done < position;) {
		size_t count = position - done < CHUNK ? (size_t)(position - done) : CHUNK;
		if (!read_characters(node, &text, (uint32_t)done, units, count))
			return 0;
		line += count_ends(units, count, &before);
		done += (int64_t)count;
	}
	return line;
}
