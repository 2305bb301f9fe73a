#include "engine/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 * 1024, CAREFUL_BYTES = 4096 /* PIPE_BUF: a pipe that polls writable takes this much */ };

/* A pipe or terminal is opened once more, so that O_NONBLOCK is set on a description of our own: on the inherited one it
 * would change it for the caller and everybody else who shares it. */
static int open_own_description(int fd)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool can_wait(int fd)
{
	struct stat status;
	return fstat(fd, &status) != 0 || !S_ISREG(status.st_mode);
}

void relay_open(struct relay *relay, int source, int fd, struct text *captured, struct record_stream *stream)
{
	*relay = (struct relay){ .source = source, .target = -1, .captured = captured, .stream = stream };
	fcntl(source, F_SETFL, O_NONBLOCK);
	if (captured)
		return;
	relay->target = fd;
	relay->target_waits = can_wait(fd);
	int own = relay->target_waits ? open_own_description(fd) : -1;
	if (own >= 0) {
		relay->target = own;
		relay->target_owned = true;
	}
}

static void close_source(struct relay *relay)
{
	if (relay->source >= 0)
		close(relay->source);
	relay->source = -1;
}

void relay_close(struct relay *relay)
{
	close_source(relay);
	if (relay->target_owned)
		close(relay->target);
	relay->target = -1;
	text_free(&relay->pending);
}

static size_t collect(struct relay *relay, struct relay_cap *cap, const char *bytes, size_t length)
{
	uint64_t room = RELAY_CAPTURE_BYTES - cap->captured_bytes;
	size_t kept = length <= room ? length : (size_t)room;
	text_append_bytes(relay->captured, bytes, kept);
	relay->stream->relayed += kept;
	cap->captured_bytes += kept;
	cap->capture_is_full = cap->capture_is_full || kept < length;
	return kept;
}

/* Keeps what is within the cap. */
static bool take(struct relay *relay, struct relay_cap *cap, const char *bytes, size_t length)
{
	uint64_t room = cap->cap_bytes - cap->seen_bytes; /* seen never exceeds the cap before it is crossed */
	size_t kept = length <= room ? length : (size_t)room;
	relay->stream->bytes += length;
	cap->seen_bytes += kept;
	bool crossed = kept < length;
	if (relay->captured)
		kept = collect(relay, cap, bytes, kept);
	else
		text_append_bytes(&relay->pending, bytes, kept);
	relay->stream->truncated = relay->stream->truncated || kept < length;
	return crossed;
}

bool relay_read(struct relay *relay, struct relay_cap *cap, size_t most)
{
	char chunk[CHUNK_BYTES];
	while (relay->source >= 0 && most > 0) {
		ssize_t count = read(relay->source, chunk, most < sizeof(chunk) ? most : sizeof(chunk));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return false;
		if (count <= 0) {
			close_source(relay);
			return false;
		}
		if (take(relay, cap, chunk, (size_t)count))
			return true;
		most -= (size_t)count;
	}
	return false;
}

/* A socket whose peer left something unread answers ECONNRESET, a terminal that was hung up EIO. */
static bool is_without_reader(int fd, int number)
{
	struct stat status;
	if (number == EPIPE || number == ECONNRESET)
		return true;
	return number == EIO && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
}

static void cannot_write(struct relay *relay, int number, size_t lost_bytes)
{
	if (!is_without_reader(relay->target, number)) {
		relay->write_error = number;
		relay->lost_bytes = lost_bytes;
	}
	close_source(relay);
	relay->stream->truncated = relay->stream->truncated || relay->pending.length > 0;
	relay->pending.length = 0;
}

static bool takes_now(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	return poll(&ready, 1, 0) == 1;
}

void relay_flush(struct relay *relay)
{
	size_t done = 0;
	while (done < relay->pending.length) {
		bool careful = relay->target_waits && !relay->target_owned;
		size_t length = relay->pending.length - done;
		if (careful && !takes_now(relay->target))
			break;
		if (careful && length > CAREFUL_BYTES)
			length = CAREFUL_BYTES;
		ssize_t count = write(relay->target, relay->pending.bytes + done, length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			break;
		if (count < 0) {
			cannot_write(relay, errno, relay->pending.length - done);
			return;
		}
		done += (size_t)count;
		relay->last_byte = relay->pending.bytes[done - 1];
		relay->stream->relayed += (size_t)count;
	}
	if (done == 0)
		return;
	memmove(relay->pending.bytes, relay->pending.bytes + done, relay->pending.length - done);
	relay->pending.length -= done;
}
