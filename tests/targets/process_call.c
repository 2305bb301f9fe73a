/* Makes one call that acts on the process itself, on its surroundings or on the host, and says how it went.
 *
 *     process_call [-z] CALL [NUMBER [ARGUMENT]...]
 *
 * -z  exit 0 whatever the answer is. The CALLs stand in call_rows; `number N ARGUMENT...` makes the call N. Whatever
 * would change the host is made with arguments that change nothing. */
#include "outcome.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage_text[] = "process_call [-z] CALL [NUMBER [ARGUMENT]...]";

static char **words; /* what follows CALL */

static long word(size_t index)
{
	for (size_t i = 0; i <= index; i++)
		if (!words[i])
			return 0;
	return strtol(words[index], NULL, 0);
}

static long call_number(void)
{
	return syscall(word(0), word(1), word(2), word(3), word(4), word(5), word(6));
}

static long call_ptrace_traceme(void)
{
	return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static long call_ptrace_seize_child(void)
{
	pid_t child = fork();
	long result;
	int failed;

	outcome_require(child >= 0, "fork");
	if (child == 0) {
		pause();
		_exit(0);
	}
	result = syscall(SYS_ptrace, PTRACE_SEIZE, child, 0, 0);
	failed = errno;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	errno = failed;
	return result;
}

static long call_unshare(void)
{
	return syscall(SYS_unshare, CLONE_FS);
}

static long call_setns(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	outcome_require(fd >= 0, "pidfd_open");
	return syscall(SYS_setns, fd, CLONE_NEWUTS);
}

static long call_mount(void)
{
	return syscall(SYS_mount, "none", "/bailiff-is-not-there", "tmpfs", 0, NULL);
}

static long call_umount2(void)
{
	return syscall(SYS_umount2, "/bailiff-is-not-there", 0);
}

static long call_chroot(void)
{
	return syscall(SYS_chroot, "/");
}

static long call_pivot_root(void)
{
	return syscall(SYS_pivot_root, "/bailiff-is-not-there", "/bailiff-is-not-there");
}

static long call_syslog(void)
{
	return syscall(SYS_syslog, 10, NULL, 0); /* SYSLOG_ACTION_SIZE_BUFFER */
}

static long call_adjtimex(void)
{
	struct timex state = {.modes = 0};
	return syscall(SYS_adjtimex, &state);
}

static long call_clock_adjtime(void)
{
	struct timex state = {.modes = 0};
	return syscall(SYS_clock_adjtime, CLOCK_REALTIME, &state);
}

static long call_settimeofday(void)
{
	return syscall(SYS_settimeofday, NULL, NULL);
}

static long call_clock_settime(void)
{
	struct timespec time = {1, 0};
	return syscall(SYS_clock_settime, CLOCK_MONOTONIC, &time);
}

static long call_sethostname(void)
{
	struct utsname name;

	outcome_require(uname(&name) == 0, "uname");
	return syscall(SYS_sethostname, name.nodename, strlen(name.nodename));
}

static long call_setdomainname(void)
{
	struct utsname name;

	outcome_require(uname(&name) == 0, "uname");
	return syscall(SYS_setdomainname, name.domainname, strlen(name.domainname));
}

static long call_iopl(void)
{
	return syscall(SYS_iopl, 0);
}

static long call_ioperm(void)
{
	return syscall(SYS_ioperm, 0x80, 1, 0);
}

/* A vhangup of a process without a terminal of its own does nothing. */
static long call_vhangup(void)
{
	pid_t child = fork();
	int status;

	outcome_require(child >= 0, "fork");
	if (child == 0) {
		setsid();
		_exit(syscall(SYS_vhangup) < 0 ? errno : 0);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static long clone_with(unsigned long flags)
{
	long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	int status;

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid((pid_t)child, &status, __WALL);
	return child;
}

static long call_clone(void)
{
	return clone_with(0);
}

static long call_clone_untraced(void)
{
	return clone_with(CLONE_UNTRACED);
}

static long call_clone_newuser(void)
{
	return clone_with(CLONE_NEWUSER);
}

static long call_clone_newnet(void)
{
	return clone_with(CLONE_NEWUSER | CLONE_NEWNET);
}

static long call_clone3(void)
{
	uint64_t arguments[8] = {0};
	long child;

	arguments[4] = SIGCHLD;
	child = syscall(SYS_clone3, arguments, sizeof(arguments));
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid((pid_t)child, NULL, 0);
	return child;
}

static long call_fork(void)
{
	long child = syscall(SYS_fork);

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid((pid_t)child, NULL, 0);
	return child;
}

static long call_io_uring_setup(void)
{
	char parameters[120] = {0};
	return syscall(SYS_io_uring_setup, 4, parameters);
}

static long call_bpf(void)
{
	char attributes[128] = {0};

	attributes[0] = 2; /* BPF_MAP_TYPE_ARRAY: key 4, value 8, 1 entry */
	attributes[4] = 4;
	attributes[8] = 8;
	attributes[12] = 1;
	return syscall(SYS_bpf, 0, attributes, sizeof(attributes));
}

static long call_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
}

static long call_prctl_name(void)
{
	return syscall(SYS_prctl, PR_SET_NAME, "renamed", 0, 0, 0);
}

static long call_prctl_dumpable(void)
{
	return syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Asks for the map that the process has already: takes effect without a privilege where the kernel lets it. */
static long call_prctl_mm(void)
{
	unsigned size = 0;
	return syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0);
}

static long call_prctl_ptracer(void)
{
	return syscall(SYS_prctl, PR_SET_PTRACER, -1, 0, 0, 0);
}

static long call_arch_prctl_get_fs(void)
{
	unsigned long base;
	return syscall(SYS_arch_prctl, 0x1003, &base);
}

static long call_arch_prctl_tagged(void)
{
	return syscall(SYS_arch_prctl, 0x4002, 6);
}

static long call_seccomp(unsigned flags)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};

	outcome_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static long call_seccomp_filter(void)
{
	return call_seccomp(0);
}

static long call_seccomp_listener(void)
{
	return call_seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

static long call_fcntl_getfl(void)
{
	return syscall(SYS_fcntl, 1, F_GETFL, 0);
}

static long call_f_notify(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	outcome_require(fd >= 0, "open the folder");
	signal(SIGIO, SIG_IGN);
	return syscall(SYS_fcntl, fd, F_NOTIFY, DN_MODIFY);
}

static long call_fionread(void)
{
	int ends[2], available;

	outcome_require(pipe(ends) == 0, "pipe");
	return syscall(SYS_ioctl, ends[0], FIONREAD, &available);
}

/* On a terminal of its own, so that the call takes effect where the host still has it. */
static long call_tiocsti(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;

	outcome_require(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0, "open a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	outcome_require(slave >= 0, "open the other side");
	return syscall(SYS_ioctl, slave, TIOCSTI, "x");
}

static long call_socket(void)
{
	return syscall(SYS_socket, word(0), word(1), word(2));
}

static long call_socketpair(void)
{
	int ends[2];
	return syscall(SYS_socketpair, word(0), word(1), word(2), ends);
}

/* As libc asks which interfaces there are; prints whether the kernel answered with at least one. */
static long call_netlink_dump(void)
{
	struct {
		struct nlmsghdr header;
		struct rtgenmsg body;
	} request = {.body = {AF_UNSPEC}};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct nlmsghdr answer[512];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	request.header.nlmsg_len = sizeof(request);
	request.header.nlmsg_type = RTM_GETLINK;
	request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (fd < 0 || sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	if (recv(fd, answer, sizeof(answer), 0) < (ssize_t)sizeof(answer[0]) || answer[0].nlmsg_type != RTM_NEWLINK)
		return -1;
	return 0;
}

/* The 32-bit entry: its numbers mean other calls, 20 is getpid there. */
static long call_int80_getpid(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result == getpid() ? 0 : 1;
}

static long call_setgroups(void)
{
	gid_t group = getgid();
	return syscall(SYS_setgroups, 1, &group);
}

static const struct call_row {
	const char *name;
	long (*perform)(void);
} call_rows[] = {
	{"number", call_number},
	{"ptrace_traceme", call_ptrace_traceme},
	{"ptrace_seize_child", call_ptrace_seize_child},
	{"unshare", call_unshare},
	{"setns", call_setns},
	{"mount", call_mount},
	{"umount2", call_umount2},
	{"chroot", call_chroot},
	{"pivot_root", call_pivot_root},
	{"syslog", call_syslog},
	{"adjtimex", call_adjtimex},
	{"clock_adjtime", call_clock_adjtime},
	{"settimeofday", call_settimeofday},
	{"clock_settime", call_clock_settime},
	{"sethostname", call_sethostname},
	{"setdomainname", call_setdomainname},
	{"iopl", call_iopl},
	{"ioperm", call_ioperm},
	{"vhangup", call_vhangup},
	{"clone", call_clone},
	{"clone_untraced", call_clone_untraced},
	{"clone_newuser", call_clone_newuser},
	{"clone_newnet", call_clone_newnet},
	{"clone3", call_clone3},
	{"fork", call_fork},
	{"io_uring_setup", call_io_uring_setup},
	{"bpf", call_bpf},
	{"userfaultfd", call_userfaultfd},
	{"prctl_name", call_prctl_name},
	{"prctl_dumpable", call_prctl_dumpable},
	{"prctl_mm", call_prctl_mm},
	{"prctl_ptracer", call_prctl_ptracer},
	{"arch_prctl_get_fs", call_arch_prctl_get_fs},
	{"arch_prctl_tagged", call_arch_prctl_tagged},
	{"seccomp_filter", call_seccomp_filter},
	{"seccomp_listener", call_seccomp_listener},
	{"fcntl_getfl", call_fcntl_getfl},
	{"F_NOTIFY", call_f_notify},
	{"ioctl_fionread", call_fionread},
	{"TIOCSTI", call_tiocsti},
	{"socket", call_socket},
	{"socketpair", call_socketpair},
	{"netlink_dump", call_netlink_dump},
	{"int80_getpid", call_int80_getpid},
	{"setgroups", call_setgroups},
};

int main(int argc, char **argv)
{
	int always_zero = argc > 1 && strcmp(argv[1], "-z") == 0, code;

	if (argc - always_zero < 2)
		return outcome_usage(usage_text);
	words = argv + 2 + always_zero;
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(call_rows[0]); i++) {
		if (strcmp(call_rows[i].name, words[-1]) != 0)
			continue;
		code = outcome_report(words[-1], call_rows[i].perform());
		return always_zero ? OUTCOME_OK : code;
	}
	return outcome_usage(usage_text);
}
