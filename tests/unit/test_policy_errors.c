/* Every mistake in tests/cases/bad-policies/mistakes.txt is refused, at the place that is marked there, with its message. */
#include "base/text.h"
#include "policy/policy.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

static const char mistakes[] = "tests/cases/bad-policies/mistakes.txt";
static const char mark[] = "@@";

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	if (!file)
		return NULL;
	struct text text = { 0 };
	char buffer[4096];
	size_t count;
	while ((count = fread(buffer, 1, sizeof(buffer), file)) > 0)
		text_append_bytes(&text, buffer, count);
	fclose(file);
	return text.bytes;
}

/* Takes the mark out and writes where it stood. */
static bool take_mark(char *text, char *place, size_t size)
{
	char *at = strstr(text, mark);
	if (!at)
		return false;
	unsigned line = 1, column = 1;
	for (const char *byte = text; byte < at; byte++) {
		column = *byte == '\n' ? 1 : column + 1;
		line += *byte == '\n';
	}
	snprintf(place, size, "folder/mistake.json:%u:%u: ", line, column);
	memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
	return true;
}

static void try_mistake(const char *piece, char *text, unsigned number)
{
	char place[64];
	if (!tap_ok(take_mark(text, place, sizeof(place)), "mistake %u has a mark", number))
		return;
	struct policy *policy = NULL;
	struct error error = { 0 };
	int result = policy_load_text("folder/mistake.json", text, strlen(text), NULL, 0, &policy, &error);
	tap_ok(result == -EINVAL && !policy, "mistake %u is refused: %s", number, piece);
	tap_ok(strncmp(error.message, place, strlen(place)) == 0, "mistake %u is found where it is: %s", number, place);
	tap_contains(error.message, piece, "mistake %u is named", number);
	if (strncmp(error.message, place, strlen(place)) != 0)
		printf("# message: %s\n# policy: %s\n", error.message, text);
	policy_free(policy);
}

/* "== piece\ntext\n== piece\n…": the line break in front of the next record belongs to neither. */
static void test_mistakes(char *records)
{
	unsigned number = 0;
	char *record = strstr(records, "\n== ");
	while (record) {
		char *piece = record + strlen("\n== ");
		char *text = strchr(piece, '\n');
		record = strstr(text, "\n== ");
		*text++ = '\0';
		if (record)
			*record = '\0';
		try_mistake(piece, text, ++number);
	}
	tap_ok(number >= 200, "there are many mistakes: %u", number);
}

/* What cannot be written into a text file. */
static void test_raw_bytes(void)
{
	static const struct {
		const char *text;
		size_t length;
		const char *message;
	} rows[] = {
		{ "{\"name\": \"a\0b\"}", 14, "f.json:1:12: a zero byte" },
		{ "{}\0", 3, "f.json:1:3: a zero byte" },
		{ "{\n\"name\": \"\xFF\"}", 14, "f.json:2:10: not UTF-8" },
		{ "// \xC3(\n{}", 8, "f.json:1:4: not UTF-8" },
		{ "{\"name\": \"\xED\xA0\x80\"}", 15, "f.json:1:11: not UTF-8" },
		{ "{} \xC3", 4, "f.json:1:4: not UTF-8" },
		{ "\xEF\xBB\xBF{}", 5, "f.json:1:1: the text starts with a byte order mark" },
		{ "{\"name\": \"a\rb\"}", 15, "f.json:1:12: a control character (0x0d) in a string; write it as an escape" },
		{ "{\"name\":\x01\"a\"}", 12, "f.json:1:9: a value belongs here, not the byte 0x01" },
		{ "{\"name\":\xC2\xA0\"a\"}", 13, "f.json:1:9: a value belongs here, not the byte 0xc2" },
		{ "", 0, "f.json:1:1: a value belongs here, but the text ends here" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy;
		struct error error = { 0 };
		tap_number(policy_load_text("f.json", rows[i].text, rows[i].length, NULL, 0, &policy, &error), -EINVAL, "bytes %zu are refused",
			   i);
		tap_string(error.message, rows[i].message, "bytes %zu are named", i);
	}
}

static void test_depth_and_size(void)
{
	struct policy *policy;
	struct error error = { 0 };
	struct text text = { 0 };
	for (int i = 0; i < 65; i++)
		text_append(&text, "[");
	policy_load_text("f.json", text.bytes, text.length, NULL, 0, &policy, &error);
	tap_string(error.message, "f.json:1:65: more than 64 levels", "the level that is too deep is named");
	text.length = 0;
	for (int i = 0; i < 200000; i++)
		text_append(&text, "[");
	tap_number(policy_load_text("f.json", text.bytes, text.length, NULL, 0, &policy, &error), -EINVAL, "200000 levels do no harm");

	text.length = 0;
	text_append(&text, "{} // ");
	while (text.length < 1 << 20)
		text_append(&text, "x");
	tap_number(policy_load_text("f.json", text.bytes, text.length, NULL, 0, &policy, &error), 0, "1 MiB is read");
	policy_free(policy);
	text_append(&text, "x");
	tap_number(policy_load_text("f.json", text.bytes, text.length, NULL, 0, &policy, &error), -EINVAL, "a byte more is not");
	tap_contains(error.message, "larger than 1 MiB", "and the error says so");

	text.length = 0;
	text_append(&text, "{\"environment\": {\"set\": {");
	for (int i = 0; i < 20000; i++)
		text_printf(&text, "%s\"V%d\": \"\"", i ? ", " : "", i);
	text_append(&text, ", \"V7\": \"\"}}}");
	tap_number(policy_load_text("f.json", text.bytes, text.length, NULL, 0, &policy, &error), -EINVAL,
		   "one duplicate among 20000 keys is found");
	tap_contains(error.message, "duplicate key \"V7\"", "and named");
	text_free(&text);
}

int main(void)
{
	char *records = read_file(mistakes);
	if (tap_ok(records != NULL, "%s can be read from the top of the project", mistakes))
		test_mistakes(records);
	free(records);
	test_raw_bytes();
	test_depth_and_size();
	return tap_done();
}
