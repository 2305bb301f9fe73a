#include "why/python_lines.h"

#include <stdbool.h>

/* Lines are C ints in CPython; a sum outside of them comes from a table that is none. */
static uint32_t line_number(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of an unsigned step in the code and a signed step in lines; what stands behind the last pair has its line. */
uint32_t python_line_lnotab(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t address = 0;
	for (size_t at = 0; at + 1 < length; at += 2) {
		address += table[at];
		if (address > offset)
			break;
		line += (int8_t)table[at + 1];
	}
	return line_number(line);
}

/* Pairs of the length of a range of code and the step in lines that comes with it; a step of -128 says that the range has
 * no line, and leaves the line for the next one as it was. */
uint32_t python_line_pairs(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;
	for (size_t at = 0; at + 1 < length; at += 2) {
		int8_t step = (int8_t)table[at + 1];
		end += table[at];
		if (step != -128)
			line += step;
		if (offset < end)
			return step == -128 ? 0 : line_number(line);
	}
	return 0;
}

/* Six bits a byte, low bits first, bit 6 says that more follow; the lowest bit of the number is its sign. */
static bool read_signed(const uint8_t *table, size_t length, size_t *at, int64_t *value)
{
	uint64_t number = 0;
	for (unsigned shift = 0; shift <= 30; shift += 6) {
		if (*at >= length || table[*at] & 0x80)
			return false;
		uint8_t byte = table[(*at)++];
		number |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40)) {
			*value = number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
			return true;
		}
	}
	return false;
}

enum { CODE_ONE_LINE_0 = 10, CODE_ONE_LINE_2 = 12, CODE_NO_COLUMNS = 13, CODE_LONG = 14, CODE_NONE = 15 };

/* Each entry begins with a byte that has bit 7 set, four bits of code and three of length; only such bytes have that bit. */
uint32_t python_line_locations(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;
	size_t at = 0;
	while (at < length) {
		uint8_t head = table[at++];
		unsigned code = head >> 3 & 15;
		int64_t step = 0;
		if (!(head & 0x80))
			return 0;
		if (code >= CODE_ONE_LINE_0 && code <= CODE_ONE_LINE_2)
			step = code - CODE_ONE_LINE_0;
		else if ((code == CODE_NO_COLUMNS || code == CODE_LONG) && !read_signed(table, length, &at, &step))
			return 0;
		line += step;
		end += (uint64_t)((head & 7) + 1) * 2;
		if (offset < end)
			return code == CODE_NONE ? 0 : line_number(line);
		while (at < length && !(table[at] & 0x80))
			at++;
	}
	return 0;
}
