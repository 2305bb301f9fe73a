/* From a plan to a front that waits: standard streams, the program, the tracer's fork. */
#include "engine/run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "engine/evidence.h"
#include "engine/front.h"
#include "engine/host.h"
#include "engine/identity.h"
#include "engine/limits.h"
#include "engine/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, EXPLAIN_DEADLINE_MS = 200 };

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static bool is_ignored(int number)
{
	struct sigaction action;
	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void engine_block_signals(struct run_signals *signals)
{
	sigset_t block;
	sigemptyset(&block);
	for (int number = 1; number < RUN_SIGNAL_MAX; number++)
		signals->ignored[number] = is_ignored(number);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(*ending_signals); i++)
		if (!is_ignored(ending_signals[i]))
			sigaddset(&block, ending_signals[i]);
	sigaddset(&block, SIGCHLD);
	signal(SIGCHLD, SIG_DFL); /* ignored, the kernel would reap the tracer by itself and say nothing */
	if (!is_ignored(SIGTSTP))
		sigaddset(&block, SIGTSTP);
	sigprocmask(SIG_BLOCK, &block, &signals->mask);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of the caller's on the size of files shall be an error, not our end */
}

static int open_signals(void)
{
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	return signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

static const char *environment_value(char *const *environment, const char *name)
{
	size_t length = strlen(name);
	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* 0 for a file that may be executed, -EISDIR, or -errno. */
static int program_status(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

/* "CWD/FOLDER/NAME", or without CWD where the folder is absolute. Longer than any path: nothing is found there. */
static void join(char target[static PATH_MAX], const char *cwd, const char *folder, size_t length, const char *name)
{
	bool absolute = length > 0 && folder[0] == '/';
	int written = snprintf(target, PATH_MAX, "%s%s%.*s%s%s", absolute ? "" : cwd, absolute ? "" : "/", (int)length, folder,
			       length ? "/" : "", name);
	if (written >= PATH_MAX)
		target[0] = '\0';
}

/* As execvp: the first file in PATH that may be executed; one that may not is remembered. */
static int search_path(const struct run_plan *plan, char program[static PATH_MAX])
{
	int result = -ENOENT;
	const char *path = environment_value(plan->environment, "PATH");
	while (path) {
		size_t length = strcspn(path, ":");
		join(program, plan->cwd, path, length, plan->command[0]);
		int status = program_status(program);
		if (status == 0)
			return 0;
		if (status == -EACCES)
			result = status;
		path = path[length] ? path + length + 1 : NULL;
	}
	return result;
}

/* Fills what execve gets. A name with a slash is looked at from the run's working directory. */
static int find_program(const struct run_plan *plan, char program[static PATH_MAX])
{
	const char *name = plan->command[0];
	if (*name == '\0')
		return -ENOENT;
	if (!strchr(name, '/'))
		return search_path(plan, program);
	char seen[PATH_MAX];
	if (strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	text_copy(program, PATH_MAX, name);
	if (name[0] == '/')
		text_copy(seen, sizeof(seen), name);
	else
		join(seen, plan->cwd, "", 0, name);
	return program_status(seen);
}

static void record_not_found(struct run_record *record, const struct run_plan *plan, int number)
{
	const char *name = plan->command[0], *path = environment_value(plan->environment, "PATH");
	if (number == ENOENT && path && *name && !strchr(name, '/')) {
		record_error(record, "command", number, "%.1000s: not found in PATH=%.400s", name, path);
		return;
	}
	const char *why = number == ENOENT   ? "not found"
			  : number == EISDIR ? "is a directory"
			  : number == EACCES ? "may not be executed (no x bit, or a folder on the way cannot be searched)"
					     : strerror(number);
	record_error(record, "command", number, "%.1000s: %s", name, why);
}

/* ---- standard input ----------------------------------------------------------------------------------------------- */

static int open_file_for_reading(const char *path)
{
	/* Without waiting for a FIFO's writer; reading waits as usual. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd >= 0 ? fd : -errno;
}

/* A descriptor that may also write would let the run write where no rule looks. */
static int reopen_input_read_only(void)
{
	int copy = open("/proc/self/fd/0", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (copy < 0)
		return -errno;
	off_t offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (offset > 0)
		lseek(copy, offset, SEEK_SET);
	return copy;
}

static int open_feed(struct front *front)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return -errno;
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	front->feed_from = STDIN_FILENO;
	front->feed_to = pair[1];
	return pair[0];
}

static int open_standard_input(struct front *front, bool *inherited)
{
	const struct run_plan *plan = front->plan;
	struct stat status;
	*inherited = false;
	if (plan->stdin_file)
		return open_file_for_reading(plan->stdin_file);
	if (plan->capture)
		return open_file_for_reading("/dev/null");
	*inherited = true;
	int flags = fcntl(STDIN_FILENO, F_GETFL);
	if (flags < 0 || fstat(STDIN_FILENO, &status) != 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY && !S_ISSOCK(status.st_mode))
		return STDIN_FILENO;
	int copy = S_ISSOCK(status.st_mode) ? -ENXIO : reopen_input_read_only();
	return copy >= 0 ? copy : open_feed(front);
}

/* ---- standard output and error ------------------------------------------------------------------------------------ */

static bool same_file(int left, int right)
{
	struct stat a, b;
	return fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
	       S_ISCHR(a.st_mode) == S_ISCHR(b.st_mode) && (!S_ISCHR(a.st_mode) || a.st_rdev == b.st_rdev);
}

static int open_relay(struct front *front, size_t index, struct run_capture *capture)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return -errno;
	relay_open(&front->relays[index], pair[0], STDOUT_FILENO + (int)index,
		   front->plan->capture ? &capture->streams[index] : NULL, &front->record->output[index]);
	front->relay_count = index + 1;
	return pair[1];
}

/* Two pipes, or one where both are the same file, so that the order of what is written is kept. */
static int open_outputs(struct front *front, struct launch *launch, struct run_capture *capture)
{
	bool one = !front->plan->capture && same_file(STDOUT_FILENO, STDERR_FILENO);
	const struct limit *limit = &front->plan->policy->limits[LIMIT_OUTPUT];
	front->cap.cap_bytes = limit->set ? limit->value : UINT64_MAX;
	front->record->one_stream = one;
	launch->descriptors[1] = open_relay(front, 0, capture);
	launch->descriptors[2] = one ? launch->descriptors[1] : open_relay(front, 1, capture);
	return launch->descriptors[1] < 0 ? launch->descriptors[1] : (launch->descriptors[2] < 0 ? launch->descriptors[2] : 0);
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

static bool has_foreground_terminal(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void close_target_side(const struct launch *launch)
{
	for (int i = 0; i < 3; i++)
		if (launch->descriptors[i] > STDERR_FILENO && (i == 0 || launch->descriptors[i] != launch->descriptors[i - 1]))
			close(launch->descriptors[i]);
	if (launch->landlock.ruleset >= 0)
		close(launch->landlock.ruleset);
}

static int fork_tracer(struct front *front, const struct launch *launch, struct error *error)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return error_system(error, errno, "cannot make a socket to the tracer");
	const int front_fds[] = { pair[0], front->signals, front->feed_to, front->relays[0].source,
				  front->relay_count > 1 ? front->relays[1].source : -1 };
	struct supervise_start start = {
		.plan = front->plan,
		.launch = launch,
		.shared = front->shared,
		.quota = front->quota,
		.memory_use = &front->memory_use,
		.cgroup = &front->cgroup,
		.front = pair[1],
		.front_pid = getpid(),
		.front_group = getpgrp(),
		.front_fds = front_fds,
		.front_fd_count = sizeof(front_fds) / sizeof(*front_fds),
	};
	/* The same user could read and change us through /proc otherwise. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	front->shared->start_ns = clock_now_ns();
	front->shared->began = clock_stamp_now();
	front->socket = pair[0];
	front->tracer = launch_process(supervise, &start);
	close(pair[1]);
	return front->tracer > 0 ? 0 : error_system(error, -front->tracer, "cannot fork the tracer");
}

/* Not to be counted is not to be limited. */
static int open_quota(struct front *front, struct error *error)
{
	uint64_t limit = limit_value(front->plan->policy, LIMIT_WORKSPACE);
	if (limit == UNITS_NONE)
		return 0;
	if (!front->plan->workspace->path[0]) {
		record_note(front->record, "limits.workspace limits nothing: this run has no private folder");
		return 0;
	}
	front->quota = quota_new(front->plan->workspace, front->shared, limit);
	return front->quota ? 0 : error_system(error, errno, "cannot count the workspace %s", front->plan->workspace->path);
}

static int prepare(struct front *front, struct launch *launch, struct run_capture *capture, struct error *error)
{
	bool inherited;
	launch->descriptors[0] = open_standard_input(front, &inherited);
	if (launch->descriptors[0] < 0)
		return error_system(error, -launch->descriptors[0], "cannot open standard input%s%s", front->plan->stdin_file ? " " : "",
				    front->plan->stdin_file ? front->plan->stdin_file : "");
	evidence_standard_input(front->record, launch->descriptors[0]);
	launch->terminal = inherited && front->feed_to < 0 && has_foreground_terminal();
	front->terminal = launch->terminal;
	int failed = open_outputs(front, launch, capture);
	if (failed)
		return error_system(error, -failed, "cannot make a pipe for the target's output");
	front->signals = open_signals();
	if (front->signals < 0)
		return error_system(error, errno, "cannot receive signals");
	memory_use_begin(&front->memory_use);
	memory_use_ignore(&front->memory_use, launch->descriptors[0]);
	for (size_t i = 0; i < front->plan->keep_fd_count; i++)
		memory_use_ignore(&front->memory_use, front->plan->keep_fds[i]);
	failed = open_quota(front, error);
	if (failed)
		return failed;
	if (geteuid() == 0)
		record_note(front->record, "it runs as root, with %s: modes of files do not hold it; --user NAME runs it as another user",
			    identity_kept_names);
	const struct run_plan *plan = front->plan;
	return landlock_prepare(plan->policy, plan->landlock, plan->keep_fd_count > 0, front->record, &launch->landlock, error);
}

static enum run_status status_so_far(const struct front *front, enum rule_id *rule)
{
	return record_status(front->record, front->plan->policy->on_violation == ON_VIOLATION_LOG, rule);
}

/* Output that the program wrote and nobody got is no success. Where it ends by SIGPIPE that is bailiff's doing: without
 * bailiff it would have got the error itself. */
static void tell_lost_output(const struct front *front)
{
	for (size_t i = 0; i < front->relay_count; i++) {
		const struct relay *relay = &front->relays[i];
		const char *stream = front->record->one_stream ? "standard output and error" : i ? "standard error" : "standard output";
		if (relay->write_error == 0)
			continue;
		record_note(front->record, "%zu bytes of %s are lost: %s", relay->lost_bytes, stream, strerror(relay->write_error));
		enum rule_id rule;
		enum run_status status = status_so_far(front, &rule);
		bool by_us = rule == RULE_ERROR_SIGNAL && front->record->exit_signal == SIGPIPE;
		if (status == STATUS_COMPLETED || by_us)
			record_error(front->record, "output", relay->write_error, "cannot write %s, %zu bytes are lost: %s", stream,
				     relay->lost_bytes, strerror(relay->write_error));
	}
}

/* Events that were asked for and are missing are no success, unless whoever asked went away or did not read. */
static void tell_lost_events(const struct front *front)
{
	enum rule_id rule;
	unsigned long long lost = atomic_load(&front->shared->events_lost);
	int number = atomic_load(&front->shared->events_error);
	if (lost == 0)
		return;
	const char *why = number == EPIPE ? "the reader went away" : (number == EAGAIN ? "nobody read them" : strerror(number));
	record_note(front->record, "the last %llu events are missing: %s", lost, why);
	if (number != EPIPE && number != EAGAIN && status_so_far(front, &rule) == STATUS_COMPLETED)
		record_error(front->record, "events", number, "cannot write the events: %s", strerror(number));
}

static void finish(struct front *front, struct run_capture *capture)
{
	struct record_usage *usage = &front->record->usage;
	usage->wall_ms = (int64_t)((clock_now_ns() - front->shared->start_ns) / NS_PER_MS);
	usage->cpu_ms = (int64_t)(shared_cpu_ns(front->shared) / NS_PER_MS);
	if ((int64_t)front->peak_memory_bytes > usage->peak_memory_bytes)
		usage->peak_memory_bytes = (int64_t)front->peak_memory_bytes;
	usage->stops = atomic_load(&front->shared->stops);
	if (front->plan->explainer && front->record->explanation.captured)
		front->plan->explainer->complete(&front->record->explanation, EXPLAIN_DEADLINE_MS);
	tell_lost_output(front);
	tell_lost_events(front);
	if (front->cap.capture_is_full)
		record_note(front->record, "--capture keeps the first %d bytes of output; what came behind is counted alone",
			    RELAY_CAPTURE_BYTES);
	const struct relay *error_relay = &front->relays[front->relay_count - 1];
	capture->error_mid_line = error_relay->last_byte && error_relay->last_byte != '\n';
	front_release(front);
	evidence_hash(front->record);
}

/* A call that this host refuses fails wherever bailiff happens to need it first, even while COMMAND is looked at. Errors of
 * COMMAND's own file (not there, no x bit, no program) are told as they are. */
static bool may_be_the_host(const struct front *front)
{
	const struct record_error *error = &front->record->error;
	if (!error->set || front->started)
		return false;
	return strcmp(error->stage, "command") != 0 || error->number == EPERM || error->number == ENOSYS || error->number == EFAULT;
}

int engine_run(const struct run_plan *plan, struct run_record *record, struct run_capture *capture, struct error *error)
{
	char program[PATH_MAX];
	struct front front = {
		.plan = plan,
		.shared = (struct shared *)record,
		.record = record,
		.socket = -1,
		.signals = -1,
		.feed_from = -1,
		.feed_to = -1,
		.cgroup = { .home = -1, .target = -1 },
	};
	struct launch launch = {
		.program = program,
		.signals = plan->signals,
		.landlock = { .ruleset = -1 },
	};
	int failed = find_program(plan, program);
	if (failed) {
		record_not_found(record, plan, -failed);
		return 0;
	}
	failed = prepare(&front, &launch, capture, error);
	if (!failed)
		cgroup_begin(&front.cgroup, limit_value(plan->policy, LIMIT_MEMORY), limit_value(plan->policy, LIMIT_THREADS), record);
	if (!failed)
		failed = fork_tracer(&front, &launch, error);
	close_target_side(&launch);
	if (!failed)
		front_wait(&front);
	if (front.relay_count)
		finish(&front, capture);
	cgroup_end(&front.cgroup, record);
	if (may_be_the_host(&front))
		host_explain_failure(&record->error);
	return failed;
}
