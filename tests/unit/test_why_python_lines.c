/* The line tables of CPython, by hand and cut short: `tests/scripts/script_lines.py` holds them against real ones. */
#include "tap.h"
#include "why/python_code.h"
#include "why/python_lines.h"

#include <stdlib.h>

static void lnotab(void)
{
	static const uint8_t table[] = {4, 1, 6, 2, 255, 0, 1, 127, 0, 3, 2, 0x80, 2, 0xff};
	static const struct { uint32_t offset, line; } expected[] = {
		{0, 10}, {3, 10}, {4, 11}, {9, 11}, {10, 13}, {265, 13}, {266, 143}, {267, 143}, {268, 15}, {270, 14}, {9999, 14}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		tap_number(python_line_lnotab(table, sizeof(table), 10, expected[i].offset), expected[i].line, "3.7: offset %u",
			   expected[i].offset);
	tap_number(python_line_lnotab(NULL, 0, 7, 100), 7, "3.7: an empty table leaves the first line");
	tap_number(python_line_lnotab((const uint8_t[]){0, 0x80}, 2, 5, 0), 0, "3.7: a line below 1 is none");
}

static void pairs(void)
{
	static const uint8_t table[] = {4, 0, 6, 2, 2, 0x80, 4, 0xff, 0, 100, 2, 1};
	static const struct { uint32_t offset, line; } expected[] = {
		{0, 10}, {3, 10}, {4, 12}, {9, 12}, {10, 0}, {11, 0}, {12, 11}, {15, 11}, {16, 112}, {18, 0}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		tap_number(python_line_pairs(table, sizeof(table), 10, expected[i].offset), expected[i].line, "3.10: offset %u",
			   expected[i].offset);
	tap_number(python_line_pairs(table, 1, 10, 0), 0, "3.10: half a pair is none");
}

/* One entry of `units` code units, with what stands behind its first byte. */
#define ENTRY(code, units) (uint8_t)(0x80 | (code) << 3 | ((units) - 1))

static void locations(void)
{
	static const uint8_t table[] = {
		ENTRY(11, 2), 5, 6,                       /* line + 1 */
		ENTRY(0, 1), 0x33,                        /* same line, short form */
		ENTRY(13, 8), 0x46, 0x02,                 /* line + 67: two groups of six bits */
		ENTRY(15, 1),                             /* no line */
		ENTRY(14, 1), 0x05, 0x00, 0x01, 0x01,     /* line - 2, long form */
		ENTRY(12, 1), 1, 2,                       /* line + 2 */
	};
	static const struct { uint32_t offset, line; } expected[] = {
		{0, 11}, {3, 11}, {4, 11}, {6, 78}, {20, 78}, {22, 0}, {24, 76}, {26, 78}, {28, 0}, {9999, 0}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		tap_number(python_line_locations(table, sizeof(table), 10, expected[i].offset), expected[i].line, "3.11: offset %u",
			   expected[i].offset);
	tap_number(python_line_locations((const uint8_t[]){0x05, 0x80}, 2, 10, 0), 0, "3.11: an entry begins with bit 7");
	static const uint8_t endless[] = {ENTRY(13, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x00};
	tap_number(python_line_locations(endless, sizeof(endless), 10, 0), 0, "3.11: a number that is too long is none");
	tap_number(python_line_locations(endless, 1, 10, 0), 0, "3.11: a number that is cut off is none");
}

/* Whatever the bytes are: an answer, within bounds (the sanitizers watch), and never a line above INT_MAX. */
static void any_bytes(void)
{
	bool bounded = true;
	srandom(1);
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t table[64];
		size_t length = (size_t)random() % sizeof(table);
		for (size_t i = 0; i < length; i++)
			table[i] = (uint8_t)random();
		uint32_t first = (uint32_t)random() << 1, offset = (uint32_t)random() % 512;
		bounded &= python_line_lnotab(table, length, first, offset) <= INT32_MAX &&
			   python_line_pairs(table, length, first, offset) <= INT32_MAX &&
			   python_line_locations(table, length, first, offset) <= INT32_MAX;
	}
	tap_ok(bounded, "random tables give bounded lines");
}

static void own_code(void)
{
	static const char *const own[] = {"job.py", "<string>", "<stdin>", "/home/ada/lib/job.py", "/srv/python3/job.py",
		"/home/ada/lib/pythonic/job.py", "/home/ada/site-packages.py"};
	static const char *const library[] = {"<frozen importlib._bootstrap>", "/usr/lib/python3.11/socket.py",
		"/usr/lib/python3/dist-packages/x.py", "/usr/lib64/python3.9/json/decoder.py", "/usr/lib/python311.zip/os.py",
		"/home/ada/venv/lib/python3.12/site-packages/requests/api.py", "/opt/site-packages/x.py"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		tap_ok(python_code_is_own(own[i]), "%s is the program's own", own[i]);
	for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++)
		tap_ok(!python_code_is_own(library[i]), "%s is a library's", library[i]);
}

int main(void)
{
	lnotab();
	pairs();
	locations();
	any_bytes();
	own_code();
	return tap_done();
}
