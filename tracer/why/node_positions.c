#include "why/node_positions.h"

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static bool read_number(const uint8_t *table, size_t length, size_t *at, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (*at >= length)
			return false;
		uint8_t byte = table[(*at)++];
		*number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The sign is the lowest bit. */
static bool read_signed(const uint8_t *table, size_t length, size_t *at, int64_t *number)
{
	uint64_t encoded;
	if (!read_number(table, length, at, &encoded))
		return false;
	*number = (int64_t)(encoded >> 1) ^ -(int64_t)(encoded & 1);
	return true;
}

int64_t node_position(const uint8_t *table, size_t length, uint32_t offset)
{
	int64_t code = -1, position = 0, found = -1; /* the entry of a function stands before its first bytecode */
	size_t at = 0;
	while (at < length) {
		int64_t code_more, position_more;
		if (!read_signed(table, length, &at, &code_more) || !read_signed(table, length, &at, &position_more))
			return -1;
		/* An expression, not a statement, is the complement. */
		if (code_more < 0)
			code_more = -(code_more + 1);
		if (__builtin_add_overflow(code, code_more, &code) || __builtin_add_overflow(position, position_more, &position))
			return -1;
		if (code > (int64_t)offset)
			break;
		/* Bit 0 marks what is no position in a script; thirty bits hold the position and one. */
		found = position & 1 ? -1 : (position >> 1 & 0x3fffffff) - 1;
	}
	return found;
}

/* The size of the bytecode at `at`, a prefix for wider operands included; 0 where it is none. */
static size_t bytecode_size(const struct node_bytecodes *bytecodes, size_t at)
{
	enum { EXTRA_WIDE = 1, PREFIXES = 2 }; /* Wide is 0 */
	size_t prefix = 0, row = 0;
	uint8_t code = bytecodes->code[at];
	if (code < PREFIXES) {
		row = code == EXTRA_WIDE ? 2 : 1;
		prefix = 1;
		if (at + 1 >= bytecodes->length)
			return 0;
		code = bytecodes->code[at + 1];
	}
	if (code >= bytecodes->count || !bytecodes->sizes[row * bytecodes->count + code])
		return 0;
	return prefix + bytecodes->sizes[row * bytecodes->count + code];
}

int64_t node_bytecode_at(const uint8_t *table, size_t length, const struct node_bytecodes *bytecodes, uint32_t pc)
{
	size_t at = 0, bytecode = 0;
	uint64_t end = 0, more;
	/* What stands before the first bytecode comes first. */
	if (!read_number(table, length, &at, &end) || pc <= end)
		return -1;
	while (bytecode < bytecodes->length && read_number(table, length, &at, &more)) {
		if (more > UINT32_MAX)
			return -1;
		end += more;
		if (pc <= end)
			return (int64_t)bytecode;
		size_t size = bytecode_size(bytecodes, bytecode);
		if (!size)
			return -1;
		bytecode += size;
	}
	return -1;
}
