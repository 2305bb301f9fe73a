/* The floor: what any seccomp-trace supervisor pays. Stops at every open and only resumes: floor COMMAND [ARGUMENT...]
 *
 * No decision, no look at the registers, no table of tasks. A real supervisor can approach this and not pass below it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE };

static int install_filter(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(program) / sizeof(program[0]), .filter = program };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

/* The first stop hands over before the filter is there: a TRACE answer without a tracer would be ENOSYS. */
static int become_target(char **argv)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP) || install_filter()) {
		perror("floor: set-up");
		return 125;
	}
	execvp(argv[0], argv);
	perror("floor: exec");
	return 127;
}

/* The signal to pass on: none for the stops that ptrace itself makes. */
static long signal_to_deliver(int status)
{
	int number = WSTOPSIG(status);
	return status >> 16 || number == SIGTRAP || number == SIGSTOP ? 0 : number;
}

static int supervise(pid_t target)
{
	int status = 0, result = 125;
	pid_t pid;
	if (waitpid(target, &status, 0) < 0 || ptrace(PTRACE_SETOPTIONS, target, NULL, (long)OPTIONS))
		return 125;
	ptrace(PTRACE_CONT, target, NULL, 0L);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL, signal_to_deliver(status));
		else if (pid == target)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: floor COMMAND [ARGUMENT...]\n");
		return 125;
	}
	pid_t target = fork();
	if (target < 0)
		return 125;
	return target ? supervise(target) : become_target(argv + 1);
}
