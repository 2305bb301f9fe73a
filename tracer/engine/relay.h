/* The target's output on its way through bailiff: counted, capped, passed on or collected. Never blocks on a reader of ours,
 * so that clocks and rules go on whatever that reader does. */
#ifndef ENGINE_RELAY_H
#define ENGINE_RELAY_H

#include "base/text.h"
#include "verdict/record.h"

#include <stdbool.h>
#include <stdint.h>

/* What --capture keeps of both streams in sum, also where the policy sets no lower limit for the output. */
enum { RELAY_CAPTURE_BYTES = 16 << 20 };

/* One cap over both streams. */
struct relay_cap {
	uint64_t cap_bytes; /* UINT64_MAX: none */
	uint64_t seen_bytes;
	uint64_t captured_bytes; /* kept for --capture, never more than RELAY_CAPTURE_BYTES */
	bool capture_is_full;    /* something more came, and was counted alone */
};

struct relay {
	int source;          /* our end of the target's pipe, non-blocking; -1 once it is at its end or closed */
	int target;          /* where it goes; -1: collected in `captured` alone */
	bool target_owned;   /* a description of our own (non-blocking) rather than the inherited one */
	bool target_waits;   /* writing may have to wait: poll first, write little */
	struct text pending; /* read, counted, not yet passed on */
	struct text *captured;
	struct record_stream *stream;
	char last_byte;      /* that was passed on; 0 before the first */
	int write_error;     /* errno of a write that failed though its reader is there, as on a full disk; 0 for none */
	size_t lost_bytes;   /* read, counted, and lost by that */
};

/* `fd` is 1 or 2 of bailiff's own. */
void relay_open(struct relay *relay, int source, int fd, struct text *captured, struct record_stream *stream);
void relay_close(struct relay *relay);

/* Reads what is there (at most `most` bytes). True when the cap was crossed by it: then nothing more is read. */
bool relay_read(struct relay *relay, struct relay_cap *cap, size_t most);

/* Passes on what the reader takes now. A reader that went away closes the source, so that the target gets its own SIGPIPE;
 * so does a write that fails for another reason, which `write_error` keeps. */
void relay_flush(struct relay *relay);

/* Bytes that wait for the reader. */
static inline bool relay_is_pending(const struct relay *relay)
{
	return relay->pending.length > 0;
}

/* Is there still something that the target may write? */
static inline bool relay_is_open(const struct relay *relay)
{
	return relay->source >= 0;
}

#endif
