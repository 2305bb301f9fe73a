/* What /proc tells of a tracee. */
#ifndef TRACEE_PROC_H
#define TRACEE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROC_GROUPS_MAX = 256 };

/* Credentials as far as the file system is concerned. */
struct proc_identity {
	uid_t fsuid;
	gid_t fsgid;
	uint64_t effective_capabilities;
	size_t group_count;
	gid_t groups[PROC_GROUPS_MAX];
};

struct proc_status {
	pid_t tgid, ppid, tracer;
	mode_t umask;
	struct proc_identity identity;
};

/* 0 or -errno. All but the groups. */
int proc_read_status(pid_t tid, struct proc_status *status);

/* The identity with its groups: 0 or -errno, -E2BIG for more than PROC_GROUPS_MAX. */
int proc_read_identity(pid_t tid, struct proc_identity *identity);

/* The thread's state letter, as /proc/TID/stat has it (R, S, D, t, …). 0 or -errno. */
int proc_read_state(pid_t tid, char *state);

/* readlink of /proc/TID/NAME ("cwd", "exe", "fd/3"): the length, or -errno. NUL-terminated; -ENAMETOOLONG when cut. */
ssize_t proc_read_link(pid_t tid, const char *name, char *target, size_t capacity);

/* Opens /proc/TID/NAME with O_CLOEXEC and `flags` (follows the magic link). A descriptor or -errno. */
int proc_open(pid_t tid, const char *name, int flags);

/* The flags of descriptor `fd` (as F_GETFL, with O_CLOEXEC), from fdinfo: 0 or -errno, -EBADF where it is not open. */
int proc_read_fd_flags(pid_t tid, int fd, int *flags);

/* statx of what is behind descriptor `fd`, with the time of birth where the file system has it. 0 or -errno. */
struct statx;
int proc_statx_descriptor(pid_t tid, int fd, struct statx *status);

/* Up to `capacity` bytes of a small file of /proc/TID: the length or -errno. Not NUL-terminated. */
ssize_t proc_read_file(pid_t tid, const char *name, char *target, size_t capacity);

/* Memory in use that is the process' own: RssAnon + RssShmem + VmSwap + HugetlbPages. 0 or -errno. */
int proc_read_memory(pid_t tgid, uint64_t *used_bytes);

/* What RLIMIT_DATA counts of the process: private writable address space. 0 or -errno. */
int proc_read_data(pid_t tgid, uint64_t *bytes);

/* Has the signal been sent to the thread or its process, and not been delivered yet? */
bool proc_signal_is_pending(pid_t tid, int number);

/* Is any signal pending that the thread does not block? */
bool proc_signals_arrive(pid_t tid);

/* The file that is mapped at `address`, by its name as the kernel has it, and its inode: 1, 0 where no file is mapped there, or
 * -errno. */
int proc_mapped_file(pid_t tid, uint64_t address, char *path, size_t capacity, uint64_t *inode);

/* AT_SYSINFO_EHDR, AT_BASE, …: an entry of the auxiliary vector, 0 where it is missing. */
uint64_t proc_auxiliary_value(pid_t tid, uint64_t type);

/* Inode of the socket behind `fd`: 0 where it is no socket or not open. */
uint64_t proc_socket_inode(pid_t tid, int fd);

#endif
