#include "base/replacement.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FIRST_FREE_FD = 3,
	LINK_DEPTH_MAX = 40, /* as the kernel follows */
	TEMPORARY_TRIES = 100,
};

/* Descriptors 0 to 2 belong to the target; an open that lands there moves up. */
static int above_standard(int fd)
{
	if (fd < 0 || fd >= FIRST_FREE_FD)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	int number = errno;
	close(fd);
	errno = number;
	return moved;
}

int replacement_open_at(int folder, const char *path, int flags, unsigned mode)
{
	return above_standard(openat(folder, path, flags | O_CLOEXEC | O_NOCTTY, mode));
}

/* Splits at the last slash; `path` is cut there. Returns the last component. */
static const char *split_path(char *path, const char **folder)
{
	char *slash = strrchr(path, '/');
	if (!slash) {
		*folder = ".";
		return path;
	}
	*folder = slash == path ? "/" : path;
	*slash = '\0';
	return slash + 1;
}

static char *beside(const char *path, const char *target)
{
	if (target[0] == '/')
		return text_duplicate(target);
	auto_free char *copy = text_duplicate(path);
	const char *folder;
	split_path(copy, &folder);
	return text_format("%s/%s", folder, target);
}

char *replacement_follow_links(const char *path)
{
	char *current = text_duplicate(path);
	for (int depth = 0; depth < LINK_DEPTH_MAX; depth++) {
		char target[PATH_MAX];
		ssize_t length = readlink(current, target, sizeof(target) - 1);
		if (length < 0)
			return current;
		target[length] = '\0';
		char *next = beside(current, target);
		free(current);
		current = next;
	}
	free(current);
	errno = ELOOP;
	return NULL;
}

/* A new file without a name: nothing is left behind however bailiff ends. Where the file system has none, a dot name. */
static int open_temporary(struct replacement *replacement, mode_t mode)
{
	replacement->fd = replacement_open_at(replacement->folder, ".", O_TMPFILE | O_RDWR, mode);
	if (replacement->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return replacement->fd < 0 ? -errno : 0;
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		snprintf(replacement->temporary, sizeof(replacement->temporary), ".bailiff-%ld-%d", (long)getpid(), i);
		replacement->fd = replacement_open_at(replacement->folder, replacement->temporary,
						      O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, mode);
		if (replacement->fd >= 0)
			return 0;
		int number = errno;
		replacement->temporary[0] = '\0';
		if (number != EEXIST)
			return -number;
	}
	return -EEXIST;
}

/* The new file looks like the one it replaces, as far as bailiff may. */
static int copy_owner_and_mode(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) != 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, old->st_mode & 0777) == 0 ? 0 : -errno;
}

/* `old` is NULL for a file that does not exist yet. */
static int open_beside(const char *path, const struct stat *old, struct replacement *replacement)
{
	auto_free char *copy = text_duplicate(path);
	const char *folder;
	const char *name = split_path(copy, &folder);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;

	replacement->name = text_duplicate(name);
	replacement->folder = replacement_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
	if (replacement->folder < 0)
		return -errno;
	int result = open_temporary(replacement, 0666);
	return result == 0 && old ? copy_owner_and_mode(replacement->fd, old) : result;
}

static int open_for(const char *path, struct replacement *replacement)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return errno == ENOENT ? open_beside(path, NULL, replacement) : -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	/* Replacing asks the folder only; a file that its owner has made read-only stays as it is all the same. */
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
		return -errno;
	return open_beside(path, &status, replacement);
}

int replacement_open(const char *path, struct replacement *replacement, struct error *error)
{
	*replacement = REPLACEMENT_NONE;
	int result = open_for(path, replacement);
	if (result == 0)
		return 0;
	replacement_discard(replacement);
	if (result == -EINVAL)
		return error_set(error, EINVAL, "%s: not a regular file", path);
	return error_system(error, -result, "%s", path);
}

/* linkat never replaces, so a name is made first and then renamed over the old file. */
static int name_temporary(struct replacement *replacement)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", replacement->fd);
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		snprintf(replacement->temporary, sizeof(replacement->temporary), ".bailiff-%ld-%d", (long)getpid(), i);
		if (linkat(AT_FDCWD, path, replacement->folder, replacement->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		int number = errno;
		replacement->temporary[0] = '\0';
		if (number != EEXIST)
			return -number;
	}
	return -EEXIST;
}

/* Where the file has had a name all the while, somebody else may have put his own there. */
static int check_temporary(const struct replacement *replacement)
{
	struct stat opened, named;
	if (fstat(replacement->fd, &opened) != 0 ||
	    fstatat(replacement->folder, replacement->temporary, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino ? 0 : -ESTALE;
}

/* The rename replaces whatever has the name by now, a link included: during the run the target may have put one there,
 * and it must not choose what is overwritten. */
static int put_in_place(struct replacement *replacement)
{
	int result = replacement->temporary[0] ? check_temporary(replacement) : name_temporary(replacement);
	if (result < 0)
		return result;
	if (renameat(replacement->folder, replacement->temporary, replacement->folder, replacement->name) != 0)
		return -errno;
	replacement->temporary[0] = '\0';
	return 0;
}

int replacement_finish(struct replacement *replacement)
{
	int result = put_in_place(replacement);
	/* Some file systems tell of a full disk or a lost server only when the file is closed. */
	if (result != -EBUSY && close(fd_release(&replacement->fd)) != 0 && result == 0 && errno != EINTR)
		result = -errno;
	if (result != -EBUSY)
		replacement_discard(replacement);
	return result;
}

void replacement_discard(struct replacement *replacement)
{
	if (replacement->temporary[0])
		unlinkat(replacement->folder, replacement->temporary, 0);
	if (replacement->fd >= 0)
		close(replacement->fd);
	if (replacement->folder >= 0)
		close(replacement->folder);
	free(replacement->name);
	*replacement = REPLACEMENT_NONE;
}
