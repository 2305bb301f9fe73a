/* The latch, the lists, and the status that follows from them. */
#include "tap.h"

#include "base/text.h"
#include "verdict/record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct run_record *new_record(void)
{
	return memory_zeroed(1, sizeof(struct run_record));
}

static void latch(struct run_record *record, enum rule_id rule)
{
	if (!record_first_claim(record))
		return;
	record->first.rule = rule;
	record_first_done(record);
}

static void test_latch(void)
{
	struct run_record *record = new_record();
	tap_ok(!record_first(record), "no failure at first");
	tap_ok(record_first_claim(record), "the first claim succeeds");
	tap_ok(!record_first(record), "a claimed failure is not there until it is done");
	tap_ok(!record_first_claim(record), "the second claim fails");
	record->first.rule = RULE_BLOCKED_READ;
	record_first_done(record);
	tap_ok(record_first(record) == &record->first, "a failure that is done is there");
	tap_ok(!record_first_claim(record), "nothing later replaces it");
	free(record);
}

/* Front and tracer are two processes over one piece of memory. */
static void test_latch_between_processes(void)
{
	enum { PROCESSES = 8, ROUNDS = 50 };
	int wins = 0, latched = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct run_record *record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		int ready[2];
		if (record == MAP_FAILED || pipe(ready) != 0)
			break;
		for (int i = 0; i < PROCESSES; i++) {
			if (fork() != 0)
				continue;
			char byte;
			close(ready[1]);
			if (read(ready[0], &byte, 1) < 0 || !record_first_claim(record))
				_exit(0);
			record->first.rule = RULE_TIMEOUT_WALL;
			record_first_done(record);
			_exit(1);
		}
		close(ready[1]);
		close(ready[0]);
		int status;
		while (wait(&status) > 0)
			wins += WEXITSTATUS(status);
		latched += record_first(record) && record_first(record)->rule == RULE_TIMEOUT_WALL;
		munmap(record, sizeof(*record));
	}
	tap_number(wins, ROUNDS, "of many processes exactly one claims");
	tap_number(latched, ROUNDS, "and what it wrote is there for the others");
}

static struct record_failure *new_failure(enum rule_id rule, const char *call, const char *target, unsigned line)
{
	struct record_failure *failure = memory_zeroed(1, sizeof(*failure));
	failure->rule = rule;
	text_copy(failure->syscall, sizeof(failure->syscall), call);
	text_copy(failure->target, sizeof(failure->target), target);
	failure->policy.line = line;
	return failure;
}

static void add(struct run_record *record, enum rule_id rule, const char *call, const char *target, unsigned line)
{
	struct record_failure *failure = new_failure(rule, call, target, line);
	record_violation(record, failure);
	free(failure);
}

static void test_violations(void)
{
	struct run_record *record = new_record();
	add(record, RULE_BLOCKED_READ, "openat", "/a", 3);
	add(record, RULE_BLOCKED_READ, "openat", "/a", 3);
	add(record, RULE_BLOCKED_READ, "openat", "/b", 3);
	add(record, RULE_BLOCKED_READ, "open", "/a", 3);
	add(record, RULE_BLOCKED_READ, "openat", "/a", 4);
	add(record, RULE_BLOCKED_WRITE, "openat", "/a", 3);
	add(record, RULE_BLOCKED_READ, "openat", "/a", 3);
	tap_number(record->violation_total, 7, "every violation is counted");
	tap_number(record->violation_recorded, 5, "the same one is recorded once");
	tap_number(record->violations[0].count, 3, "with how often it was seen");
	tap_string(record->violations[1].target, "/b", "another target is another violation");
	tap_string(record->violations[2].syscall, "open", "so is another call");
	tap_number(record->violations[3].policy.line, 4, "so is another position");
	tap_number(record->violations[4].rule, RULE_BLOCKED_WRITE, "so is another rule");
	free(record);
}

static void test_many_violations(void)
{
	struct run_record *record = new_record();
	for (unsigned i = 0; i < 2 * RECORD_VIOLATION_MAX; i++) {
		char target[32];
		snprintf(target, sizeof(target), "/%u", i);
		add(record, RULE_BLOCKED_READ, "openat", target, 1);
	}
	add(record, RULE_BLOCKED_READ, "openat", "/0", 1);
	tap_number(record->violation_total, 2 * RECORD_VIOLATION_MAX + 1, "violations beyond the recorded ones count");
	tap_number(record->violation_recorded, RECORD_VIOLATION_MAX, "the list is bounded");
	tap_number(record->violations[0].count, 2, "a recorded one is still counted up when the list is full");
	tap_string(record->violations[RECORD_VIOLATION_MAX - 1].target, "/63", "the first ones are kept");
	free(record);
}

static void test_notes(void)
{
	struct run_record *record = new_record();
	record_note(record, "connect to %s answered %s", "192.0.2.1:9", "ENETUNREACH");
	record_note(record, "connect to %s answered %s", "192.0.2.1:9", "ENETUNREACH");
	record_note(record, "other");
	tap_number(record->note_count, 2, "the same note is kept once");
	tap_number((long long)record->notes[0].count, 2, "and counted");
	tap_string(record->notes[0].text, "connect to 192.0.2.1:9 answered ENETUNREACH", "a note's text is formatted");

	for (int i = 0; i < 2 * RECORD_NOTE_MAX; i++)
		record_note(record, "note %d", i);
	tap_number(record->note_count, RECORD_NOTE_MAX, "notes are bounded");
	tap_number(record->note_lost, 2 + RECORD_NOTE_MAX, "those beyond are counted as lost");

	char text[2000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct run_record *other = new_record();
	record_note(other, "%s", text);
	record_note(other, "%s", text);
	tap_number((long long)strlen(other->notes[0].text), (long long)sizeof(other->notes[0].text) - 1, "a long note is cut");
	tap_number((long long)other->notes[0].count, 2, "and still found again");
	free(other);
	free(record);
}

static void test_bytes(void)
{
	struct record_bytes *bytes = memory_zeroed(1, sizeof(*bytes));
	char path[RECORD_PATH_BYTES + 10];
	memset(path, 'p', sizeof(path));
	record_bytes_set(bytes, path, RECORD_PATH_BYTES);
	tap_ok(!bytes->truncated && bytes->length == RECORD_PATH_BYTES, "what just fits is whole");
	tap_ok(bytes->bytes[RECORD_PATH_BYTES] == '\0', "and ends in a NUL");
	record_bytes_set(bytes, path, RECORD_PATH_BYTES + 1);
	tap_ok(bytes->truncated && bytes->length == RECORD_PATH_BYTES, "one more byte is cut, and said so");
	record_bytes_set(bytes, "a\0b", 3);
	tap_ok(bytes->length == 3 && !bytes->truncated && memcmp(bytes->bytes, "a\0b", 4) == 0, "a NUL inside is kept");
	record_bytes_set(bytes, NULL, 0);
	tap_ok(bytes->length == 0 && bytes->bytes[0] == '\0', "nothing is nothing");
	free(bytes);
}

static void test_error(void)
{
	struct run_record *record = new_record();
	record_error(record, "seccomp", -EPERM, "cannot install %s", "the filter");
	record_error(record, "verdict", ENOSPC, "later");
	tap_ok(record->error.set, "an error is set");
	tap_string(record->error.stage, "seccomp", "the first error wins");
	tap_number(record->error.number, EPERM, "a negative errno is taken as its number");
	tap_string(record->error.message, "cannot install the filter", "the message is formatted");
	free(record);
}

/* One outcome of each kind, and the orders in which two of them can come. */
struct outcome {
	const char *name;
	enum rule_id first;          /* latched first */
	enum rule_id limit;          /* told by record_limit */
	enum rule_id listed;         /* a further entry of the violations */
	bool ended;
	int code, signal, interrupted;
	const char *stage;           /* of an error */
	int number;
	bool unfinished;             /* claimed, never done */
	enum run_status status, status_under_log;
	enum rule_id rule, rule_under_log;
	int exit, exit_under_log;
};

#define SAME(status_, rule_, exit_) .status = (status_), .status_under_log = (status_), .rule = (rule_), .rule_under_log = (rule_), \
	.exit = (exit_), .exit_under_log = (exit_)
#define NO_STATUS(exit_) SAME(STATUS_NONE, RULE_NONE, exit_)

static const struct outcome outcomes[] = {
	{ "exit 0", .ended = true, SAME(STATUS_COMPLETED, RULE_NONE, 0) },
	{ "exit 3", .ended = true, .code = 3, SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_EXIT, 3) },
	{ "exit 255", .ended = true, .code = 255, SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_EXIT, 255) },
	{ "SIGSEGV", .ended = true, .code = -1, .signal = SIGSEGV, SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_SIGNAL, 139) },
	{ "exit 3, latched by the engine", .first = RULE_ERROR_EXIT, .ended = true, .code = 3,
	  SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_EXIT, 3) },
	{ "a violation that killed", .first = RULE_BLOCKED_NETWORK, .ended = true, .code = -1, .signal = SIGKILL,
	  .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_NETWORK, .exit = 122,
	  .status_under_log = STATUS_RUNTIME_ERROR, .rule_under_log = RULE_ERROR_SIGNAL, .exit_under_log = 137 },
	{ "a violation, then exit 0", .first = RULE_BLOCKED_READ, .ended = true,
	  .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_READ, .exit = 122,
	  .status_under_log = STATUS_COMPLETED, .rule_under_log = RULE_NONE, .exit_under_log = 0 },
	{ "a violation, then exit 7", .first = RULE_BLOCKED_READ, .ended = true, .code = 7,
	  .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_READ, .exit = 122,
	  .status_under_log = STATUS_RUNTIME_ERROR, .rule_under_log = RULE_ERROR_EXIT, .exit_under_log = 7 },
	{ "a violation, then the wall limit", .first = RULE_BLOCKED_READ, .limit = RULE_TIMEOUT_WALL, .ended = true, .code = -1,
	  .signal = SIGKILL, .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_READ, .exit = 122,
	  .status_under_log = STATUS_TIMEOUT, .rule_under_log = RULE_TIMEOUT_WALL, .exit_under_log = 124 },
	{ "a violation, then a listed output limit", .first = RULE_BLOCKED_READ, .listed = RULE_LIMIT_OUTPUT, .ended = true,
	  .code = -1, .signal = SIGKILL, .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_READ, .exit = 122,
	  .status_under_log = STATUS_RESOURCE_LIMIT, .rule_under_log = RULE_LIMIT_OUTPUT, .exit_under_log = 123 },
	{ "the wall limit", .first = RULE_TIMEOUT_WALL, .ended = true, .code = -1, .signal = SIGKILL,
	  SAME(STATUS_TIMEOUT, RULE_TIMEOUT_WALL, 124) },
	{ "the CPU limit", .first = RULE_TIMEOUT_CPU, .ended = true, .code = -1, .signal = SIGKILL,
	  SAME(STATUS_TIMEOUT, RULE_TIMEOUT_CPU, 124) },
	{ "the output limit, then a violation", .first = RULE_LIMIT_OUTPUT, .listed = RULE_BLOCKED_READ, .ended = true, .code = -1,
	  .signal = SIGKILL, SAME(STATUS_RESOURCE_LIMIT, RULE_LIMIT_OUTPUT, 123) },
	{ "an output limit and an exit 0 that came with it", .first = RULE_LIMIT_OUTPUT, .ended = true,
	  SAME(STATUS_RESOURCE_LIMIT, RULE_LIMIT_OUTPUT, 123) },
	{ "the tracer failed", .stage = "supervise", .number = EIO, NO_STATUS(125) },
	{ "the tracer failed after a violation", .first = RULE_BLOCKED_READ, .stage = "supervise", .number = EIO,
	  .status = STATUS_POLICY_BLOCKED, .rule = RULE_BLOCKED_READ, .exit = 122,
	  .status_under_log = STATUS_NONE, .rule_under_log = RULE_NONE, .exit_under_log = 125 },
	{ "the tracer failed after exit 0", .ended = true, .stage = "supervise", .number = EIO, NO_STATUS(125) },
	{ "launch failed with ENOENT", .stage = "launch", .number = ENOENT, NO_STATUS(125) },
	{ "command not found", .stage = "command", .number = ENOENT, NO_STATUS(127) },
	{ "command below a file", .stage = "command", .number = ENOTDIR, NO_STATUS(127) },
	{ "command without x", .stage = "command", .number = EACCES, NO_STATUS(126) },
	{ "command is no program", .stage = "command", .number = ENOEXEC, NO_STATUS(126) },
	{ "command is a directory", .stage = "command", .number = EISDIR, NO_STATUS(126) },
	{ "command cannot start for want of memory", .stage = "command", .number = ENOMEM, NO_STATUS(125) },
	{ "a failure that was never finished", .unfinished = true, .ended = true, NO_STATUS(125) },
	{ "nothing at all is known", NO_STATUS(125) },
	{ "interrupted", .interrupted = SIGINT, SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_SIGNAL, 130) },
	{ "interrupted, the program killed by it", .interrupted = SIGTERM, .ended = true, .code = -1, .signal = SIGKILL,
	  SAME(STATUS_RUNTIME_ERROR, RULE_ERROR_SIGNAL, 137) },
	{ "interrupted when the program had ended well", .interrupted = SIGTERM, .ended = true, SAME(STATUS_COMPLETED, RULE_NONE, 0) },
};

static struct run_record *record_of(const struct outcome *outcome)
{
	struct run_record *record = new_record();
	if (outcome->first)
		latch(record, outcome->first);
	if (outcome->limit)
		record_limit(record, outcome->limit);
	if (outcome->listed)
		add(record, outcome->listed, "", "", 1);
	if (outcome->unfinished)
		record_first_claim(record);
	if (outcome->stage)
		record_error(record, outcome->stage, outcome->number, "why");
	record->ended = outcome->ended;
	record->exit_code = outcome->code;
	record->exit_signal = outcome->signal;
	record->interrupted_signal = outcome->interrupted;
	return record;
}

static void test_outcome(const struct outcome *outcome)
{
	struct run_record *record = record_of(outcome);
	enum rule_id rule;
	tap_string(status_name(record_status(record, false, &rule)), status_name(outcome->status), "%s: status", outcome->name);
	tap_string(rule_name(rule), rule_name(outcome->rule), "%s: rule", outcome->name);
	tap_number(record_exit_status(record, false), outcome->exit, "%s: exit", outcome->name);
	tap_string(status_name(record_status(record, true, &rule)), status_name(outcome->status_under_log),
		   "%s: status under log", outcome->name);
	tap_string(rule_name(rule), rule_name(outcome->rule_under_log), "%s: rule under log", outcome->name);
	tap_number(record_exit_status(record, true), outcome->exit_under_log, "%s: exit under log", outcome->name);
	free(record);
}

/* Each rule belongs to the status that its name starts with. */
static void test_rules(void)
{
	for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
		struct run_record *record = new_record();
		enum rule_id found;
		latch(record, (enum rule_id)rule);
		record->ended = true;
		record->exit_code = 1;
		enum run_status status = record_status(record, false, &found);
		const char *name = rule_name((enum rule_id)rule);
		tap_number(found, rule, "%s is its own rule", name);
		tap_ok(strncmp(name, status_name(status), strlen(status_name(status))) == 0, "%s belongs to %s", name, status_name(status));
		free(record);
	}
}

int main(void)
{
	test_latch();
	test_latch_between_processes();
	test_violations();
	test_many_violations();
	test_notes();
	test_bytes();
	test_error();
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		test_outcome(&outcomes[i]);
	test_rules();
	return tap_done();
}
