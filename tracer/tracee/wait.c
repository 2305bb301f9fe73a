#include "tracee/wait.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SYSGOOD_BIT = 0x80, EVENT_SHIFT = 8, KIB = 1024 };

/* The system call itself has the fifth argument that libc's waitid() lacks: the usage of the one that is reaped. */
static int wait_call(idtype_t type, pid_t pid, siginfo_t *info, int options, struct rusage *usage)
{
	info->si_pid = 0;
	if (syscall(SYS_waitid, type, pid, info, options, usage) != 0)
		return -errno;
	return 0;
}

/* For a traced thread waitid() puts the whole stop word, event included, into si_status. */
static void decode_stop(int word, struct wait_event *event)
{
	int signal = word & 0x7f;
	int stop_event = word >> EVENT_SHIFT;

	event->signal = signal;
	switch (stop_event) {
	case PTRACE_EVENT_SECCOMP: event->kind = WAIT_SECCOMP_STOP; return;
	case PTRACE_EVENT_VFORK: event->suspends = true; /* fall through */
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_CLONE: event->kind = WAIT_NEW_TASK; return;
	case PTRACE_EVENT_EXEC: event->kind = WAIT_EXEC; return;
	case PTRACE_EVENT_EXIT: event->kind = WAIT_EXITING; return;
	case PTRACE_EVENT_STOP:
		/* SIGTRAP here is a trap; a stopping signal is a group-stop (ptrace(2), "Group-stop"). */
		event->kind = signal == SIGTRAP ? WAIT_TRAP : WAIT_GROUP_STOP;
		return;
	default: break;
	}
	event->kind = (word & 0xff) == (SIGTRAP | SYSGOOD_BIT) ? WAIT_SYSCALL_STOP : WAIT_SIGNAL;
}

static void decode_end(const siginfo_t *info, struct wait_event *event)
{
	event->kind = info->si_code == CLD_EXITED ? WAIT_EXITED : WAIT_KILLED;
	event->status = event->kind == WAIT_EXITED ? info->si_status : -1;
	event->signal = event->kind == WAIT_KILLED ? info->si_status : 0;
}

static bool is_end(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

static const int any = WEXITED | WSTOPPED | __WALL;

static int wait_one(idtype_t type, pid_t pid, bool account_exits, struct wait_event *event)
{
	siginfo_t info;
	struct rusage usage;
	memset(event, 0, sizeof(*event));

	int result = wait_call(type, pid, &info, account_exits ? any | WNOWAIT : any, &usage);
	if (result < 0)
		return result;
	event->tid = info.si_pid;
	if (account_exits) {
		uint64_t clock_ns = 0;
		if (is_end(&info))
			event->has_cpu = clock_process_cpu_ns(info.si_pid, &clock_ns) == 0;
		result = wait_call(P_PID, event->tid, &info, any | WNOHANG, &usage);
		if (result == 0 && info.si_pid == 0)
			result = -EINTR; /* taken back meanwhile (SIGCONT, SIGKILL): the next event tells */
		if (result < 0)
			return result == -ECHILD ? -EINTR : result;
		event->cpu_ns = clock_ns;
	}
	if (is_end(&info)) {
		decode_end(&info, event);
		event->max_rss_bytes = (unsigned long long)usage.ru_maxrss * KIB;
	} else {
		decode_stop(info.si_status, event);
	}
	return 0;
}

int wait_next(bool account_exits, struct wait_event *event)
{
	return wait_one(P_ALL, 0, account_exits, event);
}

pid_t wait_look(bool *end)
{
	siginfo_t info;
	struct rusage usage;
	int result = wait_call(P_ALL, 0, &info, any | WNOWAIT, &usage);
	*end = result == 0 && is_end(&info);
	return result < 0 ? result : info.si_pid;
}

int wait_for(pid_t tid, struct wait_event *event)
{
	return wait_one(P_PID, tid, true, event);
}

bool wait_is_ready(pid_t tid)
{
	siginfo_t info;
	struct rusage usage;
	return wait_call(P_PID, tid, &info, any | WNOHANG | WNOWAIT, &usage) != 0 || info.si_pid != 0;
}
