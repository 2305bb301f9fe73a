#include "cli/verdict_output.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	FIRST_FREE_FD = 3,
	LINK_DEPTH_MAX = 40,      /* as the kernel follows */
	TEMPORARY_TRIES = 100,
	FIFO_WAIT_MS = 5000,      /* for a reader, once the verdict is there */
	FIFO_RETRY_MS = 10,
};

int destination_descriptor(const char *destination)
{
	if (!destination || strncmp(destination, "fd:", 3) != 0 || destination[3] < '0' || destination[3] > '9')
		return -1;
	char *end;
	errno = 0;
	long number = strtol(destination + 3, &end, 10);
	return errno || *end || number > INT_MAX ? -1 : (int)number;
}

int descriptor_writable(int fd, struct error *error)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return error_system(error, errno, "fd:%d", fd);
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY)
		return error_set(error, EBADF, "fd:%d is not open for writing", fd);
	return 0;
}

static int use_descriptor(int fd, struct verdict_output *output, struct error *error)
{
	int result = descriptor_writable(fd, error);
	if (result < 0)
		return result;
	output->kind = VERDICT_OUTPUT_DIRECT;
	output->fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (output->fd < 0)
		return error_system(error, errno, "fd:%d", fd);
	return 0;
}

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

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
	return above_standard(openat(folder, path, flags | O_CLOEXEC | O_NOCTTY, mode));
}

static int make_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

/* A FIFO is opened without blocking: a run must not wait for a reader before it starts. Where there is none yet (ENXIO;
 * the permission was checked before), it is opened again when the verdict is there. */
static int open_special(const char *path, mode_t type, struct verdict_output *output, struct error *error)
{
	output->kind = VERDICT_OUTPUT_DIRECT;
	output->fd = open_at(AT_FDCWD, path, O_WRONLY | O_NONBLOCK, 0);
	if (output->fd < 0 && errno == ENXIO && S_ISFIFO(type)) {
		output->kind = VERDICT_OUTPUT_FIFO;
		output->fd = open_at(AT_FDCWD, path, O_PATH, 0);
	}
	if (output->fd < 0)
		return error_system(error, errno, "%s", path);
	if (output->kind == VERDICT_OUTPUT_DIRECT && make_blocking(output->fd) < 0)
		return error_system(error, errno, "%s", path);
	return 0;
}

/* /dev/stdout and its like name a descriptor, not a file: replacing the file behind it would tear it away from whoever
 * holds the descriptor. */
static int named_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	static const struct {
		const char *path;
		int fd;
	} names[] = { { "/dev/stdout", 1 }, { "/dev/stderr", 2 } };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(path, names[i].path) == 0)
			return names[i].fd;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t length = strlen(folders[i]);
		if (strncmp(path, folders[i], length) != 0)
			continue;
		char text[32];
		snprintf(text, sizeof(text), "fd:%s", path + length);
		return destination_descriptor(text);
	}
	return -1;
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

/* Follows links of the last component, the target of the last one need not exist. NULL with errno on failure; owned. */
static char *follow_links(const char *path)
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
static int open_temporary(struct verdict_output *output, mode_t mode)
{
	output->fd = open_at(output->folder, ".", O_TMPFILE | O_WRONLY, mode);
	if (output->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return output->fd < 0 ? -errno : 0;
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		snprintf(output->temporary, sizeof(output->temporary), ".bailiff-%ld-%d", (long)getpid(), i);
		output->fd = open_at(output->folder, output->temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
		if (output->fd >= 0)
			return 0;
		int number = errno;
		output->temporary[0] = '\0';
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
static int open_replacement(char *path, const struct stat *old, struct verdict_output *output, struct error *error)
{
	auto_free char *shown = text_duplicate(path);
	const char *folder;
	const char *name = split_path(path, &folder);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_system(error, EISDIR, "%s", shown);

	output->kind = VERDICT_OUTPUT_REPLACE;
	output->name = text_duplicate(name);
	output->folder = open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
	if (output->folder < 0)
		return error_system(error, errno, "%s", shown);
	int result = open_temporary(output, 0666);
	if (result == 0 && old)
		result = copy_owner_and_mode(output->fd, old);
	return result < 0 ? error_system(error, -result, "%s", shown) : 0;
}

static int open_path(const char *destination, struct verdict_output *output, struct error *error)
{
	struct stat status;
	auto_free char *path = follow_links(destination);
	if (!path)
		return error_system(error, errno, "%s", destination);
	if (stat(path, &status) != 0)
		return errno == ENOENT ? open_replacement(path, NULL, output, error) :
					 error_system(error, errno, "%s", destination);
	if (S_ISDIR(status.st_mode))
		return error_system(error, EISDIR, "%s", destination);
	if (!S_ISREG(status.st_mode))
		return open_special(path, status.st_mode, output, error);
	/* Replacing asks the folder only; a file that its owner has made read-only stays as it is all the same. */
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
		return error_system(error, errno, "%s", destination);
	return open_replacement(path, &status, output, error);
}

int verdict_output_open(const char *destination, struct verdict_output *output, struct error *error)
{
	*output = (struct verdict_output){ .fd = -1, .folder = -1 };
	int fd = -1;
	if (!destination)
		fd = STDERR_FILENO;
	else if (strcmp(destination, "-") == 0)
		fd = STDOUT_FILENO;
	else if (strncmp(destination, "fd:", 3) == 0)
		fd = destination_descriptor(destination);
	else
		fd = named_descriptor(destination);

	int result;
	if (fd >= 0)
		result = use_descriptor(fd, output, error);
	else if (strncmp(destination, "fd:", 3) == 0)
		result = error_set(error, EINVAL, "%s: not a descriptor; write fd:N", destination);
	else
		result = open_path(destination, output, error);
	if (result < 0)
		verdict_output_discard(output);
	return result;
}

static int wait_writable(int fd)
{
	struct pollfd item = { .fd = fd, .events = POLLOUT };
	return poll(&item, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* The descriptor may be one that someone else made non-blocking. */
static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t count = write(fd, text, length);
		if (count >= 0) {
			text += count;
			length -= (size_t)count;
			continue;
		}
		if (errno == EAGAIN && wait_writable(fd) == 0)
			continue;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* The reader of a FIFO cannot be waited for without the risk of waiting for ever, so a while is given to it. */
static int open_waiting_fifo(struct verdict_output *output)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	for (int waited_ms = 0;; waited_ms += FIFO_RETRY_MS) {
		int fd = open_at(AT_FDCWD, path, O_WRONLY | O_NONBLOCK, 0);
		if (fd >= 0) {
			close(output->fd);
			output->fd = fd;
			output->kind = VERDICT_OUTPUT_DIRECT;
			return make_blocking(fd);
		}
		if (errno != ENXIO || waited_ms >= FIFO_WAIT_MS)
			return -errno;
		nanosleep(&(struct timespec){ .tv_nsec = FIFO_RETRY_MS * 1000000L }, NULL);
	}
}

/* linkat never replaces, so a name is made first and then renamed over the old file. */
static int name_temporary(struct verdict_output *output)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		snprintf(output->temporary, sizeof(output->temporary), ".bailiff-%ld-%d", (long)getpid(), i);
		if (linkat(AT_FDCWD, path, output->folder, output->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		int number = errno;
		output->temporary[0] = '\0';
		if (number != EEXIST)
			return -number;
	}
	return -EEXIST;
}

/* A file that is a mount point of its own (a single file handed into a container) cannot be replaced, only written. */
static int write_in_place(const struct verdict_output *output, const char *text, size_t length)
{
	auto_fd int fd = open_at(output->folder, output->name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0);
	return fd < 0 ? -errno : write_all(fd, text, length);
}

/* The rename replaces whatever has the name by now, a link included: during the run the target may have put one there,
 * and it must not choose what is overwritten. */
static int put_in_place(struct verdict_output *output, const char *text, size_t length)
{
	int result = output->temporary[0] ? 0 : name_temporary(output);
	if (result < 0)
		return result;
	if (renameat(output->folder, output->temporary, output->folder, output->name) == 0) {
		output->temporary[0] = '\0';
		return 0;
	}
	return errno == EBUSY ? write_in_place(output, text, length) : -errno;
}

static int write_and_place(struct verdict_output *output, const char *text, size_t length)
{
	int result = output->kind == VERDICT_OUTPUT_FIFO ? open_waiting_fifo(output) : 0;
	if (result == 0)
		result = write_all(output->fd, text, length);
	if (result == 0 && output->kind == VERDICT_OUTPUT_REPLACE)
		result = put_in_place(output, text, length);
	return result;
}

int verdict_output_write(struct verdict_output *output, const char *text, size_t length, struct error *error)
{
	if (output->kind == VERDICT_OUTPUT_CLOSED)
		return error_set(error, EBADF, "the verdict's destination is not open");

	/* A reader that went away shall be EPIPE here; what the target inherited as its SIGPIPE is not touched. */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	sigaction(SIGPIPE, &ignore, &before);
	int result = write_and_place(output, text, length);
	sigaction(SIGPIPE, &before, NULL);

	/* Some file systems tell of a full disk or a lost server only when the file is closed. */
	if (close(output->fd) != 0 && result == 0 && errno != EINTR)
		result = -errno;
	output->fd = -1;
	verdict_output_discard(output);
	return result < 0 ? error_system(error, -result, "cannot write the verdict") : 0;
}

void verdict_output_discard(struct verdict_output *output)
{
	if (output->kind == VERDICT_OUTPUT_CLOSED)
		return;
	if (output->temporary[0])
		unlinkat(output->folder, output->temporary, 0);
	if (output->fd >= 0)
		close(output->fd);
	if (output->folder >= 0)
		close(output->folder);
	free(output->name);
	*output = (struct verdict_output){ .fd = -1, .folder = -1 };
}
