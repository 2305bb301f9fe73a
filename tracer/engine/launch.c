#include "engine/launch.h"

#include "engine/identity.h"
#include "engine/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KEPT_MAX = 256 };

static const char *const step_texts[STEP_COUNT] = {
	[STEP_SESSION] = "cannot make a session for the target",
	[STEP_LIMITS] = "cannot set the target's limits",
	[STEP_DESCRIPTORS] = "cannot set the target's standard streams",
	[STEP_CWD] = "cannot enter the working directory of the run",
	[STEP_GO] = "the tracer did not answer the new process",
	[STEP_DUMPABLE] = "cannot make the target readable to its tracer",
	[STEP_NO_NEW_PRIVS] = "cannot set no_new_privs",
	[STEP_LANDLOCK] = "cannot come under the Landlock ruleset",
	[STEP_CAPABILITIES] = "cannot drop capabilities",
	[STEP_CLOSE] = "cannot close inherited descriptors",
	[STEP_FILTER] = "cannot install the seccomp filter",
	[STEP_LISTENER] = "cannot hand over the seccomp listener",
	[STEP_PROBE] = "a system call that must stop did not stop: this host does not deliver seccomp stops to a tracer",
	[STEP_EXEC] = "cannot execute the command",
};

const char *launch_step_text(int step)
{
	return step >= 0 && step < STEP_COUNT ? step_texts[step] : "unknown step";
}

pid_t launch_process(int (*body)(void *data), void *data)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(body(data));
	return pid;
}

_Noreturn void launch_abandon(void)
{
	_exit(EXIT_BAILIFF_FAILED);
}

/* ---- in the child ------------------------------------------------------------------------------------------------- */

_Noreturn static void give_up(int socket, enum launch_step step, int number)
{
	struct launch_report report = { (int)step, number };
	ssize_t written = send(socket, &report, sizeof(report), MSG_NOSIGNAL);
	_exit(written == sizeof(report) ? EXIT_CANNOT_EXECUTE : EXIT_BAILIFF_FAILED);
}

/* A session of its own keeps the target away from the caller's terminal and process groups. With a terminal in the
 * foreground it gets only a group of its own and the terminal, so that job control works. */
static int enter_session(const struct launch *launch)
{
	if (!launch->terminal)
		return setsid() >= 0 ? 0 : errno;
	if (setpgid(0, 0) != 0)
		return errno;
	/* SIGTTOU is ignored here, as it is in the tracer. */
	return tcsetpgrp(launch->descriptors[0], getpid()) == 0 ? 0 : errno;
}

/* Sources may themselves be 0, 1 or 2: first out of the way, then into place. */
static int place_descriptors(const struct launch *launch)
{
	enum { ABOVE_STANDARD = 3 };
	int copies[3];
	for (int i = 0; i < 3; i++) {
		copies[i] = fcntl(launch->descriptors[i], F_DUPFD_CLOEXEC, ABOVE_STANDARD);
		if (copies[i] < 0)
			return errno;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(copies[i], i) < 0)
			return errno;
	return 0;
}

static int compare_descriptors(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

/* Closes everything but 0-2, --fd and the control socket; what is kept for the target survives the execve. */
static int close_others(const struct run_plan *plan, int socket)
{
	int kept[KEPT_MAX + 1];
	if (plan->keep_fd_count > KEPT_MAX)
		return E2BIG;
	for (size_t i = 0; i < plan->keep_fd_count; i++) {
		kept[i] = plan->keep_fds[i];
		if (fcntl(kept[i], F_SETFD, 0) != 0)
			return errno;
	}
	kept[plan->keep_fd_count] = socket;
	qsort(kept, plan->keep_fd_count + 1, sizeof(kept[0]), compare_descriptors);

	unsigned next = STDERR_FILENO + 1;
	for (size_t i = 0; i <= plan->keep_fd_count; i++) {
		unsigned fd = (unsigned)kept[i];
		if (fd > next && syscall(SYS_close_range, next, fd - 1, 0) != 0)
			return errno;
		next = fd + 1;
	}
	return syscall(SYS_close_range, next, ~0U, 0) == 0 ? 0 : errno;
}

/* The tracer, from which this was forked, ignores what is front's business. */
static void restore_signals(const struct launch *launch)
{
	for (int number = 1; number < RUN_SIGNAL_MAX; number++)
		signal(number, launch->signals->ignored[number] ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &launch->signals->mask, NULL);
}

static int send_listener(int socket, int listener)
{
	char byte = 'L';
	struct iovec data = { &byte, 1 };
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
	memset(&control, 0, sizeof(control));
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &listener, sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

static int install_filter(const struct filter *filter, int socket)
{
	int listener = -1;
	int failed = -filter_install(filter, &listener);
	if (failed)
		give_up(socket, STEP_FILTER, failed);
	failed = send_listener(socket, listener);
	close(listener);
	return failed;
}

/* One real stop, before the target runs: a host where stops never come must not get that far. */
static int probe_stop(void)
{
	long answer = syscall(SYS_mkdirat, LAUNCH_PROBE_ARGUMENT, NULL, LAUNCH_PROBE_ARGUMENT);
	return answer == LAUNCH_PROBE_ANSWER ? 0 : (answer < 0 ? errno : EPROTO);
}

static int exchange_go(int socket)
{
	char byte = 'R';
	if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1)
		return errno;
	ssize_t count = recv(socket, &byte, 1, 0);
	return count == 1 ? 0 : (count < 0 ? errno : EPIPE);
}

static void require(int number, int socket, enum launch_step step)
{
	if (number)
		give_up(socket, step, number);
}

_Noreturn static void child_main(const struct run_plan *plan, const struct launch *launch, const struct filter *filter, int socket)
{
	require(enter_session(launch), socket, STEP_SESSION);
	require(limit_set_in_child(plan->policy), socket, STEP_LIMITS);
	require(place_descriptors(launch), socket, STEP_DESCRIPTORS);
	require(chdir(plan->cwd) == 0 ? 0 : errno, socket, STEP_CWD);
	/* Forked from a process that is not dumpable: seizing needs this first. */
	require(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ? 0 : errno, socket, STEP_DUMPABLE);
	require(exchange_go(socket), socket, STEP_GO);
	require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno, socket, STEP_NO_NEW_PRIVS);
	require(landlock_apply(&launch->landlock), socket, STEP_LANDLOCK);
	require(-identity_drop_capabilities(identity_kept_capabilities(), true), socket, STEP_CAPABILITIES);
	require(close_others(plan, socket), socket, STEP_CLOSE);
	require(install_filter(filter, socket), socket, STEP_LISTENER);
	require(probe_stop(), socket, STEP_PROBE);
	restore_signals(launch);
	execve(launch->program, plan->command, plan->environment);
	give_up(socket, STEP_EXEC, errno);
}

pid_t launch_child(const struct run_plan *plan, const struct launch *launch, const struct filter *filter,
		   const int sockets[static 2])
{
	pid_t pid = fork();
	if (pid == 0) {
		/* With the tracer's end in its own hands the child would wait for the go byte of a tracer that has died. */
		close(sockets[0]);
		child_main(plan, launch, filter, sockets[1]);
	}
	return pid > 0 ? pid : -errno;
}

/* ---- in the tracer ------------------------------------------------------------------------------------------------ */

int launch_receive_listener(int socket)
{
	char byte;
	struct iovec data = { &byte, 1 };
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (count < 0)
		return -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (count != 1 || !header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	int fd;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

bool launch_receive_report(int socket, struct launch_report *report)
{
	return recv(socket, report, sizeof(*report), MSG_DONTWAIT) == (ssize_t)sizeof(*report);
}
