/* The text of the line that counts: read by the helper, shown only where the policy lets the target read the file. */
#ifndef WHY_SOURCE_H
#define WHY_SOURCE_H

#include "policy/policy.h"
#include "verdict/record.h"

enum { SOURCE_CHARACTER_MAX = 200, SOURCE_FILE_MAX_BYTES = 1024 * 1024 };

/* Which line to read; `path` is what the interpreter says, relative to `cwd`. Without a path there is none. */
struct source_request {
	char path[RECORD_PATH_BYTES + 1];
	char cwd[RECORD_PATH_BYTES + 1];
	uint32_t frame, line;
	int64_t captured_ns; /* CLOCK_REALTIME */
};

struct source_line {
	char path[RECORD_PATH_BYTES + 1]; /* canonical */
	char text[256];
};

/* The innermost frame of the program's own code, where it names a file and a line. */
void source_request_fill(const struct record_explanation *explanation, struct source_request *request);

/* In the helper, under the supervisor's own rights: false where the line cannot be had or may not be what ran. */
bool source_read(const struct source_request *request, struct source_line *line);

/* The line's text within the `length` bytes of a file: false where there is no such line, or it is not UTF-8. */
bool source_find_line(const char *bytes, size_t length, uint32_t line, char text[static 256]);

#endif
