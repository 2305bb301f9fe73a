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
	FIFO_WAIT_MS = 5000,      /* for a reader, once the verdict is there */
	FIFO_RETRY_MS = 10,
	READER_LOOK_MS = 50,      /* between two looks at whether bailiff is to end, while a reader is waited for */
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
	output->fd = replacement_open_at(AT_FDCWD, path, O_WRONLY | O_NONBLOCK, 0);
	if (output->fd < 0 && errno == ENXIO && S_ISFIFO(type)) {
		output->kind = VERDICT_OUTPUT_FIFO;
		output->fd = replacement_open_at(AT_FDCWD, path, O_PATH, 0);
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

static int open_path(const char *destination, struct verdict_output *output, struct error *error)
{
	struct stat status;
	auto_free char *path = replacement_follow_links(destination);
	if (!path)
		return error_system(error, errno, "%s", destination);
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return open_special(path, status.st_mode, output, error);
	output->kind = VERDICT_OUTPUT_REPLACE;
	return replacement_open(path, &output->file, error);
}

int verdict_output_open(const char *destination, struct verdict_output *output, struct error *error)
{
	*output = (struct verdict_output){ .fd = -1, .file = REPLACEMENT_NONE };
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

/* A signal that would end bailiff, and that has come since it looked last. */
static bool is_asked_to_end(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;
	sigpending(&pending);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (sigismember(&pending, ending[i]) == 1)
			return true;
	return false;
}

/* The signals that end bailiff are blocked: a reader that does not read must not make them useless. */
static int wait_writable(int fd)
{
	struct pollfd item = { .fd = fd, .events = POLLOUT };
	int count;
	while ((count = poll(&item, 1, READER_LOOK_MS)) == 0)
		if (is_asked_to_end())
			return -EINTR;
	return count < 0 && errno != EINTR ? -errno : 0;
}

/* What polls writable takes PIPE_BUF without blocking. The descriptor may also be one that someone made non-blocking. */
static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		int failed = wait_writable(fd);
		if (failed)
			return failed;
		ssize_t count = write(fd, text, length < PIPE_BUF ? length : PIPE_BUF);
		if (count >= 0) {
			text += count;
			length -= (size_t)count;
		} else if (errno != EAGAIN && errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* The reader of a FIFO cannot be waited for without the risk of waiting for ever, so a while is given to it. */
static int open_waiting_fifo(struct verdict_output *output)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	for (int waited_ms = 0;; waited_ms += FIFO_RETRY_MS) {
		int fd = replacement_open_at(AT_FDCWD, path, O_WRONLY | O_NONBLOCK, 0);
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

/* A file that is a mount point of its own (a single file handed into a container) cannot be replaced, only written. */
static int write_in_place(const struct replacement *file, const char *text, size_t length)
{
	auto_fd int fd = replacement_open_at(file->folder, file->name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0);
	return fd < 0 ? -errno : write_all(fd, text, length);
}

static int write_replacement(struct replacement *file, const char *text, size_t length)
{
	int result = write_all(file->fd, text, length);
	if (result == 0)
		result = replacement_finish(file);
	return result == -EBUSY ? write_in_place(file, text, length) : result;
}

static int write_direct(struct verdict_output *output, const char *text, size_t length)
{
	int result = output->kind == VERDICT_OUTPUT_FIFO ? open_waiting_fifo(output) : 0;
	if (result == 0)
		result = write_all(output->fd, text, length);
	if (close(fd_release(&output->fd)) != 0 && result == 0 && errno != EINTR)
		result = -errno;
	return result;
}

int verdict_output_write(struct verdict_output *output, const char *text, size_t length, struct error *error)
{
	if (output->kind == VERDICT_OUTPUT_CLOSED)
		return error_set(error, EBADF, "the verdict's destination is not open");

	/* A reader that went away shall be EPIPE here; what the target inherited as its SIGPIPE is not touched. */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	sigaction(SIGPIPE, &ignore, &before);
	int result = output->kind == VERDICT_OUTPUT_REPLACE ? write_replacement(&output->file, text, length) :
							       write_direct(output, text, length);
	sigaction(SIGPIPE, &before, NULL);
	verdict_output_discard(output);
	return result < 0 ? error_system(error, -result, "cannot write the verdict") : 0;
}

void verdict_output_discard(struct verdict_output *output)
{
	if (output->kind == VERDICT_OUTPUT_CLOSED)
		return;
	replacement_discard(&output->file);
	if (output->fd >= 0)
		close(output->fd);
	*output = (struct verdict_output){ .fd = -1, .file = REPLACEMENT_NONE };
}
