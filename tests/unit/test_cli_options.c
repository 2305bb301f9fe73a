/* The command line of `run`: what is taken, what is refused, and in which words. */
#include "tap.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/run_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

struct line {
	int argc;
	char *argv[WORDS_MAX + 1];
};

/* "bailiff run" and the words up to NULL. */
static struct line line_of(const char *const *words)
{
	struct line line = { .argc = 2, .argv = { (char *)"bailiff", (char *)"run" } };
	for (; *words && line.argc < WORDS_MAX; words++)
		line.argv[line.argc++] = (char *)*words;
	return line;
}

static int parse(const char *const *words, struct run_options *options, struct error *error)
{
	static struct line line; /* the options borrow from it */
	line = line_of(words);
	return run_options_parse(line.argc, line.argv, options, error);
}

#define PARSE(options, error, ...) parse((const char *const[]){ __VA_ARGS__, NULL }, (options), (error))

static void test_refused(const char *expected, const char *const *words)
{
	struct run_options options;
	struct error error = { 0 };
	int result = parse(words, &options, &error);
	tap_ok(result < 0, "refused: %s %s", words[0] ? words[0] : "", words[0] && words[1] ? words[1] : "");
	tap_string(error.message, expected, "in these words");
	if (result == 0)
		run_options_free(&options);
}

#define REFUSED(expected, ...) test_refused((expected), (const char *const[]){ __VA_ARGS__, NULL })

static void test_refusals(void)
{
	REFUSED("no command to run; see \"bailiff help run\"", NULL);
	REFUSED("no command to run; see \"bailiff help run\"", "--");
	REFUSED("the command to run is empty", "");
	REFUSED("unknown option \"--wal\"; did you mean \"--wall\"?", "--wal", "3s", "true");
	REFUSED("unknown option \"--wal\"; did you mean \"--wall\"?", "--wal=3s", "true");
	REFUSED("unknown option \"--no-such-thing-at-all\"; see \"bailiff help run\"", "--no-such-thing-at-all", "true");
	REFUSED("unknown option \"-x\"; see \"bailiff help run\"", "-x", "true");
	REFUSED("unknown option \"--a\\x1b[2J\"; see \"bailiff help run\"", "--a\033[2J", "true");
	REFUSED("--wall needs a value: --wall DURATION", "--wall");
	REFUSED("--policy needs a value: --policy FILE|NAME", "-p");
	REFUSED("--policy: the value is empty", "--policy=", "true");
	REFUSED("--policy: the value is empty", "-p", "", "true");
	REFUSED("--json takes no value", "--json=yes", "true");
	REFUSED("--wall: \"3\": not a duration; write it like 500ms, 3s, 2m or none", "--wall", "3", "true");
	REFUSED("--cpu: \"0s\": 0 is no limit; write \"none\" to lift it", "--cpu", "0s", "true");
	REFUSED("--output: \"1T\": not a size; write it like 2000, 64K, 512M, 2G or none", "--output", "1T", "true");
	REFUSED("--output: \"-1\": not a size; write it like 2000, 64K, 512M, 2G or none", "--output", "-1", "true");
	REFUSED("--wall: \"3\\x1b[2J\": not a duration; write it like 500ms, 3s, 2m or none", "--wall", "3\033[2J", "true");
	REFUSED("--processes: \"99999999999999999999\": the number is out of range", "--processes", "99999999999999999999", "true");
	REFUSED("--on-violation: \"ignore\": write kill, deny or log", "--on-violation", "ignore", "true");
	REFUSED("--landlock: \"on\": write auto, require or off", "--landlock", "on", "true");
	REFUSED("--env: the name in front of \"=\" is empty", "--env", "=x", "true");
	REFUSED("--env: a control character in the name", "--env", "A\nB=1", "true");
	REFUSED("--fd: \"stdin\": not a descriptor; write its number", "--fd", "stdin", "true");
	REFUSED("--fd: \"-1\": not a descriptor; write its number", "--fd", "-1", "true");
	REFUSED("--fd: \"99999999999999999999\": not a descriptor; write its number", "--fd", "99999999999999999999", "true");
	REFUSED("--fd: 0, 1 and 2 are always kept", "--fd", "2", "true");
	REFUSED("--fd: 987: Bad file descriptor", "--fd", "987", "true");
	REFUSED("--verdict: fd:987: Bad file descriptor", "-o", "fd:987", "true");
	REFUSED("--events: fd:987: Bad file descriptor", "--events", "fd:987", "true");
	REFUSED("--cwd: /nonexistent/x: No such file or directory", "--cwd", "/nonexistent/x", "true");
	REFUSED("--cwd: /dev/null: Not a directory", "--cwd", "/dev/null", "true");
	REFUSED("--script: /dev/null is not a regular file", "--script", "/dev/null", "true");
	REFUSED("--stdin: /: Is a directory", "--stdin", "/", "true");
	REFUSED("--put: a/b: a name in the workspace has no slash", "--put", "/etc/passwd:a/b", "true");
	REFUSED("--put: .. is no name of a file", "--put", "/etc/..", "true");
	REFUSED("--put: the name in the workspace is empty", "--put", "/etc/", "true");
	REFUSED("--put: the name in the workspace is empty", "--put", "/etc/passwd:", "true");
	REFUSED("--put: the path outside the workspace is empty", "--put", ":a", "true");
	REFUSED("--put: a is named twice", "--put", "b/a", "--put", "c:a", "true");
	REFUSED("--get: ../a: a name in the workspace has no slash", "--get", "../a", "true");
	REFUSED("--get: . is no name of a file", "--get", ".:a", "true");
	REFUSED("--get: the name in the workspace is empty", "--get", ":a", "true");
	REFUSED("--get: the path outside the workspace is empty", "--get", "a:", "true");
	REFUSED("--get: a is named twice", "--get", "a:b", "--get", "a:c", "true");
	REFUSED("--replay: the command is that of the verdict; it takes none", "--replay", "v.json", "true");
	REFUSED("--allow-changes goes with --replay", "--allow-changes", "true");
	REFUSED("--stdin: /nonexistent/x: No such file or directory", "--stdin", "/nonexistent/x", "true");
}

/* What is not enforced is refused by name, in either spelling, and without looking at its value. */
static void test_unavailable(void)
{
	static const char *const names[] = {
		"progress", "engine",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *option = text_format("--%s", names[i]), *glued = text_format("--%s=1", names[i]);
		char *expected = text_format("--%s is not available in this version", names[i]);
		REFUSED(expected, option, "1", "true");
		REFUSED(expected, glued, "true");
		free(expected);
		free(glued);
		free(option);
	}
}

/* Each limit that is to have an option has it. */
static void test_limits_have_options(void)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		const struct limit_row *limit = &limit_rows[i];
		if (!limit->option)
			continue;
		const struct option_row *row = run_command.options;
		while (row->name && strcmp(row->name, limit->option) != 0)
			row++;
		tap_ok(row->name && row->help, "--%s sets limits.%s", limit->option, limit->key);
	}
}

static void test_everything(void)
{
	struct run_options options;
	struct error error;
	int result = PARSE(&options, &error, "-p", "csv.json", "-o", "out.json", "--json", "--capture", "--events", "fd:2", "--cwd", "/",
			   "--stdin", "/dev/null", "--script", __FILE__, "--workspace", "python3", "-p", "--json", "--");
	tap_number(result, 0, "all plain options at once");
	if (result < 0)
		return;
	tap_string(options.policy, "csv.json", "-p");
	tap_string(options.verdict, "out.json", "-o");
	tap_string(options.events, "fd:2", "--events");
	tap_string(options.cwd, "/", "--cwd");
	tap_string(options.stdin_file, "/dev/null", "--stdin");
	tap_string(options.script, __FILE__, "--script");
	tap_ok(options.json && options.capture && options.workspace, "flags");
	tap_string(options.command[0], "python3", "the first operand is the command");
	tap_string(options.command[1], "-p", "its own options are not looked at");
	tap_string(options.command[3], "--", "nor is a double dash");
	tap_ok(!options.command[4], "and it ends where argv ends");
	run_options_free(&options);
}

static void test_copy(const struct copy_wish *wish, const char *inside, const char *outside)
{
	tap_string(wish->inside, inside, "%s: the name inside", inside);
	tap_string(wish->outside ? wish->outside : "(same)", outside, "%s: the path outside", inside);
}

static void test_copies(void)
{
	struct run_options options;
	struct error error;
	int result = PARSE(&options, &error, "--put", "/a/b", "--put", "a:b:c", "--put", "d", "--get", "x", "--get", "y:/z:1", "true");
	tap_number(result, 0, "files in and out");
	if (result < 0 || !tap_number((long long)options.put.count, 3, "in") || !tap_number((long long)options.get.count, 2, "out"))
		return;
	tap_ok(options.workspace && !options.keep_workspace, "the private folder is where the run starts");
	test_copy(&options.put.items[0], "b", "/a/b");
	test_copy(&options.put.items[1], "c", "a:b");
	test_copy(&options.put.items[2], "d", "d");
	test_copy(&options.get.items[0], "x", "(same)");
	test_copy(&options.get.items[1], "y", "/z:1");
	run_options_free(&options);
	tap_number(PARSE(&options, &error, "--keep-workspace", "true"), 0, "a folder to keep");
	tap_ok(!options.workspace && options.keep_workspace, "is not where the run starts");
	run_options_free(&options);
}

static void test_nothing(void)
{
	struct run_options options;
	struct error error;
	tap_number(PARSE(&options, &error, "true"), 0, "a command alone");
	tap_ok(!options.policy && !options.verdict && !options.events && !options.cwd && !options.stdin_file && !options.script,
	       "nothing is set that was not given");
	tap_ok(!options.json && !options.capture && !options.workspace, "no flag either");
	tap_number((long long)(options.overrides.count + options.keep_fd_count), 0, "and no list");
	run_options_free(&options);
}

static void test_override(const struct policy_override *override, int kind, int id, const char *text, unsigned argv_index)
{
	tap_number((long long)override->kind, kind, "%s: kind", text);
	tap_number(override->id, id, "%s: list or limit", text);
	tap_string(override->text, text, "%s: text", text);
	tap_number(override->argv_index, argv_index, "%s: the word of argv", text);
}

static void test_overrides(void)
{
	struct run_options options;
	struct error error;
	int result = PARSE(&options, &error, "--read", "a", "--write=b", "--execute", "c", "--deny", "d", "--hide", "e", "--connect",
			   "f:1", "--bind", "g:2", "--wall", "3s", "--cpu=none", "--output", "64K", "--env", "A", "--env", "B=1=2",
			   "--on-violation", "log", "--read", "h", "--", "-p");
	tap_number(result, 0, "all options that change the policy");
	if (result < 0 || !tap_number((long long)options.overrides.count, 14, "each is one override"))
		return;
	const struct policy_override *items = options.overrides.items;
	test_override(&items[0], OVERRIDE_LIST, LIST_READ, "a", 3);
	test_override(&items[1], OVERRIDE_LIST, LIST_WRITE, "b", 4);
	test_override(&items[2], OVERRIDE_LIST, LIST_EXECUTE, "c", 6);
	test_override(&items[3], OVERRIDE_LIST, LIST_DENY, "d", 8);
	test_override(&items[4], OVERRIDE_LIST, LIST_HIDE, "e", 10);
	test_override(&items[5], OVERRIDE_LIST, LIST_CONNECT, "f:1", 12);
	test_override(&items[6], OVERRIDE_LIST, LIST_BIND, "g:2", 14);
	test_override(&items[7], OVERRIDE_LIMIT, LIMIT_WALL, "3s", 16);
	test_override(&items[8], OVERRIDE_LIMIT, LIMIT_CPU, "none", 17);
	test_override(&items[9], OVERRIDE_LIMIT, LIMIT_OUTPUT, "64K", 19);
	test_override(&items[10], OVERRIDE_ENVIRONMENT, 0, "A", 21);
	test_override(&items[11], OVERRIDE_ENVIRONMENT, 0, "B=1=2", 23);
	test_override(&items[12], OVERRIDE_ON_VIOLATION, 0, "log", 25);
	test_override(&items[13], OVERRIDE_LIST, LIST_READ, "h", 27);
	tap_string(options.command[0], "-p", "behind -- a command may start with a dash");
	run_options_free(&options);
}

static void test_spellings(void)
{
	struct run_options options;
	struct error error;
	tap_number(PARSE(&options, &error, "-pcsv.json", "-o-", "-", "x"), 0, "values glued to a letter");
	tap_string(options.policy, "csv.json", "-pVALUE");
	tap_string(options.verdict, "-", "-o-");
	tap_string(options.command[0], "-", "a dash alone is an operand");
	run_options_free(&options);
	tap_number(PARSE(&options, &error, "--policy=a=b", "-p", "--last", "true"), 0, "an = in a value, and a value with dashes");
	tap_string(options.policy, "--last", "the last one given counts");
	run_options_free(&options);
}

static void test_descriptors(void)
{
	int ends[2], pair[2];
	struct run_options options;
	struct error error;
	if (!tap_ok(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pipe and a pair of sockets"))
		return;
	char *reading = text_format("%d", ends[0]), *writing = text_format("%d", ends[1]), *socket_end = text_format("%d", pair[0]);
	char *to_reading = text_format("fd:%d", ends[0]), *to_writing = text_format("fd:%d", ends[1]);
	char *refusal = text_format("--fd: %d is a socket, which is refused", pair[0]);
	char *not_writable = text_format("--verdict: fd:%d is not open for writing", ends[0]);

	tap_number(PARSE(&options, &error, "--fd", reading, "--fd", writing, "--fd", reading, "-o", to_writing, "true"), 0, "open ones");
	tap_number((long long)options.keep_fd_count, 2, "the same one twice is kept once");
	tap_ok(options.keep_fd_count == 2 && options.keep_fds[0] == ends[0] && options.keep_fds[1] == ends[1], "in the order given");
	run_options_free(&options);
	REFUSED(refusal, "--fd", socket_end, "true");
	REFUSED(not_writable, "-o", to_reading, "true");

	free(not_writable);
	free(refusal);
	free(to_writing);
	free(to_reading);
	free(socket_end);
	free(writing);
	free(reading);
}

static void test_help(const char *const *words, bool asked, const char *name)
{
	struct line line = line_of(words);
	tap_ok(options_ask_help(&run_command, line.argc, line.argv) == asked, "help: %s", name);
}

#define HELP(asked, name, ...) test_help((const char *const[]){ __VA_ARGS__, NULL }, (asked), (name))

static void test_helps(void)
{
	HELP(true, "--help", "--help");
	HELP(true, "-h", "-h");
	HELP(true, "behind other options", "-p", "x", "--json", "--help", "true");
	HELP(false, "as the value of an option", "-p", "--help", "true");
	HELP(false, "of the command", "true", "--help");
	HELP(false, "behind --", "--", "--help");
	HELP(false, "nothing", NULL);
	HELP(false, "behind an unknown option", "--nope", "--help");
}

/* Options and operands of the other commands may be mixed. */
static void test_mixed_operands(void)
{
	char *argv[] = { (char *)"bailiff", (char *)"policy", (char *)"show", (char *)"--source", (char *)"default", NULL };
	bool source = false;
	struct operands operands;
	struct error error;
	tap_number(options_parse(&policy_command, 5, argv, &source, &operands, &error), 0, "an option between operands");
	tap_ok(source && operands.count == 2 && operands.first == 2, "is found, and so are the operands");
	tap_string(operands.items[1], "default", "in order");
	operands_free(&operands);
}

int main(void)
{
	test_refusals();
	test_unavailable();
	test_limits_have_options();
	test_nothing();
	test_copies();
	test_everything();
	test_overrides();
	test_spellings();
	test_descriptors();
	test_helps();
	test_mixed_operands();
	return tap_done();
}
