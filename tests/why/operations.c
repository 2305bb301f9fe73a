/* One blocked operation per function; the line that makes it carries HERE and the operation's name. Usage: operations NAME OBJECT
 * [PROCESS]. The C library's own backtrace() is printed before, as a witness. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

extern char **environ;
static pid_t outsider;

KEEP static int witness(void)
{
	void *frames[64];
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDOUT_FILENO);
	return 0;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

KEEP int open_read(const char *object)
{
	return witness() + open(object, O_RDONLY); /* HERE open_read */
}

KEEP int open_write(const char *object)
{
	return witness() + open(object, O_WRONLY); /* HERE open_write */
}

KEEP int open_both(const char *object)
{
	return witness() + open(object, O_RDWR); /* HERE open_both */
}

KEEP int open_create(const char *object)
{
	return witness() + open(object, O_WRONLY | O_CREAT, 0600); /* HERE open_create */
}

KEEP int open_truncate(const char *object)
{
	return witness() + open(object, O_RDONLY | O_TRUNC); /* HERE open_truncate */
}

KEEP int open_append(const char *object)
{
	return witness() + (fopen(object, "a") ? 1 : 0); /* HERE open_append */
}

KEEP int open_folder(const char *object)
{
	return witness() + (opendir(object) ? 1 : 0); /* HERE open_folder */
}

KEEP int do_truncate(const char *object)
{
	return witness() + truncate(object, 3); /* HERE do_truncate */
}

KEEP int do_unlink(const char *object)
{
	return witness() + unlink(object); /* HERE do_unlink */
}

KEEP int do_rename(const char *object)
{
	return witness() + rename(object, "renamed"); /* HERE do_rename */
}

KEEP int do_mkdir(const char *object)
{
	return witness() + mkdir(object, 0700); /* HERE do_mkdir */
}

KEEP int do_rmdir(const char *object)
{
	return witness() + rmdir(object); /* HERE do_rmdir */
}

KEEP int do_chmod(const char *object)
{
	return witness() + chmod(object, 0600); /* HERE do_chmod */
}

KEEP int do_chown(const char *object)
{
	return witness() + chown(object, getuid(), getgid()); /* HERE do_chown */
}

KEEP int do_utimes(const char *object)
{
	return witness() + utimes(object, NULL); /* HERE do_utimes */
}

KEEP int do_symlink(const char *object)
{
	return witness() + symlink("/dev/null", object); /* HERE do_symlink */
}

KEEP int do_link(const char *object)
{
	return witness() + link(object, "linked"); /* HERE do_link */
}

KEEP int do_mkfifo(const char *object)
{
	return witness() + mkfifo(object, 0600); /* HERE do_mkfifo */
}

KEEP int do_setxattr(const char *object)
{
	return witness() + setxattr(object, "user.x", "1", 1, 0); /* HERE do_setxattr */
}

KEEP int do_stat(const char *object)
{
	struct stat status;
	return witness() + stat(object, &status); /* HERE do_stat */
}

KEEP int do_access(const char *object)
{
	return witness() + access(object, R_OK); /* HERE do_access */
}

KEEP int do_chdir(const char *object)
{
	return witness() + chdir(object); /* HERE do_chdir */
}

KEEP int do_shm_open(const char *object)
{
	return witness() + shm_open(object, O_RDWR | O_CREAT, 0600); /* HERE do_shm_open */
}

/* ---- network ------------------------------------------------------------------------------------------------------ */

static const union any {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un local;
} *address_of(const char *object, socklen_t *length)
{
	static union any address;
	const char *colon = strrchr(object, ':');
	in_port_t port = htons((uint16_t)(colon ? atoi(colon + 1) : 0));
	char host[64] = "";
	memset(&address, 0, sizeof(address));
	if (*object == '[') {
		*length = sizeof(address.six);
		memcpy(host, object + 1, (size_t)(colon - object) - 2);
		address.six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
		inet_pton(AF_INET6, host, &address.six.sin6_addr);
	} else if (*object == '/' || *object == '@') {
		*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(object));
		address.local.sun_family = AF_UNIX;
		memcpy(address.local.sun_path, object, strlen(object));
		address.local.sun_path[0] = *object == '@' ? '\0' : '/';
	} else {
		*length = sizeof(address.four);
		memcpy(host, object, (size_t)(colon - object));
		address.four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
		inet_pton(AF_INET, host, &address.four.sin_addr);
	}
	return &address;
}

KEEP int do_connect(const char *object)
{
	socklen_t length;
	const union any *address = address_of(object, &length);
	int fd = socket(address->any.sa_family, SOCK_STREAM, 0);
	return witness() + connect(fd, &address->any, length); /* HERE do_connect */
}

KEEP int connect_udp(const char *object)
{
	socklen_t length;
	const union any *address = address_of(object, &length);
	int fd = socket(address->any.sa_family, SOCK_DGRAM, 0);
	return witness() + connect(fd, &address->any, length); /* HERE connect_udp */
}

KEEP int do_sendto(const char *object)
{
	socklen_t length;
	const union any *address = address_of(object, &length);
	int fd = socket(address->any.sa_family, SOCK_DGRAM, 0);
	return witness() + (int)sendto(fd, "x", 1, 0, &address->any, length); /* HERE do_sendto */
}

KEEP int do_bind(const char *object)
{
	socklen_t length;
	const union any *address = address_of(object, &length);
	int fd = socket(address->any.sa_family, SOCK_STREAM, 0);
	return witness() + bind(fd, &address->any, length); /* HERE do_bind */
}

/* ---- programs ----------------------------------------------------------------------------------------------------- */

static char *no_arguments[] = { "x", NULL };

KEEP int do_execve(const char *object)
{
	return witness() + execve(object, no_arguments, environ); /* HERE do_execve */
}

KEEP int do_execveat(const char *object)
{
	return witness() + (int)syscall(SYS_execveat, AT_FDCWD, object, no_arguments, environ, 0); /* HERE do_execveat */
}

KEEP int do_fexecve(const char *object)
{
	int fd = open(object, O_PATH);
	return witness() + fexecve(fd, no_arguments, environ); /* HERE do_fexecve */
}

KEEP int do_spawn(const char *object)
{
	pid_t pid;
	return witness() + posix_spawn(&pid, object, NULL, NULL, no_arguments, environ); /* HERE do_spawn */
}

KEEP int do_system(const char *object)
{
	return witness() + system(object); /* HERE do_system */
}

KEEP int do_popen(const char *object)
{
	return witness() + (popen(object, "r") ? 1 : 0); /* HERE do_popen */
}

KEEP int exec_in_fork(const char *object)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(witness() + execv(object, no_arguments)); /* HERE exec_in_fork */
	return waitpid(pid, NULL, 0) + 1;
}

KEEP int exec_in_vfork(const char *object)
{
	witness();
	pid_t pid = vfork();
	if (pid == 0) {
		execv(object, no_arguments); /* HERE exec_in_vfork */
		_exit(1);
	}
	return waitpid(pid, NULL, 0) + 1;
}

/* ---- others, and the way out -------------------------------------------------------------------------------------- */

KEEP int do_mount(const char *object)
{
	return witness() + mount("none", object, "tmpfs", 0, NULL); /* HERE do_mount */
}

KEEP int do_chroot(const char *object)
{
	return witness() + chroot(object); /* HERE do_chroot */
}

KEEP int do_unshare(const char *object)
{
	(void)object;
	return witness() + unshare(CLONE_NEWUSER); /* HERE do_unshare */
}

KEEP int do_ptrace(const char *object)
{
	(void)object;
	return witness() + (int)ptrace(PTRACE_ATTACH, outsider, 0, 0); /* HERE do_ptrace */
}

KEEP int do_kill(const char *object)
{
	(void)object;
	return witness() + kill(outsider, SIGTERM); /* HERE do_kill */
}

KEEP int do_memfd(const char *object)
{
	return witness() + memfd_create(object, 0); /* HERE do_memfd */
}

KEEP int do_msgget(const char *object)
{
	(void)object;
	return witness() + msgget(0x7a11, 0); /* HERE do_msgget */
}

static const struct operation {
	const char *name;
	int (*run)(const char *object);
} operations[] = {
#define ROW(name) { #name, name }
	ROW(open_read), ROW(open_write), ROW(open_both), ROW(open_create), ROW(open_truncate), ROW(open_append), ROW(open_folder),
	ROW(do_truncate), ROW(do_unlink), ROW(do_rename), ROW(do_mkdir), ROW(do_rmdir), ROW(do_chmod), ROW(do_chown), ROW(do_utimes),
	ROW(do_symlink), ROW(do_link), ROW(do_mkfifo), ROW(do_setxattr), ROW(do_stat), ROW(do_access), ROW(do_chdir),
	ROW(do_shm_open), ROW(do_connect), ROW(connect_udp), ROW(do_sendto), ROW(do_bind), ROW(do_execve), ROW(do_execveat),
	ROW(do_fexecve), ROW(do_spawn), ROW(do_system), ROW(do_popen), ROW(exec_in_fork), ROW(exec_in_vfork), ROW(do_mount),
	ROW(do_chroot), ROW(do_unshare), ROW(do_ptrace), ROW(do_kill), ROW(do_memfd), ROW(do_msgget),
};

KEEP int performs(const char *name, const char *object)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (strcmp(operations[i].name, name) == 0)
			return operations[i].run(object) + 1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	outsider = argc > 3 ? atoi(argv[3]) : 0;
	return performs(argv[1], argv[2]) + 1;
}
