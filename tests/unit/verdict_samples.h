/* Runs of every outcome, as the pieces would leave them: what test_verdict.c makes verdicts of. */
#ifndef TESTS_UNIT_VERDICT_SAMPLES_H
#define TESTS_UNIT_VERDICT_SAMPLES_H

#include "base/text.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

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

#endif
