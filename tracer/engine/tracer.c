/* The tracer's process: what it is before it supervises, and the start of the child. */
#include "engine/supervise.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/evidence.h"
#include "engine/identity.h"
#include "engine/loaders.h"
#include "engine/placement.h"
#include "tracee/control.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAKE_SIGNAL = SIGUSR1 };

static void on_wake(int signal_number)
{
	(void)signal_number; /* only to come back from waiting with EINTR */
}

/* Signals of the terminal and of whoever ends bailiff are front's business. Front wakes us by a signal of ours; it repeats
 * that until it is obeyed, since one may arrive just before the wait. */
static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	struct sigaction wake = { .sa_handler = on_wake };
	sigaction(WAKE_SIGNAL, &wake, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Dies with front; is nobody's to read or attach to; gets the tree's orphans. */
static int protect_self(pid_t front_pid)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return -errno;
	return getppid() == front_pid ? 0 : -ESRCH;
}

/* The tracer keeps what the target may keep, to act for it, and the right to look at a thread that changed its uid. */
static int drop_own_capabilities(void)
{
	return identity_drop_capabilities(identity_kept_capabilities() | UINT64_C(1) << CAP_SYS_PTRACE, false);
}

static void find_system_loaders(struct supervisor *supervisor)
{
	for (size_t i = 0; system_loader_names[i]; i++) {
		auto_free char *path = realpath(system_loader_names[i], NULL);
		if (path && text_copy(supervisor->system_loaders[supervisor->system_loader_count],
				      sizeof(supervisor->system_loaders[0]), path))
			supervisor->system_loader_count++;
	}
}

static void supervisor_init(struct supervisor *supervisor, const struct supervise_start *start)
{
	supervisor->plan = start->plan;
	supervisor->policy = start->plan->policy;
	supervisor->shared = start->shared;
	supervisor->quota = start->quota;
	supervisor->memory_use = start->memory_use;
	supervisor->cgroup = start->cgroup;
	supervisor->record = &start->shared->record;
	supervisor->front = start->front;
	supervisor->launch = supervisor->injector.listener = -1;
	supervisor->front_group = start->front_group;
	supervisor->own_session = !start->launch->terminal;
	supervisor->root = geteuid() == 0;
	supervisor->hides = supervisor->policy->lists[LIST_HIDE].count > 0;
	supervisor->names_matter = supervisor->hides || supervisor->policy->lists[LIST_DENY].count > 0;
	supervisor->tasks = tasks_new();
	supervisor->placement = placement_new();
	supervisor->evidence = evidence_new(start->plan, supervisor->record);
	find_system_loaders(supervisor);
}

static const char *seize_advice(int number)
{
	return number == EPERM ? ": kernel.yama.ptrace_scope, a container profile, or another tracer" : "";
}

/* Waits for the child's word that it may be seized. Front's wake-up is no answer: a run that is over already ends as one. */
static bool is_ready(int socket)
{
	char byte;
	ssize_t count;
	while ((count = recv(socket, &byte, 1, MSG_PEEK)) < 0 && errno == EINTR)
		;
	return count == 1 && byte == 'R' && recv(socket, &byte, 1, 0) == 1;
}

/* From the fork to the go byte. 0, or -errno with the record's error set. */
static int start_child(struct supervisor *supervisor, const struct launch *launch, const struct filter *filter)
{
	int pair[2];
	struct run_record *record = supervisor->record;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		record_error(record, "launch", errno, "cannot make a socket for the target's start: %s", strerror(errno));
		return -errno;
	}
	pid_t pid = launch_child(supervisor->plan, launch, filter, pair);
	close(pair[1]);
	supervisor->launch = pair[0];
	if (pid < 0) {
		record_error(record, "launch", -pid, "cannot fork: %s", strerror(-pid));
		return pid;
	}
	cgroup_put(supervisor->cgroup, pid, record);
	supervisor->main_tid = pid;
	atomic_store(&supervisor->shared->main_pid, pid);

	/* Otherwise a report lies in the socket, or the child is gone. */
	int failed = is_ready(pair[0]) ? control_seize(pid) : -EPROTO;
	if (failed && failed != -EPROTO)
		record_error(record, "ptrace", -failed, "cannot trace the target: %s%s", strerror(-failed), seize_advice(-failed));
	if (failed == -EPROTO)
		supervisor_read_launch_report(supervisor);
	if (failed) {
		kill(pid, SIGKILL);
		return failed;
	}
	supervisor_add_task(supervisor, pid, pid, getpid())->launching = true;
	return send(pair[0], "G", 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

/* A pipe is at its end only when nobody holds the other side: not the tracer either. */
static void close_front_descriptors(const struct supervise_start *start)
{
	for (size_t i = 0; i < start->front_fd_count; i++)
		if (start->front_fds[i] >= 0)
			close(start->front_fds[i]);
}

static void close_target_descriptors(const struct launch *launch)
{
	for (int i = 0; i < 3; i++)
		if (launch->descriptors[i] > STDERR_FILENO)
			close(launch->descriptors[i]);
	if (launch->landlock.ruleset >= 0)
		close(launch->landlock.ruleset);
}

static int prepare(struct supervisor *supervisor, const struct supervise_start *start, struct filter *filter)
{
	struct error error = { .number = 0 };
	supervisor->page = page_new();
	if (!supervisor->page || getrandom(&supervisor->injector.nonce, sizeof(uint64_t), 0) != sizeof(uint64_t)) {
		int number = errno ? errno : EIO;
		record_error(supervisor->record, "pin", number, "cannot make the sealed page: %s", strerror(number));
		return -number;
	}
	supervisor->injector.nonce |= UINT64_C(1) << 63;
	struct filter_needs needs = { .metadata = policy_inspects_metadata(supervisor->policy), .identity = supervisor->root,
				      .nonce = supervisor->injector.nonce };
	int failed = filter_build(supervisor->policy, needs, filter, &error);
	if (failed)
		record_error(supervisor->record, "seccomp", -failed, "%s", error.message);
	if (!failed)
		failed = protect_self(start->front_pid);
	return failed;
}

int supervise(void *data)
{
	const struct supervise_start *start = data;
	struct supervisor *supervisor = memory_zeroed(1, sizeof(*supervisor));
	struct filter filter = { .gate.len = 0 };
	set_signals();
	close_front_descriptors(start);
	supervisor_init(supervisor, start);
	int failed = prepare(supervisor, start, &filter);
	if (!failed)
		failed = start_child(supervisor, start->launch, &filter);
	filter_free(&filter);
	close_target_descriptors(start->launch);
	if (!failed)
		failed = drop_own_capabilities();
	if (!failed)
		failed = identity_begin(supervisor);
	bool told = record_first(supervisor->record) || supervisor->record->interrupted_signal;
	if (failed && !told)
		record_error(supervisor->record, "supervise", -failed, "cannot begin to supervise: %s", strerror(-failed));
	if (!failed)
		supervise_until_empty(supervisor);
	tasks_free(supervisor->tasks);
	page_free(supervisor->page);
	placement_free(supervisor->placement);
	evidence_free(supervisor->evidence);
	free(supervisor->bound_sockets);
	free(supervisor->refusal);
	free(supervisor);
	return failed ? EXIT_BAILIFF_FAILED : 0;
}
