/* The words everyone uses: text, units, hashes, errors, and the system-call table against the installed headers. */
#include "base/error.h"
#include "base/hash.h"
#include "base/outcome.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "base/units.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- text ---- */

static void test_json_strings(void)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *json;
	} rows[] = {
		{ "", 0, "\"\"" }, { "plain", 5, "\"plain\"" }, { "\"\\/", 3, "\"\\\"\\\\/\"" }, { "\n\r\t", 3, "\"\\n\\r\\t\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" }, { "\x1b[31m", 5, "\"\\u001b[31m\"" }, { "\x7f", 1, "\"\\u007f\"" },
		{ "\xC3\xA9", 2, "\"\xC3\xA9\"" }, { "\xFF", 1, "\"\xEF\xBF\xBD\"" }, { "\xC3", 1, "\"\xEF\xBF\xBD\"" },
		{ "\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" }, { "\xC0\xAF", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" },
		{ "\xF0\x9F\x98\x80", 4, "\"\xF0\x9F\x98\x80\"" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text text = { 0 };
		text_append_json_string(&text, rows[i].bytes, rows[i].length);
		tap_string(text_string(&text), rows[i].json, "as a JSON string (%zu)", i);
		tap_ok(utf8_valid(text.bytes, text.length), "which is UTF-8 (%zu)", i);
		text_free(&text);
	}
}

static void test_visible(void)
{
	static const struct {
		const char *bytes, *visible;
	} rows[] = {
		{ "plain \xC3\xA9", "plain \xC3\xA9" }, { "\x1b[2J", "\\x1b[2J" }, { "a\nb", "a\\x0ab" }, { "\x7f", "\\x7f" },
		{ "\xC2\x9B", "\\xc2\\x9b" }, { "\xFF", "\xEF\xBF\xBD" },
		{ "a\u202Etxt.exe", "a\\xe2\\x80\\xaetxt.exe" }, { "\u061C", "\\xd8\\x9c" }, { "\u200E", "\\xe2\\x80\\x8e" },
		{ "\u200F", "\\xe2\\x80\\x8f" }, { "\u2028", "\\xe2\\x80\\xa8" }, { "\u2029", "\\xe2\\x80\\xa9" },
		{ "\u202A", "\\xe2\\x80\\xaa" }, { "\u2066", "\\xe2\\x81\\xa6" }, { "\u2069", "\\xe2\\x81\\xa9" },
		/* their neighbours are letters, blanks and joiners, which words need */
		{ "\u061B \u061D", "\u061B \u061D" }, { "\u200D \u2010", "\u200D \u2010" }, { "\u2027 \u202F", "\u2027 \u202F" },
		{ "\u2065 \u206A", "\u2065 \u206A" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text text = { 0 };
		text_append_visible(&text, rows[i].bytes, strlen(rows[i].bytes));
		tap_string(text_string(&text), rows[i].visible, "for a terminal (%zu)", i);
		text_free(&text);
	}
}

static void test_base64(void)
{
	static const char *const rows[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
						{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" }, { "\xFF\xFE\xFD", "//79" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text text = { 0 };
		text_append_base64(&text, rows[i][0], strlen(rows[i][0]));
		tap_string(text_string(&text), rows[i][1], "base64 of \"%s\"", rows[i][1]);
		text_free(&text);
	}
}

static void test_utf8(void)
{
	static const struct {
		const char *bytes;
		bool valid;
	} rows[] = {
		{ "", true }, { "abc", true }, { "\x7F", true }, { "\xC2\x80", true }, { "\xDF\xBF", true }, { "\xE0\xA0\x80", true },
		{ "\xED\x9F\xBF", true }, { "\xEE\x80\x80", true }, { "\xF0\x90\x80\x80", true }, { "\xF4\x8F\xBF\xBF", true },
		{ "\x80", false }, { "\xC1\xBF", false }, { "\xE0\x9F\xBF", false }, { "\xED\xA0\x80", false }, { "\xED\xBF\xBF", false },
		{ "\xF0\x8F\xBF\xBF", false }, { "\xF4\x90\x80\x80", false }, { "\xF5\x80\x80\x80", false }, { "\xC3", false },
		{ "\xE2\x82", false }, { "\xC3(", false }, { "a\xFF", false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		tap_ok(utf8_valid(rows[i].bytes, strlen(rows[i].bytes)) == rows[i].valid, "UTF-8 (%zu) is %s", i,
		       rows[i].valid ? "valid" : "invalid");
}

static void test_growing(void)
{
	struct text text = { 0 };
	tap_string(text_string(&text), "", "an empty text");
	for (int i = 0; i < 1000; i++)
		text_printf(&text, "%d,", i);
	tap_number((long long)text.length, 3890, "a thousand numbers");
	tap_ok(strncmp(text_string(&text), "0,1,2,", 6) == 0 && strcmp(text_string(&text) + 3886, "999,") == 0, "all of them there");
	text_free(&text);
	tap_ok(text.bytes == NULL && text.length == 0, "and gone");

	char small[4];
	tap_ok(text_copy(small, sizeof(small), "abc") && strcmp(small, "abc") == 0, "what fits is copied");
	tap_ok(!text_copy(small, sizeof(small), "abcd") && strcmp(small, "abc") == 0, "what does not is cut and terminated");
	char *copy = text_duplicate_bytes("a\0b", 3);
	tap_ok(memcmp(copy, "a\0b", 4) == 0, "bytes are copied with a zero behind them");
	free(copy);
}

static void test_distance(void)
{
	static const struct {
		const char *left, *right;
		unsigned distance;
	} rows[] = { { "", "", 0 }, { "a", "", 1 }, { "read", "red", 1 }, { "read", "raed", 1 }, { "write", "rite", 1 },
		     { "kitten", "sitting", 3 }, { "read", "write", 4 }, { "read", "read", 0 }, { "READ", "read", 4 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		tap_number(text_distance(rows[i].left, rows[i].right), rows[i].distance, "from %s to %s", rows[i].left, rows[i].right);
		tap_number(text_distance(rows[i].right, rows[i].left), rows[i].distance, "from %s to %s", rows[i].right, rows[i].left);
	}
	char long_text[200];
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	tap_number(text_distance(long_text, ""), 64, "no more than 64 bytes are looked at");
}

/* ---- units ---- */

typedef const char *unit_parser(const char *text, uint64_t *value);
typedef void unit_printer(char *target, uint64_t value);

static void test_unit(unit_parser *parse, unit_printer *print, const char *text, uint64_t value, const char *printed)
{
	uint64_t parsed = 0;
	char shown[UNITS_TEXT];
	tap_string(parse(text, &parsed), NULL, "%s is well-formed", text);
	tap_number((long long)parsed, (long long)value, "%s has its value", text);
	print(shown, value);
	tap_string(shown, printed, "and is shown as %s", printed);
}

static void test_units(void)
{
	test_unit(units_parse_duration_ms, units_format_duration, "500ms", 500, "500ms");
	test_unit(units_parse_duration_ms, units_format_duration, "3s", 3000, "3s");
	test_unit(units_parse_duration_ms, units_format_duration, "90s", 90000, "90s");
	test_unit(units_parse_duration_ms, units_format_duration, "2m", 120000, "2m");
	test_unit(units_parse_duration_ms, units_format_duration, "1500ms", 1500, "1500ms");
	test_unit(units_parse_duration_ms, units_format_duration, "none", UNITS_NONE, "none");
	test_unit(units_parse_size_bytes, units_format_size, "2000", 2000, "2000");
	test_unit(units_parse_size_bytes, units_format_size, "64K", 65536, "64K");
	test_unit(units_parse_size_bytes, units_format_size, "1024K", 1 << 20, "1M");
	test_unit(units_parse_size_bytes, units_format_size, "2G", 2147483648u, "2G");
	test_unit(units_parse_size_bytes, units_format_size, "9007199254740991", 9007199254740991, "9007199254740991");
	test_unit(units_parse_count, units_format_count, "64", 64, "64");
	test_unit(units_parse_count, units_format_count, "none", UNITS_NONE, "none");
}

static void test_unit_refusals(void)
{
	static const struct {
		unit_parser *parse;
		const char *text, *piece;
	} rows[] = {
		{ units_parse_duration_ms, "3", "not a duration" }, { units_parse_duration_ms, "", "not a duration" },
		{ units_parse_duration_ms, "s", "not a duration" }, { units_parse_duration_ms, "-3s", "not a duration" },
		{ units_parse_duration_ms, "+3s", "not a duration" }, { units_parse_duration_ms, "1.5s", "not a duration" },
		{ units_parse_duration_ms, "3 s", "not a duration" }, { units_parse_duration_ms, "3h", "not a duration" },
		{ units_parse_duration_ms, "3S", "not a duration" }, { units_parse_duration_ms, "0s", "0 is no limit" },
		{ units_parse_duration_ms, "NONE", "not a duration" }, { units_parse_duration_ms, "99999999999999999999s", "out of range" },
		{ units_parse_duration_ms, "9007199254740991s", "out of range" }, { units_parse_size_bytes, "64k", "not a size" },
		{ units_parse_size_bytes, "64KB", "not a size" }, { units_parse_size_bytes, "0", "0 is no limit" },
		{ units_parse_size_bytes, "0M", "0 is no limit" }, { units_parse_size_bytes, "9007199254740992", "out of range" },
		{ units_parse_size_bytes, "9007199254740991G", "out of range" }, { units_parse_size_bytes, " 1", "not a size" },
		{ units_parse_size_bytes, "0x10", "not a size" }, { units_parse_count, "64K", "not a count" },
		{ units_parse_count, "0", "0 is no limit" }, { units_parse_count, "1e3", "not a count" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t value = 77;
		tap_contains(rows[i].parse(rows[i].text, &value), rows[i].piece, "\"%s\" is refused", rows[i].text);
	}
}

/* ---- hashes and errors ---- */

static void test_hash(void)
{
	char text[HASH_TEXT];
	struct error error;
	uint64_t size = 0;
	hash_bytes("", 0, text);
	tap_string(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "SHA-256 of nothing");
	hash_bytes("abc", 3, text);
	tap_string(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of abc");

	int fd = memfd_create("hash", MFD_CLOEXEC);
	tap_ok(fd >= 0 && write(fd, "abc", 3) == 3, "a file with abc, its offset at the end");
	tap_number(hash_fd(fd, text, &size, &error), 0, "is hashed");
	tap_string(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "from its beginning");
	tap_number((long long)size, 3, "with its size");
	tap_number(lseek(fd, 0, SEEK_CUR), 3, "and its offset stays");
	close(fd);
	tap_number(hash_fd(-1, text, &size, &error), -EBADF, "no descriptor, no hash");
	tap_contains(error.message, "Bad file descriptor", "and the error says why");
}

static void test_errors(void)
{
	struct error error = { 0 };
	tap_number(error_set(&error, ENOENT, "no %s", "file"), -ENOENT, "an error is its number");
	tap_string(error.message, "no file", "with a message");
	tap_number(error_context(&error, "%s", "loading"), -ENOENT, "context keeps the number");
	tap_string(error.message, "loading: no file", "and goes in front");
	tap_number(error_set(&error, 0, "nothing"), -EINVAL, "an error is never a success");
	tap_number(error_set(NULL, EPERM, "nobody listens"), -EPERM, "nobody has to listen");
	error_system(&error, EACCES, "cannot open");
	tap_string(error.message, "cannot open: Permission denied", "the system's words");
	char many[4000];
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	error_system(&error, EACCES, "%s", many);
	tap_number((long long)strlen(error.message), (long long)sizeof(error.message) - 1, "a long message is cut");
}

static void test_outcomes(void)
{
	for (int i = RULE_NONE + 1; i < RULE_COUNT; i++) {
		const char *name = rule_name((enum rule_id)i), *status = status_name(rule_status((enum rule_id)i));
		tap_ok(name && status && strncmp(name, status, strlen(status)) == 0 && name[strlen(status)] == '_',
		       "rule %d belongs to its status by name", i);
	}
	tap_string(rule_name(RULE_NONE), NULL, "no rule, no name");
	tap_string(status_name(STATUS_NONE), NULL, "no status, no name");
	tap_number(rule_status(RULE_NONE), STATUS_COMPLETED, "without a rule a run has completed");
}

/* ---- system calls ---- */

/* Every name that the installed headers know has a row with that number: a new call would otherwise be refused by number
 * and nobody would know why. */
static void test_calls_of_headers(const char *header)
{
	FILE *file = fopen(header, "r");
	if (!tap_ok(file != NULL, "the installed header %s can be read", header))
		return;
	char line[256], name[128];
	int number, seen = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "#define __NR_%127s %d", name, &number) != 2)
			continue;
		const struct syscall_row *row = syscall_by_name(name);
		seen++;
		tap_ok(row && row->number == number, "%s has a row with number %d", name, number);
	}
	fclose(file);
	tap_ok(seen > 300, "%s was really read", header);
}

static void test_rows(void)
{
	size_t count;
	const struct syscall_row *rows = syscall_rows(&count);
	for (size_t i = 0; i < count; i++) {
		const struct syscall_row *row = &rows[i];
		bool traced = row->disposition == CALL_TRACE || row->disposition == CALL_TRACE_IF || row->disposition == CALL_TRACE_METADATA;
		bool found = syscall_by_number(row->number) == row && syscall_by_name(row->name) == row;
		bool ordered = i == 0 || rows[i - 1].number < row->number;
		const struct syscall_row *family = row->roles.family ? syscall_by_number(row->roles.family) : NULL;
		tap_ok(found && ordered, "%s is found by number and by name, and stands in order", row->name);
		tap_ok(!traced || row->handler != HANDLER_NONE, "%s has a handler if it stops", row->name);
		tap_ok(!row->roles.family || (family && syscall_is_switchable(family) && syscall_is_switchable(row)),
		       "%s belongs to a switchable family if to any", row->name);
	}
	tap_ok(!syscall_by_number(-1) && !syscall_by_number(100000) && !syscall_by_number(400), "no row for what is no call");
	tap_ok(!syscall_by_name("") && !syscall_by_name("no_such_call"), "no row for what is no name");
	const struct syscall_row *inject = syscall_by_number(SYSCALL_INJECT);
	tap_ok(inject && inject->disposition == CALL_NOSYS, "the number used by the supervisor is no call of the target");
}

int main(void)
{
	test_json_strings();
	test_visible();
	test_base64();
	test_utf8();
	test_growing();
	test_distance();
	test_units();
	test_unit_refusals();
	test_hash();
	test_errors();
	test_outcomes();
	bool one = access("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", R_OK) == 0;
	test_calls_of_headers(one ? "/usr/include/x86_64-linux-gnu/asm/unistd_64.h" : "/usr/include/asm/unistd_64.h");
	test_rows();
	return tap_done();
}
