#include "engine/filter.h"

#include "base/cleanup.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "engine/limits.h"
#include "tracee/inject.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* An argument check that must lead to a stop (or to an errno). 32-bit arguments are compared by their low word alone, since
 * the kernel ignores the rest; a comparison of the whole word would be evaded by a stray high bit. */
struct check {
	const char *name;
	enum { STOP, ANSWER } action;
	int answer; /* errno for ANSWER */
	unsigned count;
	struct scmp_arg_cmp compare[2];
};

#define LOW_WORD 0xffffffffu
#define IS(index, value)         { (index), SCMP_CMP_MASKED_EQ, LOW_WORD, (value) }
#define BIT(index, bit)          { (index), SCMP_CMP_MASKED_EQ, (bit), (bit) }
#define NIBBLE(index, value)     { (index), SCMP_CMP_MASKED_EQ, 0xf, (value) }
#define IN_PAGE(index)           { (index), SCMP_CMP_MASKED_EQ, FILTER_PAGE_MASK, 0 }
#define NOT_ZERO(index)          { (index), SCMP_CMP_NE, 0, 0 }
#define REQUEST_TYPE(value)      { 1, SCMP_CMP_MASKED_EQ, 0xff00, (value) << 8 }
#define ABOVE(index, value)      { (index), SCMP_CMP_GT, (value), 0 }

/* socket(family, type, protocol): only AF_UNIX, AF_INET and AF_INET6, stream or datagram, TCP or UDP pass unseen.
 * A high bit in family or protocol makes the number "above" and so leads to a stop, never past one. Each value has a
 * row of its own, since libseccomp takes one comparison per argument and rule. */
#define ONE_CHECK(call, ...) { call, STOP, 0, 1, { __VA_ARGS__ } }
#define SOCKET_CHECKS(call) \
	ONE_CHECK(call, IS(0, 0)), ONE_CHECK(call, IS(0, 3)), ONE_CHECK(call, IS(0, 4)), ONE_CHECK(call, IS(0, 5)), \
	ONE_CHECK(call, IS(0, 6)), ONE_CHECK(call, IS(0, 7)), ONE_CHECK(call, IS(0, 8)), ONE_CHECK(call, IS(0, 9)), \
	ONE_CHECK(call, ABOVE(0, 10)), ONE_CHECK(call, NIBBLE(1, 0)), ONE_CHECK(call, NIBBLE(1, 3)), ONE_CHECK(call, NIBBLE(1, 4)), \
	ONE_CHECK(call, NIBBLE(1, 5)), ONE_CHECK(call, NIBBLE(1, 6)), ONE_CHECK(call, NIBBLE(1, 7)), ONE_CHECK(call, BIT(1, 8)), \
	ONE_CHECK(call, IS(2, 1)), ONE_CHECK(call, IS(2, 2)), ONE_CHECK(call, IS(2, 3)), ONE_CHECK(call, IS(2, 4)), \
	ONE_CHECK(call, IS(2, 5)), ONE_CHECK(call, IS(2, 7)), ONE_CHECK(call, IS(2, 8)), ONE_CHECK(call, IS(2, 9)), \
	ONE_CHECK(call, IS(2, 10)), ONE_CHECK(call, IS(2, 11)), ONE_CHECK(call, IS(2, 12)), ONE_CHECK(call, IS(2, 13)), \
	ONE_CHECK(call, IS(2, 14)), ONE_CHECK(call, IS(2, 15)), ONE_CHECK(call, IS(2, 16)), ONE_CHECK(call, ABOVE(2, 17))

static const struct check checks[] = {
	/* dest_addr == NULL means a connected socket; this covers MSG_FASTOPEN too, which carries an address. */
	{ "sendto", STOP, 0, 1, { NOT_ZERO(4) } },
	SOCKET_CHECKS("socket"),
	SOCKET_CHECKS("socketpair"),

	/* A route inside the packets leads around the address that is decided (handle_sockopt.c). */
	{ "setsockopt", STOP, 0, 2, { IS(1, 0), IS(2, 4) } },   /* IPPROTO_IP, IP_OPTIONS */
	{ "setsockopt", STOP, 0, 2, { IS(1, 41), IS(2, 57) } }, /* IPPROTO_IPV6, IPV6_RTHDR */
	{ "setsockopt", STOP, 0, 2, { IS(1, 41), IS(2, 5) } },  /* IPV6_2292RTHDR */
	{ "setsockopt", STOP, 0, 2, { IS(1, 41), IS(2, 6) } },  /* IPV6_2292PKTOPTIONS */
	{ "setsockopt", STOP, 0, 2, { IS(1, 41), IS(2, 32) } }, /* IPV6_FLOWLABEL_MGR */

	/* A look without waiting at children, one of whose pidfds may have become readable (handle_wait). */
	{ "waitid", STOP, 0, 1, { BIT(3, WNOHANG) } },
	{ "wait4", STOP, 0, 1, { BIT(2, WNOHANG) } },

	/* The same uid is enough to starve or slow the supervisor by these; 0 is the caller itself. */
	{ "prlimit64", STOP, 0, 1, { NOT_ZERO(0) } },
	{ "sched_setscheduler", STOP, 0, 1, { NOT_ZERO(0) } },
	{ "sched_setparam", STOP, 0, 1, { NOT_ZERO(0) } },
	{ "sched_setattr", STOP, 0, 1, { NOT_ZERO(0) } },
	{ "setpriority", STOP, 0, 1, { NOT_ZERO(0) } },
	{ "setpriority", STOP, 0, 1, { NOT_ZERO(1) } },
	{ "ioprio_set", STOP, 0, 1, { { 0, SCMP_CMP_NE, 1, 0 } } }, /* 1: IOPRIO_WHO_PROCESS */
	{ "ioprio_set", STOP, 0, 1, { NOT_ZERO(1) } },

	/* Signals by asynchronous I/O, terminal injection; what file systems do by a descriptor that is open for reading. */
	{ "fcntl", STOP, 0, 1, { IS(1, 8) } },       /* F_SETOWN */
	{ "fcntl", STOP, 0, 1, { IS(1, 15) } },      /* F_SETOWN_EX */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x8901) } },  /* FIOSETOWN */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x8902) } },  /* SIOCSPGRP */
	{ "fcntl", STOP, 0, 2, { IS(1, 4), BIT(2, 020000) } }, /* F_SETFL, O_ASYNC */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x5452) } },  /* FIOASYNC */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x5410) } },  /* TIOCSPGRP */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x5412) } },  /* TIOCSTI */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x541c) } },  /* TIOCLINUX */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x401c5820) } }, /* FS_IOC_FSSETXATTR */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x40087602) } }, /* FS_IOC_SETVERSION */
	{ "ioctl", STOP, 0, 1, { IS(1, 0x40047211) } }, /* FAT_IOCTL_SET_ATTRIBUTES */
	{ "ioctl", STOP, 0, 1, { REQUEST_TYPE(0x66) } }, /* ext4 and all: inode flags, keys, fs-verity */
	{ "ioctl", STOP, 0, 1, { REQUEST_TYPE(0x94) } }, /* btrfs: subvolumes are made and removed by name */
	{ "ioctl", STOP, 0, 1, { REQUEST_TYPE(0x97) } }, /* ceph */
	{ "ioctl", STOP, 0, 1, { REQUEST_TYPE(0xf5) } }, /* f2fs */

	/* Ways to fallocate past every limit: not offered, as by file systems that lack them. */
	{ "ioctl", ANSWER, EOPNOTSUPP, 1, { IS(1, 0x4030580a) } }, /* XFS_IOC_ALLOCSP, up to Linux 5.16 */
	{ "ioctl", ANSWER, EOPNOTSUPP, 1, { IS(1, 0x40305824) } }, /* XFS_IOC_ALLOCSP64 */
	{ "ioctl", ANSWER, EOPNOTSUPP, 1, { IS(1, 0x40305828) } }, /* FS_IOC_RESVSP */
	{ "ioctl", ANSWER, EOPNOTSUPP, 1, { IS(1, 0x4030582a) } }, /* FS_IOC_RESVSP64 */
	{ "ioctl", ANSWER, EOPNOTSUPP, 1, { IS(1, 0x40305839) } }, /* FS_IOC_ZERO_RANGE */

	/* The sealed page is reached by no range that starts at or above its end: no call may start below. */
	{ "munmap", ANSWER, EPERM, 1, { IN_PAGE(0) } },
	{ "mprotect", ANSWER, EPERM, 1, { IN_PAGE(0) } },
	{ "pkey_mprotect", ANSWER, EPERM, 1, { IN_PAGE(0) } },
	{ "madvise", ANSWER, EPERM, 1, { IN_PAGE(0) } },
	{ "mremap", ANSWER, EPERM, 1, { IN_PAGE(0) } },
	{ "mremap", ANSWER, EPERM, 2, { BIT(3, 2), IN_PAGE(4) } },     /* MREMAP_FIXED */
	{ "mmap", ANSWER, EPERM, 2, { IN_PAGE(0), BIT(3, 0x10) } },    /* MAP_FIXED; NOREPLACE replaces nothing */
	{ "shmat", ANSWER, EPERM, 2, { IN_PAGE(1), BIT(2, 0x4000) } }, /* SHM_REMAP */

	/* A filter of the target's own stays in force beside ours; opens then keep their own call number (pin_open). */
	{ "seccomp", STOP, 0, 1, { IS(0, 1) } },
	{ "prctl", STOP, 0, 2, { IS(0, 22), IS(1, 2) } }, /* PR_SET_SECCOMP, SECCOMP_MODE_FILTER */

	/* A tracee that is not dumpable would be unreadable to an unprivileged supervisor: said to be done, and not done. */
	{ "prctl", ANSWER, 0, 2, { IS(0, 4), { 1, SCMP_CMP_EQ, 0, 0 } } }, /* PR_SET_DUMPABLE, 0 */
	{ "prctl", ANSWER, EPERM, 1, { IS(0, 35) } },                      /* PR_SET_MM moves memory under a decision */
	{ "prctl", ANSWER, EPERM, 1, { IS(0, 0x59616d61) } },              /* PR_SET_PTRACER */
	{ "arch_prctl", ANSWER, EPERM, 1, { IS(0, 0x4002) } },             /* ARCH_ENABLE_TAGGED_ADDR */
};

static const char *const identity_calls[] = { "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
					      "setfsuid", "setfsgid", "setgroups", "capset" };

static scmp_filter_ctx filter_new(uint32_t default_action)
{
	scmp_filter_ctx context = seccomp_init(default_action);
	if (!context)
		return NULL;
	/* Another architecture's entry (int 0x80) and x32 numbers stop, so that the verdict can name them. */
	if (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRACE(0)) != 0 ||
	    seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0) {
		seccomp_release(context);
		return NULL;
	}
	return context;
}

static int add_gate_rules(scmp_filter_ctx context, uint64_t nonce)
{
	size_t count;
	const struct syscall_row *rows = syscall_rows(&count);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].disposition == CALL_NOSYS || rows[i].number == (int)inject_number(true))
			continue;
		int failed = seccomp_rule_add(context, SCMP_ACT_ALLOW, rows[i].number, 0);
		if (failed)
			return failed;
	}
	const struct scmp_arg_cmp is_ours = { 0, SCMP_CMP_EQ, nonce, 0 }, is_theirs = { 0, SCMP_CMP_NE, nonce, 0 };
	int failed = seccomp_rule_add_array(context, SCMP_ACT_ALLOW, (int)inject_number(true), 1, &is_theirs);
	if (!failed)
		failed = seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, (int)inject_number(true), 1, &is_ours);
	return failed ? failed : seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, (int)inject_number(false), 1, &is_ours);
}

/* fork in "syscalls.deny" means every way to make a process, as its reader expects: libc's fork() is a clone. */
static bool stops_for_policy(const struct policy *policy, const struct syscall_row *row)
{
	const struct rules *denied = &policy->lists[LIST_SYSCALL_DENY];
	for (size_t i = 0; i < denied->count; i++) {
		const struct syscall_row *named = syscall_by_number(denied->items[i].syscall_number);
		if (named == row || (named && named->handler == HANDLER_CLONE && row->handler == HANDLER_CLONE))
			return true;
	}
	return false;
}

static bool is_identity_call(const struct syscall_row *row)
{
	for (size_t i = 0; i < sizeof(identity_calls) / sizeof(*identity_calls); i++)
		if (strcmp(identity_calls[i], row->name) == 0)
			return true;
	return false;
}

static bool stops_always(const struct policy *policy, struct filter_needs needs, const struct syscall_row *row)
{
	return row->disposition == CALL_TRACE || (row->disposition == CALL_TRACE_METADATA && needs.metadata) ||
	       (needs.identity && is_identity_call(row)) ||
	       (row->disposition != CALL_NOSYS && stops_for_policy(policy, row));
}

/* Requests that are large against the memory limit stop, so that one that would exceed it can be refused. */
static int add_memory_checks(scmp_filter_ctx context, const struct policy *policy)
{
	static const struct { const char *name; unsigned argument; } calls[] = { { "mmap", 1 }, { "mremap", 2 } };
	uint64_t threshold = limit_memory_request_threshold(policy);
	int failed = 0;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && threshold != UINT64_MAX && !failed; i++) {
		const struct syscall_row *row = syscall_by_name(calls[i].name);
		const struct scmp_arg_cmp large = { calls[i].argument, SCMP_CMP_GE, threshold, 0 };
		if (!stops_for_policy(policy, row))
			failed = seccomp_rule_add_array(context, SCMP_ACT_TRACE(0), row->number, 1, &large);
	}
	return failed;
}

static int add_check(scmp_filter_ctx context, const struct check *check, const struct syscall_row *row)
{
	uint32_t action = check->action == STOP ? SCMP_ACT_TRACE(0) : SCMP_ACT_ERRNO((uint16_t)check->answer);
	return seccomp_rule_add_array(context, action, row->number, check->count, check->compare);
}

static int add_stop_checks(scmp_filter_ctx context, const struct policy *policy)
{
	int failed = 0;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !failed; i++) {
		const struct syscall_row *row = syscall_by_name(checks[i].name);
		/* What "syscalls.deny" names stops whatever its arguments. */
		if (checks[i].action == STOP && !stops_for_policy(policy, row))
			failed = add_check(context, &checks[i], row);
	}
	return failed ? failed : add_memory_checks(context, policy);
}

/* Whatever the policy says: not even `log` lets these calls happen. */
static int add_answers(scmp_filter_ctx context)
{
	int failed = 0;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !failed; i++)
		if (checks[i].action == ANSWER)
			failed = add_check(context, &checks[i], syscall_by_name(checks[i].name));
	return failed;
}

static int add_stop_rules(scmp_filter_ctx context, const struct policy *policy, struct filter_needs needs)
{
	size_t count;
	const struct syscall_row *rows = syscall_rows(&count);
	for (size_t i = 0; i < count; i++) {
		if (!stops_always(policy, needs, &rows[i]))
			continue;
		int failed = seccomp_rule_add(context, SCMP_ACT_TRACE(0), rows[i].number, 0);
		if (failed)
			return failed;
	}
	return add_stop_checks(context, policy);
}

/* libseccomp writes its program to a descriptor only. */
static int export_program(scmp_filter_ctx context, struct sock_fprog *program)
{
	auto_fd int fd = memfd_create("bailiff-filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int failed = seccomp_export_bpf(context, fd);
	if (failed)
		return failed;
	struct stat status;
	if (fstat(fd, &status) != 0)
		return -errno;
	size_t bytes = (size_t)status.st_size;
	if (bytes == 0 || bytes % sizeof(struct sock_filter) != 0 || bytes / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return -E2BIG;
	program->filter = memory_zeroed(bytes, 1);
	program->len = (unsigned short)(bytes / sizeof(struct sock_filter));
	return pread(fd, program->filter, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

/* What fills an empty program with rules. */
typedef int fill_function(scmp_filter_ctx context, const struct policy *policy, const struct filter_needs *needs);

static int fill_gate(scmp_filter_ctx context, const struct policy *policy, const struct filter_needs *needs)
{
	(void)policy;
	return add_gate_rules(context, needs->nonce);
}

static int fill_answers(scmp_filter_ctx context, const struct policy *policy, const struct filter_needs *needs)
{
	(void)policy;
	(void)needs;
	return add_answers(context);
}

static int fill_stops(scmp_filter_ctx context, const struct policy *policy, const struct filter_needs *needs)
{
	return add_stop_rules(context, policy, *needs);
}

static int build(uint32_t default_action, fill_function *fill, const struct policy *policy, const struct filter_needs *needs,
		 struct sock_fprog *program)
{
	scmp_filter_ctx context = filter_new(default_action);
	if (!context)
		return -ENOMEM;
	int failed = fill(context, policy, needs);
	if (!failed)
		failed = export_program(context, program);
	seccomp_release(context);
	return failed;
}

int filter_build(const struct policy *policy, struct filter_needs needs, struct filter *filter, struct error *error)
{
	memset(filter, 0, sizeof(*filter));
	int failed = build(SCMP_ACT_ERRNO(ENOSYS), fill_gate, policy, &needs, &filter->gate);
	if (!failed)
		failed = build(SCMP_ACT_ALLOW, fill_answers, policy, &needs, &filter->answers);
	if (!failed)
		failed = build(SCMP_ACT_ALLOW, fill_stops, policy, &needs, &filter->stops);
	if (failed) {
		filter_free(filter);
		return error_system(error, -failed, "cannot build the seccomp filter");
	}
	return 0;
}

void filter_free(struct filter *filter)
{
	free(filter->gate.filter);
	free(filter->answers.filter);
	free(filter->stops.filter);
	memset(filter, 0, sizeof(*filter));
}

int filter_install(const struct filter *filter, int *listener)
{
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter->gate);
	if (fd < 0)
		return -errno;
	*listener = (int)fd;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter->answers) != 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter->stops) == 0 ? 0 : -errno;
}
