/* The system-call table: what syscalls.def says, as data. */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>

enum disposition { CALL_ALLOW, CALL_TRACE, CALL_TRACE_IF, CALL_TRACE_METADATA, CALL_NOSYS };

enum handler {
	HANDLER_NONE,
	/* decided, then done by the thread itself */
	HANDLER_OPEN, HANDLER_OPENAT2, HANDLER_EXEC, HANDLER_CHDIR,
	HANDLER_CONNECT, HANDLER_BIND, HANDLER_LISTEN, HANDLER_SENDTO, HANDLER_SENDMSG, HANDLER_SENDMMSG, HANDLER_SOCKET,
	HANDLER_SETSOCKOPT,
	/* changes names or metadata: done by the supervisor */
	HANDLER_MKDIR, HANDLER_MKNOD, HANDLER_RMDIR, HANDLER_UNLINK, HANDLER_RENAME, HANDLER_LINK, HANDLER_SYMLINK,
	HANDLER_CHMOD, HANDLER_FCHMOD, HANDLER_CHOWN, HANDLER_FCHOWN, HANDLER_UTIME, HANDLER_TRUNCATE, HANDLER_FALLOCATE,
	HANDLER_SETXATTR, HANDLER_FSETXATTR, HANDLER_REMOVEXATTR, HANDLER_FREMOVEXATTR, HANDLER_FILE_SETATTR,
	/* reads metadata: done by the supervisor when it must be decided at all */
	HANDLER_STAT, HANDLER_STATX, HANDLER_ACCESS, HANDLER_READLINK, HANDLER_STATFS, HANDLER_GETXATTR, HANDLER_LISTXATTR,
	HANDLER_INOTIFY, HANDLER_FILE_GETATTR,
	/* acts on processes, descriptors or the host */
	HANDLER_CLONE, HANDLER_MEMORY, HANDLER_WAIT, HANDLER_SIGNAL, HANDLER_CONTROL, HANDLER_AFFINITY, HANDLER_FCNTL,
	HANDLER_IOCTL, HANDLER_PRCTL, HANDLER_ARCH_PRCTL,
	HANDLER_SECCOMP, HANDLER_REFUSE, HANDLER_SWITCHABLE,
	HANDLER_COUNT,
};

/* Argument roles hold 1 + the argument's index, 0 where the call has no such argument. */
struct syscall_row {
	int number;
	const char *name;
	enum disposition disposition;
	enum handler handler;
	struct syscall_roles {
		unsigned char dirfd, path, dirfd2, path2, flags, mode, fd, pid;
		short family; /* number of the call whose name in syscalls.allow opens this one as well; 0 for none */
	} roles;
};

/* NULL where the table has no row. */
const struct syscall_row *syscall_by_number(long number);
const struct syscall_row *syscall_by_name(const char *name);

/* May "syscalls.allow" name it? */
static inline bool syscall_is_switchable(const struct syscall_row *row)
{
	return row->handler == HANDLER_SWITCHABLE;
}

/* All rows, in the order of their numbers. */
const struct syscall_row *syscall_rows(size_t *count);

/* The one number that no program uses and that the filter hands to the supervisor's own listener. */
enum { SYSCALL_INJECT = 212 /* lookup_dcookie, gone since Linux 6.6 */ };

#endif
