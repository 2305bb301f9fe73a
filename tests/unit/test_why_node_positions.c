/* V8's tables from code to source, by hand and cut short: `tests/scripts/script_node.py` holds them against real ones. */
#include "tap.h"
#include "why/node_code.h"
#include "why/node_positions.h"

#include <stdlib.h>
#include <string.h>

/* One entry: so many bytecodes and characters further. An expression is the complement; the sign is the lowest bit. */
#define SIGNED(number) (uint8_t)((number) < 0 ? -2 * (number) - 1 : 2 * (number))
#define STATEMENT(code, position) SIGNED(code), SIGNED(2 * (position))
#define EXPRESSION(code, position) SIGNED(-(code) - 1), SIGNED(2 * (position))

static void positions(void)
{
	static const uint8_t table[] = {
		EXPRESSION(0, 11),       /* the function: before its first bytecode, character 10 */
		STATEMENT(1, 5),         /* 0: 15 */
		EXPRESSION(4, -3),       /* 4: 12 */
		EXPRESSION(6, 31),       /* 10: 43 */
		0x90, 0x03, 0xd0, 0x0f,  /* 210: 543 */
		STATEMENT(5, 0),         /* 215: 543 */
	};
	static const struct { uint32_t offset; int64_t position; } expected[] = {
		{0, 15}, {3, 15}, {4, 12}, {9, 12}, {10, 43}, {209, 43}, {210, 543}, {9999, 543}, {UINT32_MAX, 543}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		tap_number(node_position(table, sizeof(table), expected[i].offset), expected[i].position, "offset %u", expected[i].offset);
	tap_number(node_position(table, 0, 4), -1, "an empty table gives none");
	tap_number(node_position(table, 5, 4), -1, "half an entry is none");
	tap_number(node_position(table, 2, 4), 10, "the place of the function itself");
	tap_number(node_position((const uint8_t[]){STATEMENT(1, 0) + 0, 1}, 2, 0), -1, "what stands outside of scripts has no position");
	static const uint8_t endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	tap_number(node_position(endless, sizeof(endless), 0), -1, "a number that is too long is none");
}

/* Bytecodes 0 and 1 are prefixes; 2 has one operand, 3 has two. */
static const uint8_t sizes[] = {1, 1, 2, 3, 1, 1, 3, 5, 1, 1, 5, 9};
static const uint8_t code[] = {2, 0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0};

static void bytecodes(void)
{
	static const uint8_t table[] = {20, 10, 0x80, 0x01, 4, 6}; /* after the prologue: 10, 128, 4 and 6 bytes of instructions */
	static const struct node_bytecodes all = {code, sizeof(code), sizes, 4};
	static const struct { uint32_t pc; int64_t bytecode; } expected[] = {
		{0, -1}, {20, -1}, {21, 0}, {30, 0}, {31, 2}, {158, 2}, {159, 8}, {162, 8}, {163, 14}, {168, 14}, {169, -1}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		tap_number(node_bytecode_at(table, sizeof(table), &all, expected[i].pc), expected[i].bytecode, "pc %u", expected[i].pc);
	const struct node_bytecodes unknown = {(const uint8_t[]){9, 0}, 2, sizes, 4}, cut = {code, 3, sizes, 4};
	tap_number(node_bytecode_at(table, sizeof(table), &unknown, 31), -1, "behind a bytecode that is none nothing is known");
	tap_number(node_bytecode_at(table, sizeof(table), &cut, 159), -1, "nor behind the last one");
}

/* Whatever the bytes are: an answer, within bounds (the sanitizers watch). */
static void any_bytes(void)
{
	bool bounded = true;
	srandom(1);
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t bytes[96];
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)random();
		size_t length = (size_t)random() % 32;
		struct node_bytecodes some = {bytes + 32, (size_t)random() % 32, bytes + 64, (size_t)random() % 10};
		uint32_t offset = (uint32_t)random() % 512;
		int64_t position = node_position(bytes, length, offset), bytecode = node_bytecode_at(bytes, length, &some, offset);
		bounded &= position >= -1 && position <= INT32_MAX && bytecode >= -1 && bytecode < (int64_t)sizeof(bytes);
	}
	tap_ok(bounded, "random tables give bounded answers");
}

static void files(void)
{
	static const struct { const char *url, *path; } expected[] = {
		{"file:///srv/a%20b/j%C3%B6b%25.mjs", "/srv/a b/jöb%.mjs"}, {"file:///srv/%zz%4", "/srv/%zz%4"}, {"file:///a%00b", "/a%00b"},
		{"file://host/x", "file://host/x"}, {"/srv/a%20b.js", "/srv/a%20b.js"}, {"node:fs", "node:fs"}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s", expected[i].url);
		node_code_file_of_url(name);
		tap_string(name, expected[i].path, "%s", expected[i].url);
	}
	static const char *const own[] = {"/srv/job.js", "[eval]", "[stdin]", "<anonymous>", "evalmachine.<anonymous>", "/srv/my_node_modules/x.js"};
	static const char *const other[] = {"node:fs", "node:internal/modules/cjs/loader", "[eval]-wrapper", "/srv/node_modules/left/index.js"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		tap_ok(node_code_is_own(own[i]), "%s is the program's own", own[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		tap_ok(!node_code_is_own(other[i]), "%s is not", other[i]);
}

int main(void)
{
	positions();
	bytecodes();
	any_bytes();
	files();
	return tap_done();
}
