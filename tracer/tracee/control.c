#include "tracee/control.h"

#include <errno.h>
#include <sys/ptrace.h>

int control_seize(pid_t pid)
{
	const unsigned long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				      PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESECCOMP;
	return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ? 0 : -errno;
}

void control_resume(pid_t tid, int signal)
{
	ptrace(PTRACE_CONT, tid, 0, (unsigned long)signal);
}

int control_resume_to_exit(pid_t tid)
{
	return ptrace(PTRACE_SYSCALL, tid, 0, 0) == 0 ? 0 : -errno;
}

int control_step(pid_t tid)
{
	return ptrace(PTRACE_SINGLESTEP, tid, 0, 0) == 0 ? 0 : -errno;
}

void control_interrupt(pid_t tid)
{
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
}

int control_read_signal_mask(pid_t tid, uint64_t *mask)
{
	return ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), mask) == 0 ? 0 : -errno;
}

int control_write_signal_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0 ? 0 : -errno;
}

void control_listen(pid_t tid)
{
	ptrace(PTRACE_LISTEN, tid, 0, 0);
}

unsigned long control_event_message_word(pid_t tid)
{
	unsigned long message = 0;
	return ptrace(PTRACE_GETEVENTMSG, tid, 0, &message) == 0 ? message : 0;
}

pid_t control_event_message(pid_t tid)
{
	return (pid_t)control_event_message_word(tid);
}
