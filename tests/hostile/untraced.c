/* A child that leaves the tracer, or sees another world than the tracer's, opens what is barred. */
#include "attack.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/ptrace.h>

static bool child_wins(pid_t child)
{
	int status = 0;
	if (child == 0)
		_exit(attack_reads_barred("b/file") ? ATTACK_EXIT_WON : 0);
	if (child < 0)
		return false;
	waitpid(child, &status, __WALL);
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

static bool by_clone(void)
{
	return child_wins((pid_t)syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL));
}

static bool by_clone_with_stray_bits(void)
{
	const unsigned long high = 1UL << 40;
	return child_wins((pid_t)syscall(SYS_clone, high | CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL));
}

static bool by_clone3(void)
{
	struct clone_args arguments = { .flags = CLONE_UNTRACED, .exit_signal = SIGCHLD };
	return child_wins((pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

static bool by_vfork_clone(void)
{
	return child_wins((pid_t)syscall(SYS_clone, CLONE_UNTRACED | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL));
}

/* An ordinary child: followed, and so refused. */
static bool by_grandchild(void)
{
	pid_t child = fork();
	if (child != 0)
		return child_wins(child);
	setsid();
	child = fork();
	_exit(child_wins(child) ? ATTACK_EXIT_WON : 0);
}

static bool in_user_namespace(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	return child_wins(child);
}

static bool in_root_of_its_own(void)
{
	return unshare(CLONE_NEWUSER) == 0 && chroot("b") == 0 && attack_reads_barred("/file");
}

/* A tracer of its own would get the stops in place of ours. */
static bool traced_by_sibling(void)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(0);
		raise(SIGSTOP);
		_exit(attack_reads_barred("b/file") ? ATTACK_EXIT_WON : 0);
	}
	waitpid(child, &status, __WALL);
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_CONT, child, NULL, NULL);
		waitpid(child, &status, __WALL);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

static const struct attack_way ways[] = {
	{ "clone with CLONE_UNTRACED", by_clone, false },
	{ "the same with stray bits", by_clone_with_stray_bits, false },
	{ "clone3 with CLONE_UNTRACED", by_clone3, false },
	{ "CLONE_UNTRACED with CLONE_VFORK", by_vfork_clone, false },
	{ "a grandchild in its own session", by_grandchild, false },
	{ "a user namespace", in_user_namespace, true }, /* many hosts refuse it */
	{ "a root of its own", in_root_of_its_own, true },
	{ "a tracer of its own", traced_by_sibling, false },
};

int main(int argc, char **argv)
{
	attack_begin("untraced", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
