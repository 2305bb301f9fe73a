#include "why/signal_frame.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

/* User code and data segments of a 64-bit process, as the kernel saves them (arch/x86/include/asm/segment.h): no other word of
 * a stack looks like the one that holds both. */
enum { USER_CS = 0x33, USER_SS = 0x2b };

static bool within(uint64_t address, const stack_t *stack)
{
	uint64_t begin = (uint64_t)(uintptr_t)stack->ss_sp;
	return address >= begin && address - begin < stack->ss_size;
}

static bool is_signal_frame(const ucontext_t *context, uint64_t at)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	uint64_t segments = (uint64_t)registers[REG_CSGSFS];
	return context->uc_link == NULL && (segments & 0xffff) == USER_CS && segments >> 48 == USER_SS &&
	       !(context->uc_stack.ss_flags & SS_DISABLE) && within(at, &context->uc_stack) &&
	       !within((uint64_t)registers[REG_RSP], &context->uc_stack) && registers[REG_RIP] != 0;
}

bool signal_frame_find(const unsigned char *stack, uint32_t length, uint64_t address, uint64_t *interrupted, uint32_t *end)
{
	/* The C library's ucontext_t is longer than the kernel's, by what it keeps for its own use behind the mask. */
	enum { SAVED_BYTES = offsetof(ucontext_t, uc_sigmask) + 8, WORD = 8 };
	ucontext_t context;
	for (uint32_t at = (uint32_t)(-address % WORD); at + SAVED_BYTES <= length; at += WORD) {
		memcpy(&context, stack + at, SAVED_BYTES);
		if (!is_signal_frame(&context, address + at))
			continue;
		*interrupted = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
		*end = at + SAVED_BYTES;
		return true;
	}
	return false;
}
