/* Small seccomp filters of the attacks' own: one action for one system call, everything else passes. */
#ifndef HOSTILE_FILTER_H
#define HOSTILE_FILTER_H

#include "attack.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* The listener for SECCOMP_FILTER_FLAG_NEW_LISTENER, else 0; -1 with errno. */
static inline int filter_add(unsigned number, uint32_t action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
	attack_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "set no_new_privs");
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

#endif
