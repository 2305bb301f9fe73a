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

void control_listen(pid_t tid)
{
	ptrace(PTRACE_LISTEN, tid, 0, 0);
}

pid_t control_event_message(pid_t tid)
{
	unsigned long message = 0;
	return ptrace(PTRACE_GETEVENTMSG, tid, 0, &message) == 0 ? (pid_t)message : 0;
}
