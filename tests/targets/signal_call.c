/* Makes one call that acts on another task, by its raw number, and says how it went.
 *
 *     signal_call [-z] CALL WHO [SIGNAL]
 *
 * CALL  kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal; setpriority, sched_setparam,
 *       sched_setscheduler, sched_setaffinity, sched_setattr, ioprio_set, prlimit64 (each sets what is set already);
 *       F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP (on a socket of its own)
 * WHO   self, child (a child that waits), group, everybody (-1), parent,
 *       absent (a number that no process can have), file:PATH
 * -z    exit 0 whatever the answer is
 * The signal is SIGCONT unless given by number: it changes nothing for a process that runs. */
#include "outcome.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FIOSETOWN
#define FIOSETOWN 0x8901
#define SIOCSPGRP 0x8902
#endif

static const char usage_text[] = "signal_call [-z] CALL WHO [SIGNAL]";

struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void queue_info(siginfo_t *info, int number)
{
	memset(info, 0, sizeof(*info));
	info->si_signo = number;
	info->si_code = SI_QUEUE;
	info->si_pid = getpid();
	info->si_uid = getuid();
}

static long call_kill(pid_t who, int number)
{
	return syscall(SYS_kill, who, number);
}

static long call_tkill(pid_t who, int number)
{
	return syscall(SYS_tkill, who, number);
}

static long call_tgkill(pid_t who, int number)
{
	return syscall(SYS_tgkill, who, who, number);
}

static long call_rt_sigqueueinfo(pid_t who, int number)
{
	siginfo_t info;

	queue_info(&info, number);
	return syscall(SYS_rt_sigqueueinfo, who, number, &info);
}

static long call_rt_tgsigqueueinfo(pid_t who, int number)
{
	siginfo_t info;

	queue_info(&info, number);
	return syscall(SYS_rt_tgsigqueueinfo, who, who, number, &info);
}

static long call_pidfd_send_signal(pid_t who, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, who, 0);

	outcome_require(fd >= 0, "pidfd_open");
	return syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
}

static long call_setpriority(pid_t who, int number)
{
	(void)number;
	errno = 0;
	return syscall(SYS_setpriority, PRIO_PROCESS, who, getpriority(PRIO_PROCESS, (id_t)who));
}

static long call_sched_setparam(pid_t who, int number)
{
	struct sched_param parameter = {0};

	(void)number;
	sched_getparam(who, &parameter);
	return syscall(SYS_sched_setparam, who, &parameter);
}

static long call_sched_setscheduler(pid_t who, int number)
{
	struct sched_param parameter = {0};

	(void)number;
	return syscall(SYS_sched_setscheduler, who, SCHED_OTHER, &parameter);
}

static long call_sched_setaffinity(pid_t who, int number)
{
	cpu_set_t cpus;

	(void)number;
	CPU_ZERO(&cpus);
	sched_getaffinity(who, sizeof(cpus), &cpus);
	return syscall(SYS_sched_setaffinity, who, sizeof(cpus), &cpus);
}

static long call_sched_setattr(pid_t who, int number)
{
	struct scheduling attributes = {.size = sizeof(attributes)};

	(void)number;
	syscall(SYS_sched_getattr, who, &attributes, sizeof(attributes), 0);
	return syscall(SYS_sched_setattr, who, &attributes, 0);
}

static long call_ioprio_set(pid_t who, int number)
{
	(void)number;
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, who, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4));
}

static long call_prlimit64(pid_t who, int number)
{
	struct rlimit limit = {0, 0};

	(void)number;
	/* With a new value, since reading another process' limits alone changes nothing. */
	if (syscall(SYS_prlimit64, who, RLIMIT_CORE, NULL, &limit) < 0)
		return -1;
	return syscall(SYS_prlimit64, who, RLIMIT_CORE, &limit, NULL);
}

static int socket_of_own(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	outcome_require(fd >= 0, "socket");
	return fd;
}

static long call_f_setown(pid_t who, int number)
{
	(void)number;
	return syscall(SYS_fcntl, socket_of_own(), F_SETOWN, who);
}

static long call_f_setown_ex(pid_t who, int number)
{
	struct f_owner_ex owner = {F_OWNER_PID, who};

	(void)number;
	return syscall(SYS_fcntl, socket_of_own(), F_SETOWN_EX, &owner);
}

static long call_fiosetown(pid_t who, int number)
{
	(void)number;
	return syscall(SYS_ioctl, socket_of_own(), FIOSETOWN, &who);
}

static long call_siocspgrp(pid_t who, int number)
{
	(void)number;
	return syscall(SYS_ioctl, socket_of_own(), SIOCSPGRP, &who);
}

static const struct call_row {
	const char *name;
	long (*perform)(pid_t who, int number);
} call_rows[] = {
	{"kill", call_kill},
	{"tkill", call_tkill},
	{"tgkill", call_tgkill},
	{"rt_sigqueueinfo", call_rt_sigqueueinfo},
	{"rt_tgsigqueueinfo", call_rt_tgsigqueueinfo},
	{"pidfd_send_signal", call_pidfd_send_signal},
	{"setpriority", call_setpriority},
	{"sched_setparam", call_sched_setparam},
	{"sched_setscheduler", call_sched_setscheduler},
	{"sched_setaffinity", call_sched_setaffinity},
	{"sched_setattr", call_sched_setattr},
	{"ioprio_set", call_ioprio_set},
	{"prlimit64", call_prlimit64},
	{"F_SETOWN", call_f_setown},
	{"F_SETOWN_EX", call_f_setown_ex},
	{"FIOSETOWN", call_fiosetown},
	{"SIOCSPGRP", call_siocspgrp},
};

static pid_t pid_from_file(const char *path)
{
	FILE *file = fopen(path, "re");
	int pid = 0;

	outcome_require(file && fscanf(file, "%d", &pid) == 1, path);
	fclose(file);
	return pid;
}

static pid_t waiting_child(void)
{
	pid_t child = fork();

	outcome_require(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return child;
}

static pid_t who_parse(const char *who)
{
	if (strcmp(who, "self") == 0)
		return getpid();
	if (strcmp(who, "child") == 0)
		return waiting_child();
	if (strcmp(who, "group") == 0)
		return 0;
	if (strcmp(who, "everybody") == 0)
		return -1;
	if (strcmp(who, "parent") == 0)
		return getppid();
	if (strcmp(who, "absent") == 0)
		return 0x3ffffffe;
	if (strncmp(who, "file:", 5) == 0)
		return pid_from_file(who + 5);
	exit(outcome_usage(usage_text));
}

int main(int argc, char **argv)
{
	int always_zero = argc > 1 && strcmp(argv[1], "-z") == 0, code;
	char **words = argv + 1 + always_zero;
	pid_t who;

	if (argc - always_zero < 3)
		return outcome_usage(usage_text);
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(call_rows[0]); i++) {
		if (strcmp(call_rows[i].name, words[0]) != 0)
			continue;
		who = who_parse(words[1]);
		code = outcome_report(words[0], call_rows[i].perform(who, words[2] ? atoi(words[2]) : SIGCONT));
		if (strcmp(words[1], "child") == 0)
			kill(who, SIGKILL);
		return always_zero ? OUTCOME_OK : code;
	}
	return outcome_usage(usage_text);
}
