/* A program that filters its own system calls, as browsers do, and then meets ours.
 *
 *     filter_play errno PATH    mkdir answers EDOM by the program's own filter; then PATH is opened
 *     filter_play trap PATH     mkdir raises SIGSYS, whose handler answers; then PATH is opened
 *     filter_play trace PATH    the own filter asks for a tracer at open, with data of its own; PATH is opened
 *     filter_play allow PATH    the own filter allows everything; then PATH is opened */
#include "outcome.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static void on_sigsys(int number, siginfo_t *info, void *context)
{
	ucontext_t *registers = context;

	(void)number;
	registers->uc_mcontext.gregs[REG_RAX] = info->si_syscall == SYS_mkdir ? -ERANGE : -EPERM;
}

static void filter_install(long call, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	struct sigaction handler = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};

	sigaction(SIGSYS, &handler, NULL);
	outcome_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	outcome_require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "install the filter");
}

static const struct play_row {
	const char *name;
	long call;
	unsigned action;
} play_rows[] = {
	{"errno", SYS_mkdir, SECCOMP_RET_ERRNO | EDOM},
	{"trap", SYS_mkdir, SECCOMP_RET_TRAP},
	{"trace", SYS_open, SECCOMP_RET_TRACE | 0x1234},
	{"allow", -1, SECCOMP_RET_ALLOW},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(play_rows) / sizeof(play_rows[0]); i++) {
		if (strcmp(play_rows[i].name, argv[1]) != 0)
			continue;
		filter_install(play_rows[i].call, play_rows[i].action);
		outcome_report("mkdir", syscall(SYS_mkdir, "filter_play.d", 0700));
		return outcome_report("open", syscall(SYS_open, argv[2], O_RDONLY));
	}
	return outcome_usage("filter_play errno|trap|trace|allow PATH");
}
