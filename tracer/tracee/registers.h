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

/* What a rewritten call has to be given back: the program never sees that its arguments were others. */
struct call_saved {
	uint64_t number;
	uint64_t args[6];
};

/* At a seccomp stop: the call becomes `number` with `args`. What it was goes into *saved. The filter runs again on the new
 * number, so that it must be one that passes or stops there. */
int registers_rewrite_call(pid_t tid, uint64_t number, const uint64_t args[6], struct call_saved *saved);

/* At an exit stop: what the call returned. */
int registers_read_result(pid_t tid, long *result);

/* Every general register, opaque: for a thread that is borrowed for calls of ours. */
struct registers_all {
	unsigned char bytes[256];
};
int registers_read_all(pid_t tid, struct registers_all *all);
int registers_write_all(pid_t tid, const struct registers_all *all);

/* Where a thread is: what a reader of its stack begins with. */
struct registers_position {
	uint64_t instruction_pointer, stack_pointer, frame_pointer;
	uint64_t fs_base; /* pthread_self() */
};
void registers_position(const struct registers_all *all, struct registers_position *position);

/* How many of the bytes are registers (struct user_regs_struct). */
uint32_t registers_all_bytes(void);

/* Prepares a call from the `syscall` instruction at `instruction`, in a copy of the thread's registers. */
void registers_prepare_call(struct registers_all *all, uint64_t instruction, uint64_t number, const uint64_t args[6]);

/* At the exit stop of a rewritten call, in a copy of its registers: what it returned. */
long registers_result(const struct registers_all *all);

/* The program's own arguments and number. With the original number in orig_rax an interrupted call restarts, or returns
 * EINTR, as it would have; and the restarted one is decided again. `replace` (may be NULL) is what the program sees in place
 * of the result. */
void registers_put_back(struct registers_all *all, const struct call_saved *saved, const long *replace);

/* Does the thread stand behind a call that returned EINTR? The call's number and arguments. */
bool registers_interrupted(const struct registers_all *all, uint64_t *number, uint64_t args[6]);

/* There: it goes back to the system call instruction and makes the same call once more. */
void registers_call_again(struct registers_all *all);

/* As registers_put_back, but the thread goes back to the system call instruction and makes the call once more. */
void registers_rewind(struct registers_all *all, const struct call_saved *saved);

#endif
