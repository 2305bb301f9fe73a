/* Files that hold what a function is expected to give, under tests/golden/. With BAILIFF_UPDATE_GOLDEN set they are written
 * instead of compared: look at the difference before it is committed. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include "base/text.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beside this file, wherever the tests are started from. */
static inline char *golden_path(const char *name)
{
	const char *slash = strrchr(__FILE__, '/');
	return text_format("%.*s/../golden/%s", (int)(slash - __FILE__), __FILE__, name);
}

/* The whole file, owned by the caller; "" where there is none. */
static inline char *golden_read(const char *name)
{
	char *path = golden_path(name);
	struct text text = { 0 };
	FILE *file = fopen(path, "re");
	char buffer[4096];
	size_t count;
	while (file && (count = fread(buffer, 1, sizeof(buffer), file)) > 0)
		text_append_bytes(&text, buffer, count);
	if (file)
		fclose(file);
	free(path);
	return text.bytes ? text.bytes : text_duplicate("");
}

static inline void golden_write(const char *name, const char *actual)
{
	char *path = golden_path(name);
	FILE *file = fopen(path, "we");
	bool written = file && fputs(actual, file) >= 0;
	tap_ok(file && fclose(file) == 0 && written, "written: %s", name);
	free(path);
}

static inline void golden_compare(const char *name, const char *actual)
{
	if (getenv("BAILIFF_UPDATE_GOLDEN")) {
		golden_write(name, actual);
		return;
	}
	char *expected = golden_read(name);
	tap_string(actual, expected, "as in tests/golden/%s", name);
	free(expected);
}

#endif
