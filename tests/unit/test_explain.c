/* A verdict in words: what each golden verdict reads as, and verdicts that someone has made up. */
#include "golden.h"

#include "base/cleanup.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { SCREEN_LINES = 40 };

static const char *const samples[] = {
	"completed",  "connect_killed", "denied_and_went_on", "logged",      "logged_then_timeout",
	"wall_limit", "output_limit",   "captured_bytes",     "exit_code",   "exit_signal",
	"interrupted", "no_such_command", "tracer_failed",    "refused_call", "strange_name",
	"script_explained", "native_explained", "not_explained",
};

/* Owned by the caller. */
static char *words_of(const char *json, bool colour)
{
	cJSON *verdict = cJSON_Parse(json);
	struct text text = { 0 };
	explain_words(verdict, colour, &text);
	cJSON_Delete(verdict);
	return text.bytes ? text.bytes : text_duplicate("");
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Removes the sequences that explain_words itself writes: ESC [ digits and semicolons m. */
static char *without_colour(const char *text)
{
	struct text plain = { 0 };
	while (*text) {
		size_t step = 0;
		if (text[0] == '\033' && text[1] == '[')
			step = 2 + strspn(text + 2, "0123456789;");
		if (step && text[step] == 'm')
			text += step + 1;
		else
			text_append_bytes(&plain, text++, 1);
	}
	return plain.bytes ? plain.bytes : text_duplicate("");
}

static bool is_terminal_safe(const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text, next = (unsigned char)text[1];
		if ((byte < 0x20 && byte != '\n') || byte == 0x7F || (byte == 0xC2 && next >= 0x80 && next <= 0x9F))
			return false;
	}
	return true;
}

static void test_sample(const char *name)
{
	auto_free char *source = text_format("verdict_%s.json", name);
	auto_free char *target = text_format("explain_%s.txt", name);
	auto_free char *json = golden_read(source);
	tap_ok(*json, "tests/golden/%s is there", source);
	auto_free char *words = words_of(json, false);
	golden_compare(target, words);
	tap_ok(lines_of(words) <= SCREEN_LINES, "%s: one screen (%u lines)", name, lines_of(words));
	tap_ok(is_terminal_safe(words) && utf8_valid(words, strlen(words)), "%s: safe for a terminal", name);

	auto_free char *coloured = words_of(json, true);
	auto_free char *plain = without_colour(coloured);
	tap_ok(strcmp(coloured, words) != 0, "%s: colour where it is asked for", name);
	tap_string(plain, words, "%s: and the same words below it", name);
}

/* What a verdict from elsewhere may hold in place of what is expected. */
static const char *const odd[] = {
	"{}",
	"[]",
	"null",
	"{\"summary\":7,\"first_failure\":[1,2],\"exit\":\"x\",\"usage\":null,\"output\":3,"
	"\"violations\":{\"recorded\":7},\"notes\":\"n\",\"artifacts\":[7,{},{\"name\":\"n\"}]}",
	"{\"first_failure\":{\"policy\":{},\"considered\":[1,null,\"x\",{}],\"operation\":[],\"path\":\"p\","
	"\"process\":{\"argv\":{\"a\":1},\"ancestry\":[[],{}]},\"suggestions\":[7,{}],\"chain\":[1],\"answered\":5},"
	"\"violations\":{\"total\":-1,\"recorded\":[1,2,3,4,5,6]}}",
	"{\"usage\":{\"wall_ms\":1e308,\"cpu_ms\":-1e308,\"peak_memory_bytes\":1e300,\"left_running\":{\"total\":1e99,\"recorded\":[{}]}}}",
};

static void test_odd(void)
{
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		auto_free char *words = words_of(odd[i], false);
		tap_ok(*words && is_terminal_safe(words), "a made-up verdict is told as far as it goes: %s", odd[i]);
	}
}

/* Each string of a verdict, with a sequence that would move the cursor, and a line that would forge another field. */
static const char *const hostile[] = {
	"{\"summary\":\"%s\"}",
	"{\"error\":{\"stage\":\"%s\",\"errno\":\"%s\",\"message\":\"%s\"}}",
	"{\"exit\":{\"signal\":\"%s\",\"interrupted\":\"%s\"}}",
	"{\"first_failure\":{\"rule\":\"%s\",\"answered\":\"%s\",\"kernel_would\":\"%s\",\"chain\":[\"%s\"]}}",
	"{\"first_failure\":{\"policy\":{\"file\":\"%s\",\"pointer\":\"%s\"}}}",
	"{\"first_failure\":{\"considered\":[{\"file\":\"%s\",\"entry\":\"%s\",\"why\":\"%s\"}]}}",
	"{\"first_failure\":{\"rule\":\"policy_blocked\",\"operation\":{\"syscall\":\"%s\",\"access\":\"%s\",\"target\":\"%s\",\"host\":\"%s\",\"flags\":\"%s\"}}}",
	"{\"first_failure\":{\"rule\":\"policy_blocked\",\"path\":{\"given\":\"%s\",\"resolved\":\"x%s\"}}}",
	"{\"first_failure\":{\"process\":{\"exe\":\"%s\",\"cwd\":\"%s\",\"argv\":[\"%s\"],\"ancestry\":[{\"exe\":\"%s\"}]}}}",
	"{\"first_failure\":{\"suggestions\":[{\"pointer\":\"%s\",\"value\":\"%s\",\"opens\":\"%s\"}]}}",
	"{\"artifacts\":[{\"name\":\"%s\",\"saved_as\":\"%s\"},{\"name\":\"%s\",\"refused\":\"%s\"}]}",
	"{\"notes\":[{\"text\":\"%s\"}],\"usage\":{\"left_running\":{\"total\":1,\"recorded\":[{\"comm\":\"%s\"}]}}}",
	("{\"first_failure\":{\"stack\":[{\"function\":\"%s\",\"module\":\"a\"},{\"function\":\"%s\",\"module\":\"%s\"},{\"module\":\"a\"}],"
	 "\"script\":[{\"function\":\"%s\",\"file\":\"%s\",\"native\":0},{\"file\":\"%s\",\"native\":2}]}}"),
	"{\"violations\":{\"recorded\":[{\"rule\":\"%s\"},{\"path\":{\"resolved\":\"%s\"},\"operation\":{\"target\":\"%s\",\"syscall\":\"%s\"}}]}}",
};

static char *replaced(const char *template, const char *value)
{
	struct text text = { 0 };
	for (; *template; template++) {
		if (template[0] == '%' && template[1] == 's') {
			text_append(&text, value);
			template++;
		} else {
			text_append_bytes(&text, template, 1);
		}
	}
	return text.bytes;
}

static void test_hostile(void)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		auto_free char *json = replaced(hostile[i], "\\u001b[2J\\u009b1m\\u007f\\r\\nstatus: completed\\b\\u202e\\u2066\\u2029");
		auto_free char *words = words_of(json, false);
		tap_ok(is_terminal_safe(words), "no control character gets through: %s", hostile[i]);
		tap_contains(words, "\\x1b[2J", "it is shown instead: %s", hostile[i]);
		tap_ok(!strstr(words, "\u202E") && !strstr(words, "\u2066") && !strstr(words, "\u2029"), "nothing stands reversed: %s",
		       hostile[i]);
		tap_contains(words, "\\xe2\\x80\\xae", "what would reverse it is shown: %s", hostile[i]);
		tap_ok(!strstr(words, "\nstatus: completed"), "no line is forged: %s", hostile[i]);
	}
}

static void test_long(void)
{
	struct text value = { 0 };
	for (int i = 0; i < 20000; i++)
		text_append(&value, "\xc3\xa9");
	for (size_t i = 1; i < sizeof(hostile) / sizeof(*hostile); i++) {
		auto_free char *json = replaced(hostile[i], text_string(&value));
		auto_free char *words = words_of(json, false);
		tap_ok(strlen(words) < 4000, "what is too long is cut: %s", hostile[i]);
		tap_ok(!strstr(words, "\xEF\xBF\xBD"), "and never within a character: %s", hostile[i]);
	}
	text_free(&value);
}

/* ---- a script that native code called back into ---- */

#define NATIVE(function, module) "{\"function\":\"" function "\",\"module\":\"" module "\"}"
#define SCRIPT(function, line, native) "{\"function\":\"" function "\",\"file\":\"job.py\",\"line\":" #line ",\"native\":" #native "}"

static void test_mixed(void)
{
	auto_free char *words = words_of("{\"first_failure\":{\"stack\":["
		NATIVE("open", "/lib/libc.so.6") "," NATIVE("file_open", "/bin/python") "," NATIVE("evaluate", "/bin/python") ","
		NATIVE("vector", "/bin/python") "," NATIVE("closure", "/lib/ffi.so") "," NATIVE("sort_inner", "/lib/libc.so.6") ","
		NATIVE("sort_part", "/lib/libc.so.6") "," NATIVE("sort", "/lib/libc.so.6") "," NATIVE("evaluate", "/bin/python") ","
		NATIVE("vector", "/bin/python") "," NATIVE("evaluate", "/bin/python") ","
		NATIVE("run_file", "/bin/python") "],\"script\":["
		SCRIPT("order", 4, 2) "," SCRIPT("job", 9, 8) "," SCRIPT("main", 12, 8) "," SCRIPT("start", 20, 10) "]}}", false);
	tap_contains(words,
		"  stack      open\n"
		"             file_open\n"
		"             evaluate\n"
		"               job.py:4 in order\n"
		"             vector\n"
		"             closure\n"
		"             sort, and 2 more of libc.so.6\n"
		"             evaluate\n"
		"               job.py:9 in job\n"
		"               job.py:12 in main\n"
		"             evaluate\n"
		"               job.py:20 in start\n",
		"frames of the script stand below those that run them");
	tap_ok(!strstr(words, "run_file"), "what began the script is left out");
}

/* Frames that point nowhere, more of them than a verdict has, and nothing but the interpreter between those that run any. */
static void test_unmixed(void)
{
	static const char *const scripts[] = {
		SCRIPT("job", 4, 9), SCRIPT("job", 4, -1), SCRIPT("job", 4, 1e300), SCRIPT("job", 4, "1"), SCRIPT("job", 4, null),
		SCRIPT("job", 4, 0) "," SCRIPT("job", 4, 2), "7,[],null",
	};
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		auto_free char *json = text_format("{\"first_failure\":{\"stack\":[" NATIVE("open", "a") "," NATIVE("b", "a") ","
			NATIVE("c", "a") "],\"script\":[%s]}}", scripts[i]);
		auto_free char *words = words_of(json, false);
		tap_contains(words, "  stack      open\n             b\n             c\n", "the native stack alone: %s", scripts[i]);
	}
	struct text many = { 0 };
	text_append(&many, "{\"first_failure\":{\"stack\":[0");
	for (int i = 0; i < 1000; i++)
		text_append(&many, "," NATIVE("f", "m"));
	text_append(&many, "],\"script\":[" SCRIPT("job", 4, 1));
	for (int i = 0; i < 1000; i++)
		text_append(&many, "," SCRIPT("job", 4, 900));
	text_append(&many, "]}}");
	auto_free char *words = words_of(text_string(&many), false);
	tap_ok(*words && lines_of(words) <= SCREEN_LINES, "more frames than there can be (%u lines)", lines_of(words));
	text_free(&many);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		test_sample(samples[i]);
	test_odd();
	test_hostile();
	test_long();
	test_mixed();
	test_unmixed();
	return tap_done();
}
