/* The JSON of a verdict: one golden file per outcome, and bytes that no JSON can hold as they are. */
#include "golden.h"
#include "verdict_samples.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- what holds for every verdict ---- */

static bool has_control(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)line[i], next = (unsigned char)line[i + 1];
		if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && next >= 0x80 && next <= 0x9F))
			return true;
	}
	return false;
}

static void check_line(const char *name, const char *line)
{
	size_t length = strlen(line);
	tap_ok(length > 1 && line[length - 1] == '\n', "%s: ends in a newline", name);
	tap_ok(!has_control(line, length - 1), "%s: one line, without control characters", name);
	tap_ok(utf8_valid(line, length), "%s: is UTF-8", name);
	cJSON *parsed;
	struct error error;
	tap_ok(verdict_parse(line, length, &parsed, &error) == 0, "%s: is read back", name);
	cJSON_Delete(parsed);
}

/* The version is not part of what a golden file pins. */
static char *without_version(const char *line)
{
	static const char key[] = "\"bailiff\":\"" BAILIFF_VERSION "\"";
	const char *found = strstr(line, key);
	if (!tap_ok(found, "the version is there"))
		return text_duplicate(line);
	return text_format("%.*s\"bailiff\":\"0.0.0\"%s", (int)(found - line), line, found + strlen(key));
}

static void test_sample(const char *name, void (*fill)(struct run *run))
{
	struct run run;
	run_start(&run);
	fill(&run);
	cJSON *verdict = verdict_build(run.record, &run.context);
	auto_free char *line = verdict_print(verdict);
	auto_free char *summary = verdict_summary(run.record, &run.context);
	check_line(name, line);
	tap_string(json_string(verdict, "summary"), summary, "%s: the summary is the same alone", name);

	auto_free char *file = text_format("verdict_%s.json", name);
	auto_free char *pinned = without_version(line);
	golden_compare(file, pinned);
	cJSON_Delete(verdict);
	run_end(&run);
}

/* ---- single faults ---- */

static cJSON *built(struct run *run)
{
	return verdict_build(run->record, &run->context);
}

static void test_strange_name(void)
{
	struct run run;
	run_start(&run);
	strange_name(&run);
	cJSON *verdict = built(&run);
	const cJSON *path = json_get(json_get(verdict, "first_failure"), "path");
	tap_string(json_string(path, "given"), "/tmp/a\n{\"status\":\"completed\"}\033[31m\x7f\xc2\x9b\xEF\xBF\xBD",
		   "what is not UTF-8 becomes U+FFFD");
	tap_string(json_string(path, "given_base64"), "L3RtcC9hCnsic3RhdHVzIjoiY29tcGxldGVkIn0bWzMxbX/Cm/8=",
		   "and the exact bytes stand beside it");
	tap_contains(json_string(verdict, "summary"), "reading /tmp/a\\x0a{", "a summary stays one line");
	tap_string(json_string(verdict, "status"), "policy_blocked", "a name does not forge a status");
	cJSON_Delete(verdict);
	run_end(&run);
}

static void test_valid_name_has_no_base64(void)
{
	struct run run;
	run_start(&run);
	ended(&run, 0, SIGKILL);
	blocked_read(latch(&run), "/tmp/caf\xc3\xa9", "/tmp/caf\xc3\xa9");
	cJSON *verdict = built(&run);
	const cJSON *path = json_get(json_get(verdict, "first_failure"), "path");
	tap_string(json_string(path, "given"), "/tmp/caf\xc3\xa9", "UTF-8 stays as it is");
	tap_ok(!json_get(path, "given_base64"), "and has no base64 form");
	cJSON_Delete(verdict);
	run_end(&run);
}

/* The tracer may have been killed over it: what is not marked as whole is not shown, and no count is believed. */
static void test_unfinished_explanation(void)
{
	struct run run;
	run_start(&run);
	script_explained(&run);
	run.record->explanation.captured = false;
	cJSON *verdict = built(&run);
	tap_number(json_length(json_get(verdict, "first_failure"), "script"), 0, "frames that are not whole are left out");
	tap_ok(!strstr(json_string(verdict, "summary"), "job.py"), "and the summary does not name them");
	cJSON_Delete(verdict);

	run.record->explanation.captured = true;
	run.record->explanation.stack_count = UINT32_MAX;
	run.record->explanation.script_count = UINT32_MAX;
	memset(run.record->explanation.script[2].source, 'x', sizeof(run.record->explanation.script[2].source));
	verdict = built(&run);
	const cJSON *failure = json_get(verdict, "first_failure");
	tap_number(json_length(failure, "stack"), RECORD_STACK_FRAME_MAX, "a count beyond the record's is cut");
	tap_number(json_length(failure, "script"), RECORD_SCRIPT_FRAME_MAX, "for scripts too");
	const char *source = json_string(cJSON_GetArrayItem(json_get(failure, "script"), 2), "source");
	tap_number((long long)strlen(source), sizeof(run.record->explanation.script[2].source), "text without an end stays in its field");
	cJSON_Delete(verdict);
	run_end(&run);
}

/* A path cut by the record's bound within a character is text, not bytes. */
static void test_cut_name(void)
{
	struct run run;
	run_start(&run);
	ended(&run, 0, SIGKILL);
	struct record_failure *failure = latch(&run);
	blocked_read(failure, "/x", "/x");
	char name[RECORD_PATH_BYTES + 2];
	memset(name, 'n', sizeof(name));
	name[0] = '/';
	memcpy(name + RECORD_PATH_BYTES - 1, "\xc3\xa9", 2);
	record_bytes_set(&failure->given, name, RECORD_PATH_BYTES + 1);
	cJSON *verdict = built(&run);
	const cJSON *path = json_get(json_get(verdict, "first_failure"), "path");
	tap_number((long long)strlen(json_string(path, "given")), RECORD_PATH_BYTES - 1, "a character cut in two is left out");
	tap_ok(!json_get(path, "given_base64") && cJSON_IsTrue(json_get(path, "truncated")), "the rest is text, and said to be cut");
	cJSON_Delete(verdict);
	run_end(&run);
}

static void test_words_that_are_bytes(void)
{
	static char *strange[] = { "printf", "\xff\xfe", "", NULL };
	struct run run;
	run_start(&run);
	run.context.command = strange;
	cJSON *verdict = built(&run);
	const cJSON *envelope = json_get(verdict, "envelope");
	const cJSON *words = json_get(envelope, "command"), *exact = json_get(envelope, "command_base64");
	tap_number(cJSON_GetArraySize(words), 3, "an empty argument is an argument");
	tap_string(cJSON_GetStringValue(cJSON_GetArrayItem(words, 1)), "\xEF\xBF\xBD\xEF\xBF\xBD", "an argument that is no UTF-8");
	tap_string(cJSON_GetStringValue(cJSON_GetArrayItem(exact, 1)), "//4=", "and its bytes");
	tap_string(cJSON_GetStringValue(cJSON_GetArrayItem(exact, 0)), "cHJpbnRm", "all of them are given then");
	cJSON_Delete(verdict);
	run_end(&run);
}

static void test_numbers(void)
{
	struct run run;
	run_start(&run);
	run.record->usage.wall_ms = -5;
	run.record->usage.cpu_ms = INT64_MIN;
	run.record->usage.stops = UINT64_MAX;
	run.record->usage.peak_memory_bytes = INT64_MAX;
	cJSON *verdict = built(&run);
	const cJSON *usage = json_get(verdict, "usage");
	tap_number(json_number(usage, "wall_ms"), 0, "a time is never negative");
	tap_number(json_number(usage, "cpu_ms"), 0, "not even at the end of its range");
	tap_ok(json_number(usage, "stops") >= 0, "nor is a count");
	tap_number(json_number(usage, "peak_memory_bytes"), 1LL << 53, "what a double cannot count ends at 2^53");
	auto_free char *line = verdict_print(verdict);
	tap_ok(!strstr(line, ":-"), "no number in the whole verdict is negative");
	cJSON_Delete(verdict);
	run_end(&run);
}

static void test_secrets(void)
{
	struct run run;
	run_start(&run);
	cJSON *verdict = built(&run);
	auto_free char *line = verdict_print(verdict);
	tap_contains(line, "{\"name\":\"PATH\",\"value\":\"/usr/bin:/bin\"}", "what the policy file sets is shown");
	tap_contains(line, "{\"name\":\"TOKEN\"}", "what the command line sets is named");
	tap_ok(!strstr(line, "secret"), "and not shown");
	tap_ok(!strstr(line, "nonexistent"), "nor is anything else of the environment");
	cJSON_Delete(verdict);
	run_end(&run);
}

/* What a writer that was killed may leave: counts and lengths beyond their bounds. */
static void test_broken_record(void)
{
	struct run run;
	run_start(&run);
	struct record_failure *failure = latch(&run);
	failure->rule = RULE_BLOCKED_READ;
	failure->has_path = failure->has_process = true;
	failure->given.length = failure->process.argv_length = failure->ancestry[0].argv_length = UINT32_MAX;
	failure->considered_count = failure->suggestion_count = failure->ancestry_count = failure->chain_count = UINT32_MAX;
	run.record->violation_recorded = run.record->note_count = UINT32_MAX;
	run.record->usage.left_running_count = UINT32_MAX;
	cJSON *verdict = built(&run);
	auto_free char *line = verdict_print(verdict);
	check_line("a broken record", line);
	cJSON_Delete(verdict);
	run_end(&run);
}

/* Every byte that the record can hold, at random: the line must be valid whatever comes in. */
static void test_random_bytes(void)
{
	unsigned seed = 1;
	bool valid = true;
	for (int round = 0; round < 200 && valid; round++) {
		struct run run;
		run_start(&run);
		ended(&run, 0, SIGKILL);
		record_first_claim(run.record);
		record_first_done(run.record);
		struct record_failure *failure = &run.record->first;
		unsigned char bytes[600];
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(rand_r(&seed) >> 5);
		blocked_read(failure, "/", "/");
		record_bytes_set(&failure->given, bytes, 300);
		memcpy(failure->target, bytes + 100, 400);
		memcpy(failure->process.argv, bytes, sizeof(bytes));
		failure->process.argv_length = sizeof(bytes);
		memcpy(failure->policy.file, bytes + 300, 200);
		run.context.captured[0] = (struct verdict_captured){ bytes, sizeof(bytes) };
		run.record->output[0].truncated = round & 1;
		cJSON *verdict = built(&run);
		auto_free char *line = verdict_print(verdict);
		cJSON *parsed = cJSON_Parse(line);
		size_t length = strlen(line);
		valid = utf8_valid(line, length) && !has_control(line, length - 1) && parsed;
		cJSON_Delete(parsed);
		cJSON_Delete(verdict);
		run_end(&run);
	}
	tap_ok(valid, "random bytes everywhere give a valid line (seed %u)", seed);
}

static void test_parse_error(const char *text, const char *expected, const char *name)
{
	cJSON *verdict;
	struct error error = { 0 };
	int result = verdict_parse(text, strlen(text), &verdict, &error);
	tap_ok(result == -EINVAL && !verdict, "%s is refused", name);
	tap_string(error.message, expected, "%s: where and why", name);
}

static void test_parse(void)
{
	test_parse_error("", "1:1: no verdict: a value belongs here, but the text ends here", "nothing");
	test_parse_error("{\n  \"schema\": tru\n}", "2:13: no verdict: tru is no value; strings stand in double quotes", "a bad word");
	test_parse_error("{\"schema\":\"bailiff.verdict/1\"}\nmore", "2:1: no verdict: nothing belongs behind the value, not 'm'", "text behind the verdict");
	test_parse_error("// a policy\n{\"schema\":\"bailiff.verdict/1\"}", "1:1: no verdict: a value belongs here, not '/'", "a comment");
	test_parse_error("{\"schema\":\"bailiff.verdict/1\",\n\"exit\":{\"code\":0,\"c\\u006fde\":1}}",
			 "2:18: no verdict: duplicate key \"code\"; it stands on line 2 already", "a key twice, once escaped");
	test_parse_error("{\"schema\":\"bailiff.verdict/1\",\"x\":[\"a\\u0000b\"]}",
			 "1:36: no verdict: this string holds a zero byte, written \\u0000", "a NUL in a string");
	test_parse_error("{\"schema\":\"bailiff.verdict/1\",\"x\\u0000y\":1}",
			 "1:33: no verdict: a zero byte, written \\u0000", "a NUL in a key");
	test_parse_error("[]", "1:1: this is JSON, but no verdict: \"schema\" is not \"bailiff.verdict/1\"", "an array");
	test_parse_error("{\"schema\":1}", "1:1: this is JSON, but no verdict: \"schema\" is not \"bailiff.verdict/1\"", "a number as schema");
	test_parse_error("{\"schema\":\"bailiff.verdict/2\"}",
			 "1:1: a verdict of schema \"bailiff.verdict/2\"; this version reads \"bailiff.verdict/1\"", "a later schema");

	cJSON *verdict;
	const char good[] = "  {\"schema\":\"bailiff.verdict/1\"} \r\n\t";
	tap_number(verdict_parse(good, strlen(good), &verdict, NULL), 0, "white space around a verdict is fine");
	cJSON_Delete(verdict);

	const char quoted[] = "{\"schema\":\"bailiff.verdict/1\",\"summary\":\"\\\\u0000\"}";
	tap_number(verdict_parse(quoted, strlen(quoted), &verdict, NULL), 0, "a backslash in front of u0000 is text");
	tap_string(json_string(verdict, "summary"), "\\u0000", "and it stays");
	cJSON_Delete(verdict);

	const char printed[] = "{\"schema\":\"bailiff.verdict/1\",\"output\":{\"stdout\":{\"text\":\"a\\u0000b\"}}}";
	tap_number(verdict_parse(printed, strlen(printed), &verdict, NULL), 0, "a program may print a NUL");
	cJSON_Delete(verdict);

	char deep[4000];
	memset(deep, '[', sizeof(deep));
	tap_ok(verdict_parse(deep, sizeof(deep), &verdict, NULL) == -EINVAL, "nesting without end is refused");
}

static void test_names(void)
{
	tap_string(signal_text(SIGKILL), "SIGKILL", "a signal by name");
	tap_string(signal_text(SIGRTMIN), "SIGRTMIN", "the first real-time signal");
	tap_string(signal_text(SIGRTMIN + 3), "SIGRTMIN+3", "a real-time signal");
	tap_string(signal_text(SIGRTMAX), "SIGRTMIN+30", "the last one");
	tap_string(signal_text(33), "signal 33", "a signal that libc keeps for itself");
	tap_string(signal_text(-1), "signal -1", "no signal");
	tap_string(errno_text(EACCES), "EACCES", "an errno by name");
	tap_string(errno_text(999), "errno 999", "an errno without a name");
	tap_string(errno_text(-13), "errno -13", "a negative one is not taken for its number");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		test_sample(samples[i].name, samples[i].fill);
	test_strange_name();
	test_valid_name_has_no_base64();
	test_unfinished_explanation();
	test_cut_name();
	test_words_that_are_bytes();
	test_numbers();
	test_secrets();
	test_broken_record();
	test_random_bytes();
	test_parse();
	test_names();
	return tap_done();
}
