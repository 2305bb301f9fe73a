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
#include <sys/stat.h>
#include <unistd.h>

static const char inner_folder[] = "/work";

/* The workspace lies in a folder of its own, which is private as well: what the run does with it, removing and making it
 * again included, stays within that. */
static int make_in(const char *parent, struct workspace *workspace)
{
	auto_free char *folder = realpath(parent, NULL);
	if (!folder)
		return -errno;
	int length = snprintf(workspace->path, sizeof(workspace->path), "%s/bailiff-XXXXXX", strcmp(folder, "/") ? folder : "");
	if ((size_t)length + sizeof(inner_folder) > sizeof(workspace->path))
		return -ENAMETOOLONG;
	workspace->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (workspace->folder < 0 || !mkdtemp(workspace->path))
		return -errno;
	text_copy(workspace->name, sizeof(workspace->name), strrchr(workspace->path, '/') + 1);
	memcpy(workspace->path + length, inner_folder, sizeof(inner_folder));
	if (mkdir(workspace->path, S_IRWXU) == 0)
		return 0;
	int number = errno;
	unlinkat(workspace->folder, workspace->name, AT_REMOVEDIR);
	return -number;
}

static void forget(struct workspace *workspace)
{
	if (workspace->folder >= 0)
		close(workspace->folder);
	workspace->folder = -1;
	workspace->path[0] = '\0';
}

int workspace_make(struct workspace *workspace, struct error *error)
{
	const char *wanted = getenv("TMPDIR");
	workspace->folder = -1;
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

void workspace_keep(struct workspace *workspace)
{
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

int workspace_remove(struct workspace *workspace, struct error *error)
{
	if (!workspace->path[0])
		return 0;
	int failed = 0;
	auto_fd int root = open_folder(workspace->folder, workspace->name);
	if (root >= 0)
		failed = empty_tree(root);
	else
		failed = errno == ENOENT ? 0 : -errno;
	if (!failed && unlinkat(workspace->folder, workspace->name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		failed = -errno;
	if (failed)
		error_system(error, -failed, "cannot remove the workspace %s", workspace->path);
	forget(workspace);
	return failed;
}
