#include "engine/workspace.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char inner_folder[] = "/work", name_pattern[] = "bailiff-XXXXXX";

/* Lies beside the workspace for as long as it is to be removed: a folder that was kept has none. */
static const char marker[] = ".bailiff-run";

/* Held with a lock that only the end of bailiff and of its tracer gives up: workspace_clean tells by it who is still there.
 * Somebody who cleans up may have taken the folder for an abandoned one in between, and removed it: -EAGAIN. Where the file
 * system has no locks there is no marker either, and the folder is never taken for abandoned. */
static int claim(struct workspace *workspace)
{
	struct stat status;
	workspace->lock = openat(workspace->folder, workspace->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (workspace->lock < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(workspace->lock, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EAGAIN : 0;
	if (fstat(workspace->lock, &status) != 0 || status.st_nlink == 0)
		return -EAGAIN;
	int fd = openat(workspace->lock, marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void unlock(struct workspace *workspace)
{
	if (workspace->lock >= 0)
		close(workspace->lock);
	workspace->lock = -1;
}

/* The workspace lies in a folder of its own, which is private as well: what the run does with it, removing and making it
 * again included, stays within that. */
static int make_once(struct workspace *workspace, size_t length)
{
	if (!mkdtemp(workspace->path))
		return -errno;
	text_copy(workspace->name, sizeof(workspace->name), strrchr(workspace->path, '/') + 1);
	int failed = claim(workspace);
	if (failed == -EAGAIN)
		return failed;
	memcpy(workspace->path + length, inner_folder, sizeof(inner_folder));
	if (!failed && mkdir(workspace->path, S_IRWXU) == 0)
		return 0;
	failed = failed ? failed : -errno;
	if (workspace->lock >= 0)
		unlinkat(workspace->lock, marker, 0);
	unlinkat(workspace->folder, workspace->name, AT_REMOVEDIR);
	return failed;
}

static int make_in(const char *parent, struct workspace *workspace)
{
	enum { TRIES = 8 };
	auto_free char *folder = realpath(parent, NULL);
	if (!folder)
		return -errno;
	workspace->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (workspace->folder < 0)
		return -errno;
	int failed = -EAGAIN;
	for (int i = 0; i < TRIES && failed == -EAGAIN; i++) {
		unlock(workspace);
		int length = snprintf(workspace->path, sizeof(workspace->path), "%s/%s", strcmp(folder, "/") ? folder : "", name_pattern);
		if ((size_t)length + sizeof(inner_folder) > sizeof(workspace->path))
			return -ENAMETOOLONG;
		failed = make_once(workspace, (size_t)length);
	}
	return failed;
}

static void forget(struct workspace *workspace)
{
	if (workspace->folder >= 0)
		close(workspace->folder);
	unlock(workspace);
	workspace->folder = -1;
	workspace->path[0] = '\0';
}

int workspace_make(struct workspace *workspace, struct error *error)
{
	const char *wanted = getenv("TMPDIR");
	workspace->folder = workspace->lock = -1;
	if (wanted && *wanted == '/' && make_in(wanted, workspace) == 0)
		return 0;
	forget(workspace);
	int failed = make_in("/tmp", workspace);
	if (failed) {
		forget(workspace);
		return error_system(error, -failed, "cannot make the workspace in /tmp; set TMPDIR to a folder that can be written");
	}
	return 0;
}

/* A folder that the run left without permission bits is still ours. */
static int open_folder(int parent, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);
	if (fd >= 0 || errno != EACCES)
		return fd;
	if (fchmodat(parent, name, S_IRWXU, 0) != 0)
		return -1;
	return openat(parent, name, flags);
}

int workspace_open(const struct workspace *workspace)
{
	if (!workspace->path[0])
		return -1;
	auto_fd int outer = open_folder(workspace->folder, workspace->name);
	return outer < 0 ? -1 : open_folder(outer, inner_folder + 1);
}

int workspace_open_around(const struct workspace *workspace)
{
	return workspace->path[0] ? open_folder(workspace->folder, workspace->name) : -1;
}

void workspace_keep(struct workspace *workspace)
{
	if (workspace->lock >= 0)
		unlinkat(workspace->lock, marker, 0);
	forget(workspace);
}

enum emptied { EMPTIED, DESCEND, STUCK };

/* Removes what can be removed at once; stops at the first folder that is not empty, with its name. */
static enum emptied empty_once(DIR *folder, char child[static NAME_MAX + 1])
{
	enum emptied result = EMPTIED;
	struct dirent *entry;
	int fd = dirfd(folder);
	rewinddir(folder);
	while ((entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) == 0 || unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (errno == EACCES || errno == EPERM)
			fchmod(fd, S_IRWXU);
		if (unlinkat(fd, entry->d_name, 0) == 0 || unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return STUCK;
		text_copy(child, NAME_MAX + 1, entry->d_name);
		return DESCEND;
	}
	return result;
}

static bool same_folder(int fd, const struct stat *root)
{
	struct stat status;
	return fstat(fd, &status) == 0 && status.st_dev == root->st_dev && status.st_ino == root->st_ino;
}

/* Goes down into the first folder that is not empty and up again when it is, with one descriptor at a time: the depth of a
 * tree that a hostile run has built costs nothing. Nobody is left who could move folders meanwhile. */
static int empty_tree(int root)
{
	struct stat top;
	if (fstat(root, &top) != 0)
		return -errno;
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	while (fd >= 0) {
		char child[NAME_MAX + 1];
		DIR *folder = fdopendir(fd);
		if (!folder) {
			close(fd);
			return -ENOMEM;
		}
		enum emptied state = empty_once(folder, child);
		bool done = state == STUCK || (state == EMPTIED && same_folder(fd, &top));
		int failed = state == STUCK ? -errno : 0;
		int next = done ? -1 : open_folder(fd, state == DESCEND ? child : "..");
		int opened = next < 0 && !done ? -errno : 0;
		closedir(folder);
		if (done || opened)
			return done ? failed : opened;
		fd = next;
	}
	return -errno;
}

/* The marker goes last: what is left by somebody who was killed meanwhile must still be known as ours. */
static int empty_around(int around)
{
	int failed = 0;
	auto_fd int inner = open_folder(around, inner_folder + 1);
	if (inner >= 0)
		failed = empty_tree(inner);
	if (!failed && inner >= 0)
		unlinkat(around, inner_folder + 1, AT_REMOVEDIR);
	return failed ? failed : empty_tree(around);
}

int workspace_remove(struct workspace *workspace, struct error *error)
{
	if (!workspace->path[0])
		return 0;
	int failed = 0;
	auto_fd int root = open_folder(workspace->folder, workspace->name);
	if (root >= 0)
		failed = empty_around(root);
	else
		failed = errno == ENOENT ? 0 : -errno;
	if (!failed && unlinkat(workspace->folder, workspace->name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		failed = -errno;
	if (failed)
		error_system(error, -failed, "cannot remove the workspace %s", workspace->path);
	forget(workspace);
	return failed;
}

/* ---- what others left ------------------------------------------------------------------------------------------- */

/* "bailiff-" and six letters or digits, as mkdtemp makes them. */
static bool has_our_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	const size_t random = 6, prefix = sizeof(name_pattern) - 1 - random;
	return strncmp(name, name_pattern, prefix) == 0 && strlen(name) == prefix + random && strspn(name + prefix, letters) == random;
}

/* A marker, or nothing at all: bailiff was killed before the marker was there, or behind it. */
static bool is_marked_or_empty(int around)
{
	bool empty = true;
	if (faccessat(around, marker, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	int copy = openat(around, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	if (folder)
		closedir(folder);
	else if (copy >= 0)
		close(copy);
	return empty && folder;
}

/* Ours, and its owner is dead: a folder of this user's alone, which no link leads to, with the marker of a run in it, and
 * locked by nobody. From the lock on nobody else takes it for theirs; a run that is just beginning makes another. */
static enum workspace_found look_at(int parent, const char *name, int *around)
{
	struct stat status;
	*around = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*around < 0 || fstat(*around, &status) != 0)
		return WORKSPACE_NOT_OURS;
	if (status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return WORKSPACE_NOT_OURS;
	if (flock(*around, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? WORKSPACE_IN_USE : WORKSPACE_NOT_OURS;
	return is_marked_or_empty(*around) ? WORKSPACE_REMOVED : WORKSPACE_NOT_OURS;
}

static void clean_one(int parent, const char *folder, const char *name, workspace_visit *visit, void *data)
{
	int failed = 0;
	int around = -1;
	enum workspace_found found = look_at(parent, name, &around);
	if (found == WORKSPACE_REMOVED) {
		failed = empty_around(around);
		if (!failed && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
			failed = -errno;
	}
	if (around >= 0)
		close(around);
	auto_free char *path = text_format("%s/%s", strcmp(folder, "/") ? folder : "", name);
	if (found != WORKSPACE_NOT_OURS)
		visit(path, failed ? WORKSPACE_STUCK : found, -failed, data);
}

static int clean_in(const char *parent, workspace_visit *visit, void *data)
{
	auto_free char *path = realpath(parent, NULL);
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	if (!folder) {
		int number = errno;
		if (fd >= 0)
			close(fd);
		return -number;
	}
	for (struct dirent *entry; (entry = readdir(folder));)
		if (has_our_name(entry->d_name))
			clean_one(fd, path, entry->d_name, visit, data);
	closedir(folder);
	return 0;
}

int workspace_clean(workspace_visit *visit, void *data, struct error *error)
{
	const char *wanted = getenv("TMPDIR");
	auto_free char *first = wanted && *wanted == '/' ? realpath(wanted, NULL) : NULL;
	auto_free char *second = realpath("/tmp", NULL);
	bool same = first && second && strcmp(first, second) == 0;
	int failed = first ? clean_in(first, visit, data) : 0;
	if (failed)
		return error_system(error, -failed, "cannot look into %s", first);
	failed = same ? 0 : clean_in("/tmp", visit, data);
	return failed ? error_system(error, -failed, "cannot look into /tmp") : 0;
}
