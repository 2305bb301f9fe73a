#include "why/source.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/decide.h"
#include "why/why.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, TEXT_BYTES = sizeof(((struct source_line *)0)->text) };

/* "<string>", "-e", what bash calls the text behind its -c, and what PHP calls that and its standard input: the name of no
 * file, even where one is called so. node knows files by their whole path only. */
static bool names_no_file(const char *language, const char *path)
{
	static const char *const names[] = { "", "environment", "Command line code", "Standard input code" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return path[0] == '<' || path[0] == '-' || (strcmp(language, "javascript") == 0 && path[0] != '/');
}

void source_request_fill(const struct record_explanation *explanation, struct source_request *request)
{
	memset(request, 0, sizeof(*request));
	for (uint32_t i = 0; i < explanation->script_count && i < RECORD_SCRIPT_FRAME_MAX; i++) {
		const struct record_script_frame *frame = &explanation->script[i];
		if (!frame->own_code)
			continue;
		if (frame->line == 0 || frame->file.truncated || frame->file.length >= sizeof(request->path) ||
		    names_no_file(frame->language, frame->file.bytes))
			return;
		memcpy(request->path, frame->file.bytes, frame->file.length);
		text_copy(request->cwd, sizeof(request->cwd), explanation->cwd);
		request->frame = i;
		request->line = frame->line;
		request->captured_ns = explanation->captured_ns;
		return;
	}
}

/* Ends at a character, and where SOURCE_CHARACTER_MAX of them or the room are used up. */
static size_t length_to_show(const char *line, size_t length)
{
	size_t shown = 0;
	for (unsigned i = 0; i < SOURCE_CHARACTER_MAX && shown < length; i++) {
		size_t step = utf8_sequence_length(line + shown, length - shown);
		if (shown + step >= TEXT_BYTES)
			break;
		shown += step;
	}
	return shown;
}

/* Does a line end in what not all languages take for an end: \r alone, or a separator of Unicode? */
static bool ends_otherwise(const char *bytes, size_t length)
{
	for (size_t i = 0; i + 1 < length; i++)
		if ((bytes[i] == '\r' && bytes[i + 1] != '\n') ||
		    (i + 2 < length && (memcmp(bytes + i, "\xe2\x80\xa8", 3) == 0 || memcmp(bytes + i, "\xe2\x80\xa9", 3) == 0)))
			return true;
	return false;
}

bool source_find_line(const char *bytes, size_t length, uint32_t line, char text[static 256])
{
	const char *at = bytes, *end = bytes + length;
	for (; line > 1 && at < end; line--) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	size_t line_bytes = (size_t)((newline ? newline : end) - at);
	while (line_bytes > 0 && strchr(" \t\r", at[line_bytes - 1]) && at[line_bytes - 1])
		line_bytes--;
	if (line != 1 || line_bytes == 0 || !utf8_valid(at, line_bytes) || memchr(at, '\0', line_bytes) ||
	    ends_otherwise(bytes, (size_t)(at - bytes) + line_bytes))
		return false;
	size_t shown = length_to_show(at, line_bytes);
	memcpy(text, at, shown);
	text[shown] = '\0';
	return true;
}

/* A path that the target chose. O_PATH opens no device, waits for no FIFO and breaks no lease; links of /proc would lead to
 * what the helper itself holds, and are refused. Only a regular file is then opened for reading. */
static int open_source(const char *path, const struct source_request *request, char canonical[static PATH_MAX])
{
	char link[64];
	struct stat status;
	auto_fd int found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0 || fstat(found, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > SOURCE_FILE_MAX_BYTES)
		return -1;
	/* Written or renamed to since: it is not what ran. */
	if ((int64_t)status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec > request->captured_ns)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	ssize_t length = readlink(link, canonical, PATH_MAX - 1);
	if (length <= 0 || canonical[0] != '/' || strncmp(canonical, "/proc/", 6) == 0)
		return -1;
	canonical[length] = '\0';
	return open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static size_t read_whole(int fd, char *bytes, size_t capacity)
{
	size_t length = 0;
	while (length < capacity) {
		ssize_t count = read(fd, bytes + length, capacity - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += (size_t)count;
	}
	return length;
}

bool source_read(const struct source_request *request, struct source_line *line)
{
	char path[PATH_MAX], canonical[PATH_MAX];
	bool absolute = request->path[0] == '/';
	int length = snprintf(path, sizeof(path), "%s%s%s", absolute ? "" : request->cwd, absolute ? "" : "/", request->path);
	if (request->path[0] == '\0' || (!absolute && request->cwd[0] != '/') || length >= (int)sizeof(path))
		return false;
	auto_fd int fd = open_source(path, request, canonical);
	if (fd < 0 || !text_copy(line->path, sizeof(line->path), canonical))
		return false;
	auto_free char *bytes = memory_zeroed(1, SOURCE_FILE_MAX_BYTES);
	return source_find_line(bytes, read_whole(fd, bytes, SOURCE_FILE_MAX_BYTES), request->line, line->text);
}

/* ---- may it be shown ---------------------------------------------------------------------------------------------- */

static bool policy_lets_read(const struct policy *policy, const char *path, pid_t self)
{
	struct path_request request = { .access = ACCESS_READ, .path = path, .self = self };
	return decide_path(policy, &request).kind == DECISION_ALLOW;
}

/* The target could otherwise call a secret its source, and have it shown: by the verdict's reader's rights, not its own. The
 * name that it gave is asked about as well, since deny and hide count for each name on a way. */
static bool may_be_shown(const struct run_record *record, const struct policy *policy, const char *run_cwd)
{
	const struct record_explanation *explanation = &record->explanation;
	const struct record_script_frame *frame = &explanation->script[explanation->source_frame];
	pid_t self = record->first.process.pid;
	if (explanation->source_path[0] != '/' || !policy_lets_read(policy, explanation->source_path, self))
		return false;
	if (frame->file.bytes[0] != '/') /* a program that went elsewhere may name another file by now */
		return strcmp(explanation->cwd, run_cwd) == 0;
	struct path_request name = { .access = ACCESS_READ, .path = frame->file.bytes, .self = self };
	return decide_name(policy, &name).kind == DECISION_ALLOW;
}

void why_judge_source(struct run_record *record, const struct policy *policy, const char *run_cwd)
{
	struct record_explanation *explanation = &record->explanation;
	if (explanation->source_path[0] == '\0' || explanation->source_frame >= RECORD_SCRIPT_FRAME_MAX)
		return;
	if (!may_be_shown(record, policy, run_cwd))
		explanation->script[explanation->source_frame].source[0] = '\0';
}
