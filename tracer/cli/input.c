#include "cli/input.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { INPUT_MAX_BYTES = 64 * 1024 * 1024 };

static int read_all(int fd, struct text *text, struct error *error)
{
	char buffer[64 * 1024];
	for (;;) {
		ssize_t count = read(fd, buffer, sizeof(buffer));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_system(error, errno, "cannot read");
		if (count == 0)
			return 0;
		if (text->length + (size_t)count > INPUT_MAX_BYTES)
			return error_set(error, EFBIG, "more than %d MiB is no verdict", INPUT_MAX_BYTES / (1024 * 1024));
		text_append_bytes(text, buffer, (size_t)count);
	}
}

static int open_input(const char *path, struct error *error)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? error_system(error, errno, "%s", path) : fd;
}

/* The parser knows line and column, and this one the file: FILE:LINE:COLUMN: what. */
static int in_file(const char *name, struct error *error)
{
	struct error inner = *error;
	return error_set(error, inner.number, "%s:%s", name, inner.message);
}

int input_read_verdict(const char *path, cJSON **verdict, struct error *error)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct text text = { 0 };
	*verdict = NULL;
	auto_fd int fd = open_input(path, error);
	if (fd < 0)
		return fd;

	int result = read_all(fd, &text, error);
	if (result < 0)
		result = error_context(error, "%s", name);
	else if (verdict_parse(text_string(&text), text.length, verdict, error) < 0)
		result = in_file(name, error);
	text_free(&text);
	return result;
}
