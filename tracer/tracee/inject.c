#include "tracee/inject.h"

#include "base/bug.h"
#include "base/syscalls.h"
#include "tracee/control.h"
#include "tracee/memory.h"
#include "tracee/proc.h"
#include "tracee/registers.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { LOOK_AGAIN_MS = 2, VDSO_BYTES = 8192, SYSCALL_BYTES = 2 };

/* What the kernel leaves as the result of a call that it will make again; programs never see it, a tracer does. */
enum { ERESTARTSYS = 512 };

/* A thread that is borrowed for calls of ours, and what it gets back. */
struct borrowed {
	pid_t tid;
	uint64_t instruction;
	uint64_t inject_number;
	uint64_t signal_mask;
	bool stopped;             /* a stopping signal came meanwhile: it is sent again */
	struct registers_all registers;
	struct wait_event *other; /* what ended the borrowing */
};

/* ---- the `syscall` instruction ------------------------------------------------------------------------------------ */

/* The vdso is the same in every process of this kernel; only its address differs. */
static int find_instruction(struct injector *injector, pid_t tid, uint64_t *instruction)
{
	unsigned char bytes[VDSO_BYTES];
	uint64_t vdso = proc_auxiliary_value(tid, AT_SYSINFO_EHDR);
	if (vdso == 0)
		return -ENOEXEC;
	if (injector->syscall_offset == 0) {
		size_t length = sizeof(bytes);
		if (memory_read(tid, tracee_address_of(vdso), bytes, length) != 0) {
			length /= 2;
			if (memory_read(tid, tracee_address_of(vdso), bytes, length) != 0)
				return -EFAULT;
		}
		const unsigned char *found = memmem(bytes, length, "\x0f\x05", 2);
		if (!found)
			return -ENOEXEC;
		injector->syscall_offset = (uint64_t)(found - bytes);
	}
	*instruction = vdso + injector->syscall_offset;
	return 0;
}

/* ---- one call ----------------------------------------------------------------------------------------------------- */

/* Takes one event of the thread. 1 for the stop that `wanted` names, 0 where another stop came between and was put aside,
 * -ESRCH for anything else: the borrowing is over. */
static int take(struct borrowed *borrowed, enum wait_kind wanted)
{
	struct wait_event *event = borrowed->other;
	int result;
	while ((result = wait_for(borrowed->tid, event)) == -EINTR)
		;
	if (result != 0) {
		event->tid = 0;
		return -ESRCH;
	}
	if (event->kind == wanted && (wanted != WAIT_SIGNAL || event->signal == SIGTRAP)) {
		event->tid = 0;
		return 1;
	}
	/* Sent again when the thread has its registers back. */
	if (event->kind == WAIT_GROUP_STOP || (event->kind == WAIT_SIGNAL && event->signal == SIGSTOP))
		borrowed->stopped = true;
	/* A call of ours may match a rule that is meant for the program, or a filter of its own: it goes on. */
	else if (event->kind != WAIT_TRAP && event->kind != WAIT_SECCOMP_STOP)
		return -ESRCH;
	event->tid = 0;
	return 0;
}

static int await_exit(struct borrowed *borrowed)
{
	int taken;
	while ((taken = take(borrowed, WAIT_SYSCALL_STOP)) == 0)
		if (control_resume_to_exit(borrowed->tid) != 0)
			return -ESRCH;
	return taken < 0 ? taken : 0;
}

static int await_step(struct borrowed *borrowed)
{
	int taken;
	while ((taken = take(borrowed, WAIT_SIGNAL)) == 0)
		if (control_step(borrowed->tid) != 0)
			return -ESRCH;
	return taken < 0 ? taken : 0;
}

static int start_call(struct borrowed *borrowed, uint64_t number, const uint64_t args[6])
{
	struct registers_all registers = borrowed->registers;
	registers_prepare_call(&registers, borrowed->instruction, number, args);
	int failed = registers_write_all(borrowed->tid, &registers);
	return failed ? failed : control_step(borrowed->tid);
}

static int finish_call(struct borrowed *borrowed, long *result)
{
	int failed = await_step(borrowed);
	return failed ? failed : registers_read_result(borrowed->tid, result);
}

static int borrowed_call(struct borrowed *borrowed, uint64_t number, const uint64_t args[6], long *result)
{
	int failed = start_call(borrowed, number, args);
	return failed ? failed : finish_call(borrowed, result);
}

/* ---- descriptors -------------------------------------------------------------------------------------------------- */

static void refuse_stranger(int listener, uint64_t id)
{
	struct seccomp_notif_resp answer = { .id = id, .error = -ENOSYS };
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Interrupted by a signal, the kernel forgets the descriptor but not that the call was answered: it would return 0 without
 * one. The target is awake and takes it at once, or is killed, so that no signal has to wait. */
static int add_descriptor(int listener, uint64_t id, int fd, int fd_flags)
{
	sigset_t all, before;
	struct seccomp_notif_addfd add = {
		.id = id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = (uint32_t)fd_flags,
	};
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	int number = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	int failed = number >= 0 ? 0 : -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return failed ? failed : number;
}

int inject_answer(struct injector *injector, pid_t tid, int fd, int fd_flags)
{
	for (;;) {
		struct pollfd ready = { .fd = injector->listener, .events = POLLIN };
		if (poll(&ready, 1, LOOK_AGAIN_MS) <= 0) {
			if (wait_is_ready(tid))
				return -ESRCH;
			continue;
		}
		struct seccomp_notif request;
		memset(&request, 0, sizeof(request));
		if (ioctl(injector->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
			/* ENOENT: taken back, its thread was killed. Anything else would come again for ever. */
			bug_unless(errno == ENOENT || errno == EINTR);
			continue;
		}
		if ((pid_t)request.pid != tid) {
			refuse_stranger(injector->listener, request.id);
			continue;
		}
		int number = add_descriptor(injector->listener, request.id, fd, fd_flags);
		if (number < 0 && number != -ENOENT) {
			struct seccomp_notif_resp answer = { .id = request.id, .error = number };
			ioctl(injector->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		}
		return number;
	}
}

/* A new image whose descriptor table is full has room for one more for this moment. */
static void make_room(pid_t tid, struct rlimit *saved)
{
	if (prlimit(tid, RLIMIT_NOFILE, NULL, saved) != 0)
		return;
	struct rlimit raised = { .rlim_cur = saved->rlim_max, .rlim_max = saved->rlim_max };
	if (saved->rlim_cur < saved->rlim_max)
		prlimit(tid, RLIMIT_NOFILE, &raised, NULL);
}

/* Before the instruction; or behind it with a call that was taken back, since the trap of the step is reported before the
 * signal that took it back, and only behind that signal does the kernel go back to the instruction. */
static bool is_before_call(const struct borrowed *borrowed)
{
	struct registers_all registers;
	struct registers_position position;
	if (registers_read_all(borrowed->tid, &registers) != 0)
		return false;
	registers_position(&registers, &position);
	return position.instruction_pointer == borrowed->instruction ||
	       (position.instruction_pointer == borrowed->instruction + SYSCALL_BYTES && registers_result(&registers) == -ERESTARTSYS);
}

/* The injection call waits for our answer, and a stopping signal takes it back: it is made once more then. */
static int answered(struct injector *injector, struct borrowed *borrowed, int fd, long *number)
{
	for (;;) {
		int given = inject_answer(injector, borrowed->tid, fd, O_CLOEXEC);
		if (given == -ENOENT)
			given = -ESRCH; /* taken back between our look and our answer */
		if (given != -ESRCH) {
			int failed = finish_call(borrowed, number);
			return failed ? failed : (given < 0 ? given : (*number == given ? 0 : -EPROTO));
		}
		int taken = take(borrowed, WAIT_SIGNAL);
		if (taken < 0)
			return taken;
		/* Taken back and about to be made again, or over without an answer: where the thread stands tells. */
		if (taken > 0 && !is_before_call(borrowed))
			return -EPROTO;
		if (control_step(borrowed->tid) != 0)
			return -ESRCH;
	}
}

static int give_descriptor(struct injector *injector, struct borrowed *borrowed, int fd, long *number)
{
	struct rlimit saved = { 0, 0 };
	const uint64_t args[6] = { injector->nonce };
	make_room(borrowed->tid, &saved);
	int failed = start_call(borrowed, borrowed->inject_number, args);
	if (!failed)
		failed = answered(injector, borrowed, fd, number);
	if (saved.rlim_max)
		prlimit(borrowed->tid, RLIMIT_NOFILE, &saved, NULL);
	return failed;
}

/* ---- the page ----------------------------------------------------------------------------------------------------- */

static int map_page(struct injector *injector, struct page *page, struct borrowed *borrowed)
{
	long fd, address, closed;
	int failed = give_descriptor(injector, borrowed, page_descriptor(page), &fd);
	if (failed)
		return failed;
	const uint64_t map_args[6] = { PAGE_BASE, page_length(), PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, (uint64_t)fd, 0 };
	failed = borrowed_call(borrowed, SYS_mmap, map_args, &address);
	const uint64_t close_args[6] = { (uint64_t)fd };
	if (!failed)
		failed = borrowed_call(borrowed, SYS_close, close_args, &closed);
	if (failed)
		return failed;
	if (address != PAGE_BASE)
		return address < 0 ? (int)address : -EEXIST; /* the image itself lies there */
	return page_is_mapped(page, borrowed->tid);
}

static int give_back(struct borrowed *borrowed)
{
	int failed = registers_write_all(borrowed->tid, &borrowed->registers);
	/* A SIGCONT that came later is pending, since everything is blocked: then the stop is over. */
	if (!failed && borrowed->stopped && !proc_signal_is_pending(borrowed->tid, SIGCONT))
		kill(borrowed->tid, SIGSTOP);
	if (!failed)
		failed = control_write_signal_mask(borrowed->tid, borrowed->signal_mask);
	return failed;
}

uint64_t inject_number(bool filtered)
{
	return filtered ? SYS_mmap : SYSCALL_INJECT;
}

int inject_page(struct injector *injector, struct page *page, pid_t tid, bool filtered, struct wait_event *other)
{
	struct borrowed borrowed = { .tid = tid, .inject_number = inject_number(filtered), .other = other };
	other->tid = 0;
	/* No signal but SIGSTOP and SIGKILL is delivered in between: the others stay pending. */
	int failed = control_read_signal_mask(tid, &borrowed.signal_mask);
	if (!failed)
		failed = control_write_signal_mask(tid, UINT64_MAX);
	/* At PTRACE_EVENT_EXEC the result register is still to be written by execve's return: first to its exit stop. */
	if (!failed)
		failed = control_resume_to_exit(tid);
	if (!failed)
		failed = await_exit(&borrowed);
	if (!failed)
		failed = registers_read_all(tid, &borrowed.registers);
	if (!failed)
		failed = find_instruction(injector, tid, &borrowed.instruction);
	if (!failed)
		failed = map_page(injector, page, &borrowed);
	return failed ? failed : give_back(&borrowed);
}
