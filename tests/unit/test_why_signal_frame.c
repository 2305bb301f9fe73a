/* Signal frames on alternate stacks: one that the kernel made, and bytes that only look like one. */
#include "tap.h"

#include "why/signal_frame.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * 1024, CONTEXT_AT = 512 };

static unsigned char alternate[STACK_BYTES] __attribute__((aligned(16)));
static uint64_t handler_stack_pointer, interrupted_stack_pointer;
static bool found;
static uint64_t said;
static uint32_t end;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	handler_stack_pointer = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	interrupted_stack_pointer = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
	uint64_t offset = handler_stack_pointer - (uint64_t)(uintptr_t)alternate;
	if (offset < sizeof(alternate))
		found = signal_frame_find(alternate + offset, (uint32_t)(sizeof(alternate) - offset), handler_stack_pointer, &said, &end);
}

static void test_the_kernels_own(void)
{
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigemptyset(&action.sa_mask);
	if (!tap_ok(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0, "a handler on a stack of its own"))
		return;
	raise(SIGUSR1);
	tap_ok(found && said == interrupted_stack_pointer, "its frame says where the thread was");
	tap_ok(found && end > 0 && end < sizeof(alternate) - (handler_stack_pointer - (uint64_t)(uintptr_t)alternate),
	       "and where what belongs to the stack ends");
}

static ucontext_t sound_context(uint64_t address)
{
	ucontext_t context = { .uc_stack = { .ss_sp = (void *)(uintptr_t)(address & ~0xfffULL), .ss_size = 0x10000 } };
	context.uc_mcontext.gregs[REG_CSGSFS] = 0x002b000000000033;
	context.uc_mcontext.gregs[REG_RSP] = 0x7fff12345678;
	context.uc_mcontext.gregs[REG_RIP] = 0x401000;
	return context;
}

static bool finds(const ucontext_t *context, uint32_t length)
{
	unsigned char bytes[2 * CONTEXT_AT + sizeof(*context)];
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + CONTEXT_AT, context, sizeof(*context));
	return signal_frame_find(bytes, length, 0x7f0000001000, &said, &end);
}

static void test_what_only_looks_like_one(void)
{
	const uint64_t address = 0x7f0000001000 + CONTEXT_AT;
	ucontext_t context = sound_context(address);
	tap_ok(finds(&context, CONTEXT_AT + sizeof(context)) && said == 0x7fff12345678, "one in the middle is found");
	tap_ok(!finds(&context, CONTEXT_AT + 64), "not one that is cut");
	tap_ok(!finds(&context, 0), "nor one in no bytes");
	context.uc_link = &context;
	tap_ok(!finds(&context, sizeof(context) + CONTEXT_AT), "not one with a link, which the kernel never writes");
	context = sound_context(address);
	context.uc_mcontext.gregs[REG_CSGSFS] = 0x002b000000000023;
	tap_ok(!finds(&context, sizeof(context) + CONTEXT_AT), "not one of another code segment");
	context = sound_context(address);
	context.uc_stack.ss_sp = (void *)(uintptr_t)(address + 8);
	tap_ok(!finds(&context, sizeof(context) + CONTEXT_AT), "not one that lies outside the stack it names");
	context = sound_context(address);
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)address;
	tap_ok(!finds(&context, sizeof(context) + CONTEXT_AT), "not one that was on that very stack already");
	context = sound_context(address);
	context.uc_stack.ss_flags = SS_DISABLE;
	tap_ok(!finds(&context, sizeof(context) + CONTEXT_AT), "not one without an alternate stack");
}

int main(void)
{
	if (!tap_in_valgrind()) /* it makes a frame of its own */
		test_the_kernels_own();
	test_what_only_looks_like_one();
	return tap_done();
}
