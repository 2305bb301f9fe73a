/* Where the verdict goes: -o FILE|fd:N|-, opened before the target starts, so that a path that cannot be written is
 * found while there is still time to say so. */
#ifndef CLI_VERDICT_OUTPUT_H
#define CLI_VERDICT_OUTPUT_H

#include "base/error.h"
#include "base/replacement.h"

#include <stddef.h>
#include <sys/types.h>

enum verdict_output_kind {
	VERDICT_OUTPUT_CLOSED = 0,
	VERDICT_OUTPUT_DIRECT,  /* written as it comes: a descriptor, a device, a FIFO that has a reader */
	VERDICT_OUTPUT_FIFO,    /* nobody reads it yet: opened for writing when the verdict is there */
	VERDICT_OUTPUT_REPLACE, /* a new file, put in its place at the end */
};

struct verdict_output {
	enum verdict_output_kind kind;
	int fd;                  /* what is written to; for a FIFO an O_PATH descriptor of it; -1 with REPLACE */
	struct replacement file; /* REPLACE */
};

/* `destination` NULL is standard error, "-" standard output. Every descriptor is close-on-exec and above 2. On failure
 * nothing is left behind. */
int verdict_output_open(const char *destination, struct verdict_output *output, struct error *error);

/* Writes the whole text, puts a file into its place, and closes `output`. On failure the old file is untouched and the
 * new one removed. */
int verdict_output_write(struct verdict_output *output, const char *text, size_t length, struct error *error);

/* Closes `output` and removes what is left of it. Does nothing after verdict_output_write, or on a zeroed struct. */
void verdict_output_discard(struct verdict_output *output);

/* "fd:N": the number, or -1 when the text is no such destination. */
int destination_descriptor(const char *destination);

/* Is `fd` open, and for writing? 0 or -errno. */
int descriptor_writable(int fd, struct error *error);

#endif
