#include "tracee/registers.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
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

_Static_assert(sizeof(struct user_regs_struct) <= sizeof(struct registers_all), "all registers fit");

static int read_all(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec vector = { registers, sizeof(*registers) };
	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &vector) == 0 ? 0 : -errno;
}

static int write_all(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec vector = { (void *)registers, sizeof(*registers) };
	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &vector) == 0 ? 0 : -errno;
}

static void put_args(struct user_regs_struct *registers, const uint64_t args[6])
{
	registers->rdi = args[0];
	registers->rsi = args[1];
	registers->rdx = args[2];
	registers->r10 = args[3];
	registers->r8 = args[4];
	registers->r9 = args[5];
}

static void get_args(const struct user_regs_struct *registers, uint64_t args[6])
{
	args[0] = registers->rdi;
	args[1] = registers->rsi;
	args[2] = registers->rdx;
	args[3] = registers->r10;
	args[4] = registers->r8;
	args[5] = registers->r9;
}

int registers_rewrite_call(pid_t tid, uint64_t number, const uint64_t args[6], struct call_saved *saved)
{
	struct user_regs_struct registers;
	int failed = read_all(tid, &registers);
	if (failed)
		return failed;
	saved->number = registers.orig_rax;
	get_args(&registers, saved->args);
	registers.orig_rax = number;
	put_args(&registers, args);
	return write_all(tid, &registers);
}

int registers_read_all(pid_t tid, struct registers_all *all)
{
	struct user_regs_struct registers;
	int failed = read_all(tid, &registers);
	if (!failed)
		memcpy(all->bytes, &registers, sizeof(registers));
	return failed;
}

int registers_write_all(pid_t tid, const struct registers_all *all)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	return write_all(tid, &registers);
}

void registers_position(const struct registers_all *all, struct registers_position *position)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	position->instruction_pointer = registers.rip;
	position->stack_pointer = registers.rsp;
	position->frame_pointer = registers.rbp;
	position->fs_base = registers.fs_base;
}

uint32_t registers_all_bytes(void)
{
	return sizeof(struct user_regs_struct);
}

void registers_prepare_call(struct registers_all *all, uint64_t instruction, uint64_t number, const uint64_t args[6])
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	registers.rip = instruction;
	registers.rax = number;
	registers.orig_rax = (uint64_t)-1;
	put_args(&registers, args);
	memcpy(all->bytes, &registers, sizeof(registers));
}

long registers_result(const struct registers_all *all)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	return (long)registers.rax;
}

void registers_put_back(struct registers_all *all, const struct call_saved *saved, const long *replace)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	if (replace)
		registers.rax = (uint64_t)*replace;
	registers.orig_rax = saved->number;
	put_args(&registers, saved->args);
	memcpy(all->bytes, &registers, sizeof(registers));
}

static void step_back(struct user_regs_struct *registers, uint64_t number)
{
	enum { SYSCALL_INSTRUCTION_BYTES = 2 };
	registers->rax = number;
	registers->orig_rax = (uint64_t)-1; /* no restart logic of the kernel's on top of ours */
	registers->rip -= SYSCALL_INSTRUCTION_BYTES;
}

void registers_rewind(struct registers_all *all, const struct call_saved *saved)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	step_back(&registers, saved->number);
	put_args(&registers, saved->args);
	memcpy(all->bytes, &registers, sizeof(registers));
}

bool registers_interrupted(const struct registers_all *all, uint64_t *number, uint64_t args[6])
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	*number = registers.orig_rax;
	const uint64_t values[6] = { registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9 };
	memcpy(args, values, sizeof(values));
	return registers.orig_rax != (uint64_t)-1 && (long)registers.rax == -EINTR;
}

void registers_call_again(struct registers_all *all)
{
	struct user_regs_struct registers;
	memcpy(&registers, all->bytes, sizeof(registers));
	step_back(&registers, registers.orig_rax);
	memcpy(all->bytes, &registers, sizeof(registers));
}
