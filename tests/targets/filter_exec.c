/* A program that lists the calls it allows, as sandboxes of programs' own do, and then executes another one.
 *
 *     filter_exec errno|trap PROGRAM [ARG]...    what is not listed answers EPERM, or raises SIGSYS */
#include "outcome.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a dynamic program needs to start, print and end; lookup_dcookie and openat2 are not among it. */
static const unsigned listed[] = {
	SYS_execve, SYS_brk, SYS_arch_prctl, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_access, SYS_faccessat, SYS_openat, SYS_read,
	SYS_pread64, SYS_close, SYS_fstat, SYS_newfstatat, SYS_stat, SYS_statx, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
	SYS_prlimit64, SYS_getrandom, SYS_write, SYS_writev, SYS_exit, SYS_exit_group, SYS_ioctl, SYS_fadvise64, SYS_lseek,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_readlink, SYS_futex, SYS_getuid, SYS_getpid, SYS_getgid,
	SYS_geteuid, SYS_getegid, SYS_fork, SYS_vfork, SYS_clone, SYS_wait4, SYS_getppid, SYS_getcwd, SYS_fcntl, SYS_dup2,
};

enum { LISTED = sizeof(listed) / sizeof(*listed) };

static void filter_install(unsigned action)
{
	struct sock_filter code[2 * LISTED + 2];
	unsigned at = 0;
	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < LISTED; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, listed[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	struct sock_fprog program = { (unsigned short)at, code };
	outcome_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	outcome_require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "install the filter");
}

int main(int argc, char **argv)
{
	outcome_require(argc > 2, "errno|trap PROGRAM");
	filter_install(strcmp(argv[1], "trap") == 0 ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | 1 /* EPERM */);
	execv(argv[2], argv + 2);
	outcome_report("execv", -1);
	return 1;
}
