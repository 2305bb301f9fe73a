#include "engine/events.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/shared.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LOOK_MS = 50,       /* between two looks at whether the run is to end, while a reader is waited for */
	LAST_WAIT_MS = 200, /* for that reader, once the run is to end; less than front's watchdog allows */
};

#define NS_PER_MS UINT64_C(1000000)

/* ---- a line ------------------------------------------------------------------------------------------------------- */

static void append_member(struct text *line, const char *key, const char *value)
{
	text_printf(line, ",\"%s\":", key);
	if (value)
		text_append_json_string(line, value, strlen(value));
	else
		text_append(line, "null");
}

/* At most what the character becomes inside a JSON string: \u00XX, or U+FFFD for a byte that is none. */
static size_t escaped_bytes(const char *at, size_t step)
{
	unsigned char first = (unsigned char)*at;
	if (step == 0)
		return 3;
	return first < 0x20 || first == 0x7F || first == '"' || first == '\\' ? 6 : step;
}

/* How much of the value fits into `room` bytes as a JSON string, cut between characters. */
static size_t fitting_length(const char *value, size_t room)
{
	size_t length = strlen(value), at = 0, used = 2;
	while (at < length) {
		size_t step = utf8_sequence_length(value + at, length - at);
		used += escaped_bytes(value + at, step);
		if (used > room)
			break;
		at += step ? step : 1;
	}
	return at;
}

/* A line is never longer than what a pipe takes whole, so that a run that is killed leaves whole lines there. */
static void append_target(struct text *line, const char *target, size_t others)
{
	static const char key[] = ",\"target\":", cut[] = ",\"target_truncated\":true";
	if (!target) {
		append_member(line, "target", NULL);
		return;
	}
	size_t room = PIPE_BUF - others - (sizeof(key) - 1) - (sizeof(cut) - 1), length = fitting_length(target, room);
	text_append(line, key);
	text_append_json_string(line, target, length);
	if (target[length])
		text_append(line, cut);
}

static void append_line(struct text *line, const struct event *event)
{
	struct text rest = { 0 };
	append_member(&rest, "decision", event->decision);
	append_member(&rest, "rule", event->rule);
	append_member(&rest, "answered", event->answered);
	text_append(&rest, "}\n");

	text_printf(line, "{\"when_ms\":%" PRIu64 ",\"pid\":%d,\"tid\":%d", event->when_ms, event->pid, event->tid);
	append_member(line, "syscall", event->syscall);
	append_member(line, "access", event->access);
	append_target(line, event->target, line->length + rest.length);
	text_append_bytes(line, rest.bytes, rest.length);
	text_free(&rest);
}

/* ---- on its way --------------------------------------------------------------------------------------------------- */

/* Waits until the reader takes something. False where the run is to end and the reader has had its time: the limits hold
 * whatever it does. */
static bool takes_more(int fd, const struct shared *shared)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	uint64_t noticed_ns = 0;
	while (poll(&ready, 1, LOOK_MS) <= 0) {
		if (atomic_load(&shared->stop_request) == STOP_NONE)
			continue;
		uint64_t now_ns = clock_now_ns();
		if (noticed_ns == 0)
			noticed_ns = now_ns;
		if (now_ns - noticed_ns >= LAST_WAIT_MS * NS_PER_MS)
			return false;
	}
	return true;
}

/* What a full file has taken of a line goes away again, so that the lines before it are all there is. */
static void take_back(int fd, size_t bytes)
{
	struct stat status;
	off_t end = lseek(fd, 0, SEEK_CUR);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && end == status.st_size && ftruncate(fd, end - (off_t)bytes) == 0)
		lseek(fd, end - (off_t)bytes, SEEK_SET);
}

/* 0 or -errno; -EAGAIN where nobody read until the run was to end. */
static int write_line(int fd, const struct shared *shared, const struct text *line)
{
	size_t done = 0;
	int failed = 0;
	while (!failed && done < line->length) {
		if (!takes_more(fd, shared)) {
			failed = -EAGAIN;
			break;
		}
		ssize_t count = write(fd, line->bytes + done, line->length - done);
		if (count >= 0)
			done += (size_t)count;
		else if (errno != EINTR && errno != EAGAIN)
			failed = -errno;
	}
	if (failed && done > 0)
		take_back(fd, done);
	return failed;
}

void events_write(int fd, struct shared *shared, const struct event *event)
{
	/* What comes behind a gap would look as if it followed what stands before it. */
	if (atomic_load(&shared->events_lost) == 0) {
		struct text line = { 0 };
		append_line(&line, event);
		int failed = write_line(fd, shared, &line);
		text_free(&line);
		if (failed == 0)
			return;
		atomic_store(&shared->events_error, -failed);
	}
	atomic_fetch_add(&shared->events_lost, 1);
}
