/* Counted is what the file system has given out (st_blocks, as du does), not the size of files: holes are free, and so is a
 * second name for a file. Every object counts for at least OBJECT_LEAST_BYTES, since a million empty files take room too.
 * Files that have lost their name still take theirs: they are found through the descriptors and mappings of the tree.
 *
 * Folders are opened by their path from the top, beneath it and without links, so that a folder which the run moves
 * meanwhile is at worst met twice or under its new name; each inode counts once. What cannot be counted, a folder that lacks a
 * permission bit or a path longer than any call takes, would be a place to hide in: it is an answer of its own. */
#include "engine/quota.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/held.h"
#include "engine/inode_set.h"
#include "tracee/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 512, OBJECT_LEAST_BYTES = 512, LOOK_AT_CLOCK_EVERY = 64 };

struct quota {
	int top; /* owned */
	char *path; /* of the same; owned */
	dev_t device;
	uint64_t limit_bytes;
	struct shared *shared;

	struct inode_set seen;
	char **folders; /* owned paths from the top that are still to be read */
	size_t folder_count, folder_capacity;
	DIR *open_folder; /* being read, at `open_path`; both owned */
	char *open_path;
	int next_process; /* slot of the table of processes whose files come next */
	bool folders_done;
	unsigned steps;

	bool answered; /* the next look begins anew */
	uint64_t bytes;
	char problem[256];
};

/* ---- one object --------------------------------------------------------------------------------------------------- */

static bool count_object(struct quota *quota, uint64_t inode, uint64_t blocks)
{
	if (!inode_set_add(&quota->seen, inode))
		return false;
	uint64_t bytes = blocks * BLOCK_BYTES;
	quota->bytes += bytes > OBJECT_LEAST_BYTES ? bytes : OBJECT_LEAST_BYTES;
	return true;
}

static void later(struct quota *quota, char *path)
{
	if (quota->folder_count == quota->folder_capacity) {
		quota->folder_capacity = quota->folder_capacity ? quota->folder_capacity * 2 : 64;
		quota->folders = memory_resized(quota->folders, quota->folder_capacity, sizeof(*quota->folders));
	}
	quota->folders[quota->folder_count++] = path;
}

static void describe_problem(struct quota *quota, const char *path, int number)
{
	struct text shown = { 0 };
	text_append_visible(&shown, path, strlen(path) < 120 ? strlen(path) : 120);
	snprintf(quota->problem, sizeof(quota->problem), "%s: %s", text_string(&shown), strerror(number));
	text_free(&shown);
}

/* False with the problem told: the folder can be read and not searched (mode 0400), and what its names take is not known. */
static bool count_entry(struct quota *quota, const char *name)
{
	struct stat status;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (fstatat(dirfd(quota->open_folder), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return true; /* gone meanwhile */
		describe_problem(quota, quota->open_path, errno);
		return false;
	}
	if (status.st_dev == quota->device && count_object(quota, status.st_ino, (uint64_t)status.st_blocks) && S_ISDIR(status.st_mode))
		later(quota, text_format("%s/%s", quota->open_path, name));
	return true;
}

static void count_deleted(const struct held_file *file, void *data)
{
	count_object(data, file->inode, file->blocks);
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

static void close_folder(struct quota *quota)
{
	if (quota->open_folder)
		closedir(quota->open_folder);
	quota->open_folder = NULL;
	free(quota->open_path);
	quota->open_path = NULL;
}

static void begin_anew(struct quota *quota)
{
	close_folder(quota);
	for (size_t i = 0; i < quota->folder_count; i++)
		free(quota->folders[i]);
	quota->folder_count = 0;
	inode_set_clear(&quota->seen);
	quota->bytes = 0;
	quota->next_process = 0;
	quota->folders_done = quota->answered = false;
	later(quota, text_duplicate("."));
}

/* Opens the next folder that is still there. False with the problem told where one cannot be read. */
static bool open_next(struct quota *quota)
{
	while (quota->folder_count > 0 && !quota->open_folder) {
		quota->open_path = quota->folders[--quota->folder_count];
		int fd = held_open_beneath(quota->top, quota->open_path, O_RDONLY | O_DIRECTORY | O_NONBLOCK,
					   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
		if (fd >= 0 && (quota->open_folder = fdopendir(fd)))
			return true;
		int number = fd >= 0 ? errno : -fd;
		if (fd >= 0)
			close(fd);
		if (number != ENOENT && number != ENOTDIR && number != ELOOP && number != EAGAIN) {
			describe_problem(quota, quota->open_path, number);
			return false;
		}
		close_folder(quota);
	}
	return true;
}

static bool time_is_up(struct quota *quota, uint64_t until_ns)
{
	return ++quota->steps % LOOK_AT_CLOCK_EVERY == 0 && clock_now_ns() >= until_ns;
}

static enum quota_state count_folders(struct quota *quota, uint64_t until_ns)
{
	while (!time_is_up(quota, until_ns)) {
		if (!quota->open_folder && !open_next(quota))
			return QUOTA_UNKNOWN;
		if (!quota->open_folder)
			return QUOTA_WITHIN;
		const struct dirent *entry = readdir(quota->open_folder);
		if (!entry)
			close_folder(quota);
		else if (!count_entry(quota, entry->d_name))
			return QUOTA_UNKNOWN;
	}
	return QUOTA_COUNTING;
}

static enum quota_state count_held(struct quota *quota, uint64_t until_ns)
{
	int high = atomic_load(&quota->shared->process_high);
	for (; quota->next_process < high; quota->next_process++) {
		if (clock_now_ns() >= until_ns)
			return QUOTA_COUNTING;
		pid_t tgid = atomic_load_explicit(&quota->shared->processes[quota->next_process], memory_order_relaxed);
		if (tgid > 0)
			files_each_deleted(tgid, quota->path, count_deleted, quota);
	}
	return QUOTA_WITHIN;
}

enum quota_state quota_look(struct quota *quota, uint64_t until_ns)
{
	if (quota->answered)
		begin_anew(quota);
	enum quota_state state = QUOTA_WITHIN;
	if (!quota->folders_done)
		state = count_folders(quota, until_ns);
	if (state == QUOTA_WITHIN) {
		quota->folders_done = true;
		state = count_held(quota, until_ns);
	}
	/* What is not counted yet only adds to it. */
	if (quota->bytes > quota->limit_bytes)
		state = QUOTA_EXCEEDED;
	quota->answered = state != QUOTA_COUNTING;
	return state;
}

uint64_t quota_bytes(const struct quota *quota)
{
	return quota->bytes;
}

const char *quota_problem(const struct quota *quota)
{
	return quota->problem;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------- */

struct quota *quota_new(const struct workspace *workspace, struct shared *shared, uint64_t limit_bytes)
{
	struct stat status;
	int top = workspace_open_around(workspace);
	if (top < 0 || fstat(top, &status) != 0) {
		if (top >= 0)
			close(top);
		return NULL;
	}
	struct quota *quota = memory_zeroed(1, sizeof(*quota));
	quota->top = top;
	const char *inner = strrchr(workspace->path, '/');
	quota->path = text_duplicate_bytes(workspace->path, (size_t)(inner - workspace->path));
	quota->device = status.st_dev;
	quota->limit_bytes = limit_bytes;
	quota->shared = shared;
	quota->answered = true;
	return quota;
}

void quota_free(struct quota *quota)
{
	if (!quota)
		return;
	begin_anew(quota);
	free(quota->folders[0]);
	free(quota->folders);
	inode_set_free(&quota->seen);
	free(quota->path);
	close(quota->top);
	free(quota);
}
