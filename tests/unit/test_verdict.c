/* The JSON of a verdict: one golden file per outcome, and bytes that no JSON can hold as they are. */
#include "golden.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run, as the pieces would leave it ---- */

static struct position at(const char *file, const char *pointer, unsigned line, unsigned column)
{
	return (struct position){ .file = file, .pointer = (char *)pointer, .line = line, .column = column };
}

struct run {
	struct run_record *record;
	struct policy policy;
	struct environment_entry environment[3];
	struct policy_file files[2];
	struct rule read_rule;
	struct verdict_host host;
	struct verdict_context context;
};

static char *command[] = { "python3", "job.py", "--fast", NULL };
static char *environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", "TOKEN=secret", "LANG=C.UTF-8", NULL };

static void fill_policy(struct run *run)
{
	struct policy *policy = &run->policy;
	policy->limits[LIMIT_WALL] = (struct limit){ true, 3000, at("csv.json", "/limits/wall", 20, 13) };
	policy->limits[LIMIT_CPU] = (struct limit){ true, 10000, at("policy:default", "/limits/cpu", 88, 12) };
	policy->limits[LIMIT_OUTPUT] = (struct limit){ true, 2000, at("csv.json", "/limits/output", 21, 15) };
	run->environment[0] = (struct environment_entry){ "LANG", NULL, at("csv.json", "/environment/pass/0", 9, 3) };
	run->environment[1] = (struct environment_entry){ "PATH", "/usr/bin:/bin", at("csv.json", "/environment/set/PATH", 10, 3) };
	run->environment[2] = (struct environment_entry){ "TOKEN", "secret", at("command line", "", 0, 4) };
	policy->environment = run->environment;
	policy->environment_count = 3;
	run->files[0] = (struct policy_file){ "policy:default", "", true };
	run->files[1] = (struct policy_file){ "csv.json", "", false };
	memset(run->files[0].sha256, 'a', HASH_TEXT - 1);
	memset(run->files[1].sha256, 'b', HASH_TEXT - 1);
	policy->files = run->files;
	policy->file_count = 2;
	run->read_rule = (struct rule){ .text = "/data/*.csv", .position = at("command line", "/paths/read/1", 0, 6) };
	policy->lists[LIST_READ] = (struct rules){ &run->read_rule, 1 };
}

static void run_start(struct run *run)
{
	*run = (struct run){ .record = memory_zeroed(1, sizeof(*run->record)) };
	fill_policy(run);
	run->host = (struct verdict_host){ .kernel = "6.1.0", .machine = "x86_64", .landlock_abi = 2, .seccomp = true };
	run->context = (struct verdict_context){ .policy = &run->policy, .command = command, .cwd = "/home/ann",
						 .environment = environment, .host = &run->host };
	run->record->usage = (struct record_usage){ .wall_ms = 120, .cpu_ms = 80, .peak_memory_bytes = 9437184,
						    .processes_total = 2, .processes_peak = 1, .threads_total = 3,
						    .threads_peak = 2, .stops = 57 };
	run->record->output[0] = (struct record_stream){ .bytes = 12, .relayed = 12 };
}

static void run_end(struct run *run)
{
	free(run->record);
}

static void ended(struct run *run, int code, int signal)
{
	run->record->ended = true;
	run->record->exit_code = signal ? -1 : code;
	run->record->exit_signal = signal;
}

static void fill_process(struct record_failure *failure)
{
	static const char argv[] = "python3\0job.py\0--fast";
	failure->has_process = true;
	failure->process.pid = 4711;
	failure->process.tid = 4712;
	record_bytes_set(&failure->process.exe, "/usr/bin/python3.11", 19);
	record_bytes_set(&failure->process.cwd, "/home/ann", 9);
	memcpy(failure->process.argv, argv, sizeof(argv));
	failure->process.argv_length = sizeof(argv);
	failure->ancestry_count = 1;
	failure->ancestry[0].pid = 4700;
	record_bytes_set(&failure->ancestry[0].exe, "/bin/sh", 7);
	memcpy(failure->ancestry[0].argv, "sh\0-c\0python3 job.py --fast", 28);
	failure->ancestry[0].argv_length = 28;
}

static void set_policy(struct record_policy *policy, const char *file, const char *pointer, unsigned line, unsigned column)
{
	text_copy(policy->file, sizeof(policy->file), file);
	text_copy(policy->pointer, sizeof(policy->pointer), pointer);
	policy->line = line;
	policy->column = column;
}

static void blocked_connect(struct record_failure *failure)
{
	failure->rule = RULE_BLOCKED_NETWORK;
	set_policy(&failure->policy, "csv.json", "/network/connect", 14, 16);
	failure->considered_count = 1;
	set_policy(&failure->considered[0].policy, "csv.json", "/network/connect/0", 14, 17);
	strcpy(failure->considered[0].entry, "93.184.216.34:80");
	strcpy(failure->considered[0].why, "port 443 is not 80");
	strcpy(failure->syscall, "connect");
	strcpy(failure->access, "connect");
	strcpy(failure->target, "93.184.216.34:443");
	strcpy(failure->answered, "killed");
	fill_process(failure);
	failure->when_ms = 310;
	failure->suggestion_count = 3;
	strcpy(failure->suggestions[0].pointer, "/network/connect/-");
	strcpy(failure->suggestions[0].value, "\"93.184.216.34:443\"");
	strcpy(failure->suggestions[0].opens, "TCP and UDP to this address and port");
	strcpy(failure->suggestions[1].pointer, "/network/connect/-");
	strcpy(failure->suggestions[1].value, "\"93.184.216.34:*\"");
	strcpy(failure->suggestions[1].opens, "every port of this address");
	strcpy(failure->suggestions[2].pointer, "/network/connect/-");
	strcpy(failure->suggestions[2].value, "\"93.184.216.34:4"); /* cut: no JSON any more */
}

static void blocked_read(struct record_failure *failure, const char *given, const char *resolved)
{
	failure->rule = RULE_BLOCKED_READ;
	set_policy(&failure->policy, "policy:default", "/paths/read", 3, 5);
	strcpy(failure->syscall, "openat");
	strcpy(failure->access, "read");
	strcpy(failure->flags, "O_RDONLY|O_CLOEXEC");
	text_copy(failure->target, sizeof(failure->target), resolved);
	failure->has_path = true;
	record_bytes_set(&failure->given, given, strlen(given));
	record_bytes_set(&failure->resolved, resolved, strlen(resolved));
	strcpy(failure->answered, "EACCES");
	fill_process(failure);
	failure->when_ms = 12;
}

static struct record_failure *latch(struct run *run)
{
	tap_ok(record_first_claim(run->record), "the first failure is free");
	record_first_done(run->record);
	return &run->record->first;
}

/* ---- outcomes ---- */

static void completed(struct run *run)
{
	ended(run, 0, 0);
	record_note(run->record, "connect to 192.0.2.1:9 (udp) answered ENETUNREACH: not listed");
	record_note(run->record, "connect to 192.0.2.1:9 (udp) answered ENETUNREACH: not listed");
}

static void connect_killed(struct run *run)
{
	ended(run, 0, SIGKILL);
	blocked_connect(latch(run));
	record_violation(run->record, &run->record->first);
}

static void denied_and_went_on(struct run *run)
{
	ended(run, 0, 0);
	run->policy.on_violation = ON_VIOLATION_DENY;
	blocked_read(latch(run), "../secret", "/home/secret");
	strcpy(run->record->first.kernel_would, "EPERM");
	record_violation(run->record, &run->record->first);
	record_violation(run->record, &run->record->first);
	struct record_failure *second = memory_zeroed(1, sizeof(*second));
	blocked_connect(second);
	strcpy(second->answered, "ECONNREFUSED");
	record_violation(run->record, second);
	free(second);
	run->record->usage.left_running_count = 20;
	run->record->usage.left_running[0] = (struct record_left){ 5000, "sleep" };
}

static void logged(struct run *run)
{
	ended(run, 0, 0);
	run->policy.on_violation = ON_VIOLATION_LOG;
	blocked_read(latch(run), "/etc/shadow", "/etc/shadow");
	strcpy(run->record->first.answered, "logged");
	set_policy(&run->record->first.policy, "command line", "/paths/deny/0", 0, 5);
	record_violation(run->record, &run->record->first);
}

static void logged_then_timeout(struct run *run)
{
	logged(run);
	ended(run, 0, SIGKILL);
	record_limit(run->record, RULE_TIMEOUT_WALL);
	struct record_failure *limit = memory_zeroed(1, sizeof(*limit));
	limit->rule = RULE_TIMEOUT_WALL;
	strcpy(limit->target, "3004 ms of wall time used; the limit is 3s");
	record_violation(run->record, limit);
	free(limit);
	run->record->usage.wall_ms = 3004;
}

static void wall_limit(struct run *run)
{
	ended(run, 0, SIGKILL);
	struct record_failure *failure = latch(run);
	failure->rule = RULE_TIMEOUT_WALL;
	set_policy(&failure->policy, "csv.json", "/limits/wall", 20, 13);
	strcpy(failure->target, "3.0s of 3s");
	failure->when_ms = 3001;
	run->record->usage.wall_ms = 3010;
}

/* Text with a NUL in one stream; in the other a character that the limit cut in two. */
static void output_limit(struct run *run)
{
	ended(run, 0, SIGKILL);
	struct record_failure *failure = latch(run);
	failure->rule = RULE_LIMIT_OUTPUT;
	set_policy(&failure->policy, "csv.json", "/limits/output", 21, 15);
	failure->when_ms = 40;
	run->record->output[0] = (struct record_stream){ .bytes = 1996, .relayed = 5, .truncated = false };
	run->record->output[1] = (struct record_stream){ .bytes = 8, .relayed = 4, .truncated = true };
	run->context.captured[0] = (struct verdict_captured){ "a\0b\x7f\n", 5 };
	run->context.captured[1] = (struct verdict_captured){ "caf\xc3", 4 };
}

static void captured_bytes(struct run *run)
{
	ended(run, 0, 0);
	run->record->output[1] = (struct record_stream){ .bytes = 4, .relayed = 4 };
	run->context.captured[0] = (struct verdict_captured){ "", 0 };
	run->context.captured[1] = (struct verdict_captured){ "\xff\x00\xfe\n", 4 };
}

static void exit_code(struct run *run)
{
	ended(run, 3, 0);
}

static void exit_signal(struct run *run)
{
	ended(run, 0, SIGSEGV);
}

static void interrupted(struct run *run)
{
	run->record->interrupted_signal = SIGINT;
	ended(run, 0, SIGKILL);
}

static void no_such_command(struct run *run)
{
	run->record->usage = (struct record_usage){ 0 };
	record_error(run->record, "command", ENOENT, "nosuch: No such file or directory");
}

static void tracer_failed(struct run *run)
{
	run->context.policy = NULL;
	run->context.host = NULL;
	run->context.environment = NULL;
	record_error(run->record, "supervise", 0, "the tracer was killed by SIGKILL");
}

static void refused_call(struct run *run)
{
	ended(run, 0, SIGKILL);
	struct record_failure *failure = latch(run);
	failure->rule = RULE_BLOCKED_SYSCALL;
	strcpy(failure->syscall, "mount");
	strcpy(failure->answered, "killed");
	failure->chain_count = 2;
	strcpy(failure->chain[0], "/home/ann/tool");
	strcpy(failure->chain[1], "/usr/bin/python3.11");
	record_violation(run->record, failure);
}

/* What a file system may hold as a name: line breaks, escapes, controls of both kinds, and no UTF-8. */
static void strange_name(struct run *run)
{
	static const char name[] = "/tmp/a\n{\"status\":\"completed\"}\033[31m\x7f\xc2\x9b\xff";
	ended(run, 0, SIGKILL);
	blocked_read(latch(run), name, name);
	record_violation(run->record, &run->record->first);
}

static void add_script(struct run *run, const char *function, const char *file, unsigned line, const char *source, bool own)
{
	struct record_explanation *explanation = &run->record->explanation;
	struct record_script_frame *frame = &explanation->script[explanation->script_count++];
	strcpy(frame->language, "python");
	strcpy(frame->function, function);
	record_bytes_set(&frame->file, file, strlen(file));
	frame->line = line;
	strcpy(frame->source, source);
	frame->own_code = own;
}

static void add_stack(struct run *run, const char *function, uint64_t offset, const char *module, const char *file, unsigned line)
{
	struct record_explanation *explanation = &run->record->explanation;
	struct record_stack_frame *frame = &explanation->stack[explanation->stack_count++];
	strcpy(frame->function, function);
	frame->offset = offset;
	strcpy(frame->module, module);
	strcpy(frame->build_id, *module ? "0123456789abcdef0123456789abcdef01234567" : "");
	strcpy(frame->file, file);
	frame->line = line;
}

/* The library's frame is not the line that counts; neither is the interpreter's own. */
static void script_explained(struct run *run)
{
	connect_killed(run);
	add_script(run, "create_connection", "/usr/lib/python3.11/socket.py", 833, "", false);
	add_script(run, "fetch", "/home/ann/job.py", 14, "\tsocket.create_connection((host, 443))", true);
	add_script(run, "", "/home/ann/job.py", 31, "", true);
	add_stack(run, "connect", 0x10, "/usr/lib/x86_64-linux-gnu/libc.so.6", "", 0);
	add_stack(run, "_PyEval_EvalFrameDefault", 0x1a2b, "/usr/bin/python3.11", "../Python/ceval.c", 5381);
	strcpy(run->record->explanation.stack_source, "libdw");
	run->record->explanation.captured = true;
}

static void native_explained(struct run *run)
{
	logged(run);
	add_stack(run, "open64", 0x5b, "/usr/lib/x86_64-linux-gnu/libc.so.6", "", 0);
	add_stack(run, "", 0x1159, "/home/ann/tool \033[1m", "", 0);
	add_stack(run, "read_all", 0x20, "/home/ann/tool", "/home/ann/tool.c\n{", 12);
	add_stack(run, "", 0x7f0012345678, "", "", 0);
	add_stack(run, "main", 0x7, "/home/ann/tool", "/home/ann/tool.c", 40);
	run->record->explanation.stack[4].of_parent = true;
	strcpy(run->record->explanation.stack_source, "frame pointers");
	strcpy(run->record->explanation.stack_missing, "more than 128 frames");
	run->record->explanation.captured = true;
}

/* Reasons in place of frames, and counts that a writer which died may have left. */
static void not_explained(struct run *run)
{
	blocked_read(latch(run), "/etc/shadow", "/etc/shadow");
	ended(run, 0, SIGKILL);
	record_violation(run->record, &run->record->first);
	strcpy(run->record->explanation.stack_missing, "the unwinder did not answer within 200 ms");
	strcpy(run->record->explanation.script_missing, "python frames unavailable: version 3.99 is not known");
	run->record->explanation.captured = true;
}

static void add_file(struct record_files *files, const char *path, const char *sha256, const char *not_hashed)
{
	struct record_file *file = &files->items[atomic_fetch_add(&files->count, 1)];
	record_bytes_set(&file->path, path, strlen(path));
	file->bytes = 40;
	text_copy(file->sha256, sizeof(file->sha256), sha256);
	text_copy(file->not_hashed, sizeof(file->not_hashed), not_hashed);
}

/* What was executed and read; the private folder has its variable; the text holds a NUL. */
static void files(struct run *run)
{
	static const char a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const struct policy_variables variables = { .workspace = "/tmp/bailiff-x/work" };
	static const struct verdict_copy copy = { .name = "in", .source = "data/in.csv", .sha256 = a, .bytes = 7 };
	static const struct verdict_source source = { .argument = 2, .bytes = 4, .sha256 = a, .text = "a\0b\n", .text_length = 4 };
	static const int descriptors[] = { 3, 9 };
	static const struct verdict_settings settings = { .start = "/home/ann", .home = "/home/\xff", .workspace = true,
							  .descriptors = descriptors, .descriptor_count = 2 };
	static const struct verdict_replay replay = { .status = "completed", .differences = 2 };
	ended(run, 0, 0);
	add_file(&run->record->programs, "/usr/bin/python3.11", a, "");
	strcpy(run->record->programs.items[0].build_id, "0123");
	strcpy(run->record->programs.items[0].version, "3.11.2-6");
	add_file(&run->record->programs, "/tmp/bailiff-x/work/made", "", "it was changed since");
	run->record->programs.items[1].changed_in_run = true;
	add_file(&run->record->inputs, "/tmp/bailiff-x/workers", a, "");
	add_file(&run->record->inputs, "/data/\xff", "", "it is larger than 64M");
	atomic_store(&run->record->inputs.more, 3);
	run->policy.limits[LIMIT_WALL].position = at("command line", "/limits/wall", 0, 4);
	run->context.variables = &variables;
	run->context.copies = &copy;
	run->context.copy_count = 1;
	run->context.source = &source;
	run->context.settings = &settings;
	run->context.replay = &replay;
}

static const struct {
	const char *name;
	void (*fill)(struct run *run);
} samples[] = {
	{ "completed", completed },
	{ "connect_killed", connect_killed },
	{ "denied_and_went_on", denied_and_went_on },
	{ "logged", logged },
	{ "logged_then_timeout", logged_then_timeout },
	{ "wall_limit", wall_limit },
	{ "output_limit", output_limit },
	{ "captured_bytes", captured_bytes },
	{ "exit_code", exit_code },
	{ "exit_signal", exit_signal },
	{ "interrupted", interrupted },
	{ "no_such_command", no_such_command },
	{ "tracer_failed", tracer_failed },
	{ "refused_call", refused_call },
	{ "strange_name", strange_name },
	{ "script_explained", script_explained },
	{ "native_explained", native_explained },
	{ "not_explained", not_explained },
	{ "files", files },
};

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
	test_parse_error("", "1:1: this is not JSON", "nothing");
	test_parse_error("{\n  \"schema\": tru\n}", "2:13: this is not JSON", "a bad word");
	test_parse_error("{\"schema\":\"bailiff.verdict/1\"}\nmore", "2:1: this is not JSON", "text behind the verdict");
	test_parse_error("[]", "1:1: this is JSON, but no verdict: \"schema\" is not \"bailiff.verdict/1\"", "an array");
	test_parse_error("{\"schema\":1}", "1:1: this is JSON, but no verdict: \"schema\" is not \"bailiff.verdict/1\"", "a number as schema");
	test_parse_error("{\"schema\":\"bailiff.verdict/2\"}",
			 "1:1: a verdict of schema \"bailiff.verdict/2\"; this version reads \"bailiff.verdict/1\"", "a later schema");

	cJSON *verdict;
	const char good[] = "  {\"schema\":\"bailiff.verdict/1\"} \r\n\t";
	tap_number(verdict_parse(good, strlen(good), &verdict, NULL), 0, "white space around a verdict is fine");
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
