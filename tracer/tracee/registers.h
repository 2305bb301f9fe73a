/* The registers of a stopped thread: the one file that writes them. x86_64; another machine gets a file of the same name. */
#ifndef TRACEE_REGISTERS_H
#define TRACEE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The call of a seccomp stop, by one PTRACE_GET_SYSCALL_INFO. */
struct call_registers {
	uint32_t arch;      /* AUDIT_ARCH_… */
	uint64_t number;
	uint64_t args[6];
	uint64_t instruction_pointer, stack_pointer;
};

/* All return 0 or -errno; -ESRCH (killed meanwhile) is normal. */
int registers_read_call(pid_t tid, struct call_registers *call);

/* At a seccomp stop: the call is not made, and returns `result` (a value or -errno) to the program. */
int registers_skip_call(pid_t tid, long result);

/* At an exit stop: what the call returned. */
int registers_read_result(pid_t tid, long *result);

/* At an exit stop: the program sees `result` instead. */
int registers_write_result(pid_t tid, long result);

#endif
