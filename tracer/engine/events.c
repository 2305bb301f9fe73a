#include "engine/events.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static void append_member(struct text *line, const char *key, const char *value)
{
	text_printf(line, ",\"%s\":", key);
	if (value)
		text_append_json_string(line, value, strlen(value));
	else
		text_append(line, "null");
}

static void write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(fd, bytes, length);
		if (count < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };
			poll(&wait, 1, -1);
			continue;
		}
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return;
		bytes += count;
		length -= (size_t)count;
	}
}

void events_write(int fd, const struct event *event)
{
	struct text line = { 0 };
	text_printf(&line, "{\"when_ms\":%" PRIu64 ",\"pid\":%d,\"tid\":%d", event->when_ms, event->pid, event->tid);
	append_member(&line, "syscall", event->syscall);
	append_member(&line, "access", event->access);
	append_member(&line, "target", event->target);
	append_member(&line, "decision", event->decision);
	append_member(&line, "rule", event->rule);
	append_member(&line, "answered", event->answered);
	text_append(&line, "}\n");
	write_all(fd, line.bytes, line.length);
	text_free(&line);
}
