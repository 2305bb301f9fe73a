/* `run`: a command under a policy, and its verdict. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/run_replay.h"
#include "cli/run_source.h"
#include "cli/target_environment.h"
#include "cli/user.h"
#include "cli/verdict_output.h"
#include "engine/host.h"
#include "engine/run.h"
#include "engine/workspace.h"
#include "verdict/verdict.h"
#include "why/why.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { READER_WAIT_MS = 5000, READER_LOOK_MS = 10 };

/* Everything that one run needs and that has to be given back. */
struct session {
	struct run_options options;
	struct run_signals signals;
	struct policy *policy;
	struct policy_variables variables;
	char *start, *home, *cwd, *script, *script_dir; /* owned values of the variables */
	char *folder;                    /* of the workspace; owned, since the verdict names it when it is gone */
	const char *run_cwd;             /* borrowed: where the target starts */
	struct workspace workspace;
	struct copies copies;
	struct verdict_output output;
	int events_fd;
	char **environment;
	struct replay replay;            /* --replay: what it repeats; else empty */
	char *here;                      /* bailiff's own working directory; owned */
	struct run_source source;        /* text of the program */
	struct run_record *record;
	struct run_capture capture;
};

/* ---- variables ---------------------------------------------------------------------------------------------------- */

/* The first argument that is no option and names a regular file, as the target will find it. NULL where there is none. */
static char *find_script(const struct session *session)
{
	for (char *const *argument = session->options.command + 1; *argument; argument++) {
		if (run_source_is_elsewhere(*argument))
			return NULL;
		if ((*argument)[0] == '-')
			continue;
		struct stat status;
		auto_free char *path = (*argument)[0] == '/' ? text_duplicate(*argument) : text_format("%s/%s", session->run_cwd, *argument);
		char *resolved = realpath(path, NULL);
		if (resolved && stat(resolved, &status) == 0 && S_ISREG(status.st_mode))
			return resolved;
		free(resolved);
		return NULL;
	}
	return NULL;
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == path ? text_duplicate("/") : text_duplicate_bytes(path, (size_t)(slash - path));
}

static int set_working_directory(struct session *session, struct error *error)
{
	const char *wanted = session->options.cwd ? session->options.cwd : ".";
	session->here = realpath(".", NULL);
	session->start = session->options.replay ? text_duplicate(replay_start(&session->replay)) : realpath(".", NULL);
	session->variables.start = session->start;
	session->cwd = realpath(wanted, NULL);
	session->run_cwd = session->cwd;
	session->variables.cwd = session->cwd;
	return session->cwd ? 0 : error_system(error, errno, "cannot tell the working directory %s", wanted);
}

static void set_variables(struct session *session)
{
	const char *home = session->options.replay ? replay_home(&session->replay) : NULL;
	session->home = home ? text_duplicate(home) : session->options.replay ? NULL : caller_home();
	session->variables.home = session->home;
	session->script = session->options.script ? realpath(session->options.script, NULL) : find_script(session);
	session->script_dir = session->script ? folder_of(session->script) : NULL;
	session->variables.script = session->script;
	session->variables.script_dir = session->script_dir;
}

static void find_source(struct session *session)
{
	const struct run_options *options = &session->options;
	const struct run_source_query query = {
		.command = options->command,
		.cwd = session->run_cwd,
		.script = session->script,
		.script_given = options->script != NULL,
		.stdin_file = options->stdin_file,
		.inherits_input = !options->capture,
	};
	run_source_find(&query, &session->source);
}

/* ---- before the run ----------------------------------------------------------------------------------------------- */

static int make_workspace(struct session *session, struct error *error)
{
	const struct run_options *options = &session->options;
	if (!options->workspace && !options->keep_workspace && !policy_uses_workspace(session->policy))
		return 0;
	int failed = workspace_make(&session->workspace, error);
	if (failed)
		return failed;
	session->folder = text_duplicate(session->workspace.path);
	session->variables.workspace = session->folder;
	if (!options->workspace)
		return 0;
	session->run_cwd = session->folder;
	auto_fd int folder = workspace_open(&session->workspace);
	return copies_prepare(&session->copies, &options->put, &options->get, session->here, folder, error);
}

/* A FIFO needs a reader, which is given a while to come: signals are blocked by now, so that nobody could end a wait. */
static int open_events_file(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags, 0666);
	for (int waited_ms = 0; fd < 0 && errno == ENXIO && waited_ms < READER_WAIT_MS; waited_ms += READER_LOOK_MS) {
		nanosleep(&(struct timespec){ .tv_nsec = READER_LOOK_MS * 1000000L }, NULL);
		fd = open(path, flags, 0666);
	}
	return fd;
}

/* Opened early, so that a path that cannot be written is found before anything runs. A file starts empty. */
static int open_events(struct session *session, struct error *error)
{
	const char *wanted = session->options.events;
	if (!wanted)
		return 0;
	int number = destination_descriptor(wanted);
	session->events_fd = number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 3) : open_events_file(wanted);
	return session->events_fd >= 0 ? 0 : error_system(error, errno, "cannot write the events to %s", wanted);
}

static int prepare(struct session *session, struct error *error)
{
	const struct run_options *options = &session->options;
	int failed = set_working_directory(session, error);
	if (!failed)
		failed = policy_load(options->policy, options->overrides.items, options->overrides.count, &session->policy, error);
	if (!failed)
		failed = verdict_output_open(options->verdict ? options->verdict : options->capture ? "-" : NULL, &session->output, error);
	if (!failed)
		failed = open_events(session, error);
	if (!failed)
		failed = make_workspace(session, error);
	if (failed)
		return failed;
	set_variables(session);
	failed = policy_bind(session->policy, &session->variables, error);
	if (failed)
		return failed;
	find_source(session);
	session->record = engine_record_new();
	if (!session->record)
		return error_set(error, ENOMEM, "no memory for the record of the run");
	session->environment = target_environment_new(session->policy, &session->variables, session->variables.workspace, session->record);
	return 0;
}

/* ---- after the run ------------------------------------------------------------------------------------------------ */

static bool is_log_only(const struct session *session)
{
	return session->policy->on_violation == ON_VIOLATION_LOG;
}

/* Borrows from `copies`, but for the list itself. */
static struct verdict_artifact *list_artifacts(const struct copies *copies)
{
	struct verdict_artifact *list = memory_zeroed(copies->artifact_count + 1, sizeof(*list));
	for (size_t i = 0; i < copies->artifact_count; i++) {
		const struct artifact *artifact = &copies->artifacts[i];
		bool refused = artifact->refused[0];
		list[i] = (struct verdict_artifact){
			.name = artifact->name,
			.bytes = artifact->bytes,
			.sha256 = refused ? NULL : artifact->sha256,
			.saved_as = refused ? NULL : artifact->saved_as,
			.refused = refused ? artifact->refused : NULL,
		};
	}
	return list;
}

/* Borrows from `copies`, but for the list itself. */
static struct verdict_copy *list_copies(const struct copies *copies)
{
	struct verdict_copy *list = memory_zeroed(copies->input_count + 1, sizeof(*list));
	for (size_t i = 0; i < copies->input_count; i++) {
		const struct artifact_input *input = &copies->inputs[i];
		list[i] = (struct verdict_copy){ input->name, input->source, input->sha256, input->bytes };
	}
	return list;
}

static struct verdict_source describe_source(const struct session *session)
{
	const struct run_source *source = &session->source;
	return (struct verdict_source){
		.path = source->path,
		.argument = source->argument,
		.bytes = source->bytes,
		.sha256 = source->sha256,
		.not_hashed = source->not_hashed,
		.text = session->options.show_source ? source->text : NULL,
		.text_length = source->bytes,
	};
}

static struct verdict_settings describe_settings(const struct session *session)
{
	const struct run_options *options = &session->options;
	return (struct verdict_settings){
		.start = session->start,
		.home = session->home,
		.script = options->script,
		.stdin_file = options->stdin_file,
		.workspace = options->workspace,
		.capture = options->capture,
		.descriptors = options->keep_fds,
		.descriptor_count = options->keep_fd_count,
	};
}

static cJSON *build_verdict(const struct session *session)
{
	struct host_report report;
	host_describe(&report);
	struct verdict_host host = { .landlock_abi = report.landlock_abi,
				     .landlock_used = session->record->landlock_abi, .cgroup = session->record->cgroup_controllers,
				     .seccomp = true, .pinning = true, .root = report.root };
	text_copy(host.kernel, sizeof(host.kernel), report.kernel);
	text_copy(host.machine, sizeof(host.machine), report.machine);
	struct verdict_context context = {
		.policy = session->policy,
		.variables = &session->variables,
		.command = session->options.command,
		.cwd = session->run_cwd,
		.environment = session->environment,
		.host = &host,
	};
	for (int i = 0; session->options.capture && i < 2; i++) {
		const struct text *stream = &session->capture.streams[i];
		context.captured[i] = (struct verdict_captured){ text_string(stream), stream->length };
	}
	auto_free struct verdict_artifact *artifacts = list_artifacts(&session->copies);
	context.artifacts = artifacts;
	context.artifact_count = session->copies.artifact_count;
	auto_free struct verdict_copy *copies = list_copies(&session->copies);
	context.copies = copies;
	context.copy_count = session->copies.input_count;
	const struct verdict_source source = describe_source(session);
	context.source = session->source.found ? &source : NULL;
	const struct verdict_settings settings = describe_settings(session);
	context.settings = &settings;
	const struct verdict_replay replay = replay_describe(&session->replay);
	context.replay = session->options.replay ? &replay : NULL;
	return verdict_build(session->record, &context);
}

/* On a terminal a person reads it: in words, unless JSON was asked for or it goes elsewhere. */
static char *verdict_text(const struct session *session, const cJSON *verdict)
{
	bool on_terminal = !session->options.verdict && !session->options.capture && !session->options.json && isatty(STDERR_FILENO);
	if (!on_terminal)
		return verdict_print(verdict);
	struct text words = { 0 };
	explain_words(verdict, caller_wants_colour(STDERR_FILENO), &words);
	return words.bytes ? words.bytes : text_duplicate("");
}

static int write_verdict(struct session *session, int status)
{
	struct error error;
	cJSON *verdict = build_verdict(session);
	auto_free char *words = verdict_text(session, verdict);
	bool own_stream = !session->options.verdict && !session->options.capture, mid_line = session->capture.error_mid_line;
	if (session->options.replay) {
		if (mid_line)
			fputc('\n', stderr);
		replay_tell_result(&session->replay, verdict);
		mid_line = false;
	}
	cJSON_Delete(verdict);
	auto_free char *text = text_format("%s%s", own_stream && mid_line ? "\n" : "", words);
	if (verdict_output_write(&session->output, text, strlen(text), &error) == 0)
		return status;
	/* Its reader did not read until a signal came to end bailiff, which the signal does once it is let in. */
	if (error.number == EINTR)
		return status;
	/* The verdict is not lost: it goes to standard error, and the status says that something failed. */
	if (!own_stream)
		fputs(text, stderr);
	return command_failed(&error);
}

static void copy_out(struct session *session)
{
	auto_fd int folder = workspace_open(&session->workspace);
	copies_take(&session->copies, folder, session->policy, session->record);
}

static void end_workspace(struct session *session)
{
	struct error error;
	if (session->options.keep_workspace) {
		record_note(session->record, "the workspace is kept: %s", session->folder);
		workspace_keep(&session->workspace);
	} else if (workspace_remove(&session->workspace, &error) != 0) {
		record_note(session->record, "%s", error.message);
	}
}

static void release(struct session *session)
{
	struct error error;
	if (session->workspace.path[0] && workspace_remove(&session->workspace, &error) != 0)
		command_failed(&error);
	copies_free(&session->copies);
	verdict_output_discard(&session->output);
	if (session->events_fd >= 0)
		close(session->events_fd);
	text_free(&session->capture.streams[0]);
	text_free(&session->capture.streams[1]);
	target_environment_free(session->environment);
	policy_free(session->policy);
	free(session->start);
	free(session->home);
	free(session->cwd);
	free(session->script);
	free(session->script_dir);
	free(session->folder);
	free(session->here);
	run_source_free(&session->source);
	replay_free(&session->replay);
	run_options_free(&session->options);
}

/* The caller of an interrupted run sees that bailiff died of the signal that it was sent. */
static void die_of(int number)
{
	sigset_t only;
	signal(number, SIG_DFL);
	sigemptyset(&only);
	sigaddset(&only, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* What is compared is what the run will get: the policy that is loaded, the files that are copied. */
static int check_replay(struct session *session, struct error *error)
{
	struct host_report report;
	if (!session->options.replay)
		return 0;
	host_describe(&report);
	const struct replay_now now = {
		.options = &session->options,
		.policy = session->policy,
		.copies = &session->copies,
		.source = &session->source,
		.environment = session->environment,
		.kernel = report.kernel,
	};
	return replay_check(&session->replay, &now, error);
}

static int run_session(struct session *session)
{
	struct error error;
	if (prepare(session, &error) < 0 || check_replay(session, &error) < 0)
		return command_failed(&error);
	struct run_plan plan = {
		.signals = &session->signals,
		.policy = session->policy,
		.variables = &session->variables,
		.command = session->options.command,
		.environment = session->environment,
		.cwd = session->run_cwd,
		.stdin_file = session->options.stdin_file,
		.capture = session->options.capture,
		.keep_fds = session->options.keep_fds,
		.keep_fd_count = session->options.keep_fd_count,
		.landlock = session->options.landlock,
		.workspace = &session->workspace,
		.events_fd = session->events_fd,
		.explainer = &why_explainer,
	};
	if (engine_run(&plan, session->record, &session->capture, &error) < 0)
		record_error(session->record, "launch", error.number, "%s", error.message);
	why_judge_source(session->record, session->policy, session->run_cwd);
	for (size_t i = 0; i < plan.keep_fd_count; i++)
		record_note(session->record, "descriptor %d was kept open for the run (--fd)", plan.keep_fds[i]);
	copy_out(session);
	end_workspace(session);
	return write_verdict(session, record_exit_status(session->record, is_log_only(session)));
}

int command_run(int argc, char **argv)
{
	struct error error;
	struct session session = { .events_fd = -1, .workspace = { .folder = -1, .lock = -1 } };
	if (run_options_parse(argc, argv, &session.options, &error) < 0)
		return command_failed(&error);
	if (session.options.user && user_become(session.options.user, &error) < 0) {
		run_options_free(&session.options);
		return command_failed(&error);
	}
	if (session.options.replay && replay_read(&session.replay, &session.options, &error) < 0) {
		run_options_free(&session.options);
		replay_free(&session.replay);
		return command_failed(&error);
	}
	engine_block_signals(&session.signals);
	int status = run_session(&session);
	int interrupted = session.record ? session.record->interrupted_signal : 0;
	release(&session);
	if (interrupted)
		die_of(interrupted);
	sigprocmask(SIG_SETMASK, &session.signals.mask, NULL);
	return status;
}
