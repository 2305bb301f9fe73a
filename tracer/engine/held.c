#include "engine/held.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char deleted_suffix[] = " (deleted)";

int held_open_beneath(int folder, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	long result = syscall(SYS_openat2, folder, name, &how, sizeof(how));
	return result >= 0 ? (int)result : -errno;
}

int held_take(pid_t tid, int descriptor, int flags)
{
	char entry[32];
	snprintf(entry, sizeof(entry), "fd/%d", descriptor);
	int fd = proc_open(tid, descriptor == AT_FDCWD ? "cwd" : entry, O_PATH | flags);
	return fd == -ENOENT ? -EBADF : fd;
}

/* The kernel marks what has no name any more with a suffix, which a folder may also really have: only the link count tells. */
int held_path(int fd, char path[static PATH_MAX], bool *deleted)
{
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(name, path, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	path[length] = '\0';

	*deleted = false;
	size_t suffix = sizeof(deleted_suffix) - 1;
	if ((size_t)length <= suffix || strcmp(path + length - suffix, deleted_suffix) != 0)
		return 0;
	struct stat status;
	if (fstat(fd, &status) != 0)
		return -errno;
	*deleted = status.st_nlink == 0;
	if (*deleted)
		path[(size_t)length - suffix] = '\0';
	return 0;
}

int held_object(int fd, struct resolved *resolved)
{
	int failed = held_path(fd, resolved->path, &resolved->deleted);
	if (failed)
		return failed;
	resolved->by_descriptor = true;
	resolved->unnamed = resolved->path[0] != '/';
	return 0;
}
