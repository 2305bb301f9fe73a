#include "tracee/registers.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

int registers_read_call(pid_t tid, struct call_registers *call)
{
	struct __ptrace_syscall_info info;
	long size = ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info);
	if (size < 0)
		return -errno;
	if (info.op != PTRACE_SYSCALL_INFO_SECCOMP)
		return -EPROTO;

	call->arch = info.arch;
	call->number = info.seccomp.nr;
	memcpy(call->args, info.seccomp.args, sizeof(call->args));
	call->instruction_pointer = info.instruction_pointer;
	call->stack_pointer = info.stack_pointer;
	return 0;
}

static int poke(pid_t tid, size_t offset, long value)
{
	return ptrace(PTRACE_POKEUSER, tid, offset, value) == 0 ? 0 : -errno;
}

/* Number -1 makes the kernel skip the call and leave rax alone (kernel/seccomp.c, SECCOMP_RET_TRACE). */
int registers_skip_call(pid_t tid, long result)
{
	int failed = poke(tid, offsetof(struct user_regs_struct, orig_rax), -1);
	return failed ? failed : poke(tid, offsetof(struct user_regs_struct, rax), result);
}

int registers_read_result(pid_t tid, long *result)
{
	errno = 0;
	*result = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user_regs_struct, rax), 0);
	return -errno;
}

int registers_write_result(pid_t tid, long result)
{
	return poke(tid, offsetof(struct user_regs_struct, rax), result);
}
