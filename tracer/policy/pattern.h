/* Path patterns: `*`, `?`, `[a-z]` within one component, `**` across components, `\` quotes the next character.
 *
 * A folder followed by slash and two stars matches the folder and all below it. Matching is by components, never by
 * string prefix: "/work" does not match "/work-evil". Paths are byte strings; nothing is decoded. */
#ifndef POLICY_PATTERN_H
#define POLICY_PATTERN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct path_pattern; /* opaque; one heap block */

/* `text` starts with `/`. On failure the error's text says what is wrong and at which byte (no file, no line). */
int pattern_compile(const char *text, struct path_pattern **pattern, struct error *error);
void pattern_free(struct path_pattern *pattern);
/* The pattern's text as compiled. Borrowed. */
const char *pattern_text(const struct path_pattern *pattern);

/* Does it match the absolute, normalised `path` (no `.`, `..`, double or trailing slashes; "/" is the root)?
 * `self` is the calling process: a pattern that starts with the literal /proc/self also matches /proc/SELF/…, and never
 * another process' folder. Pass 0 where there is no caller. */
bool pattern_matches(const struct path_pattern *pattern, const char *path, pid_t self);

/* Could the pattern match something below the directory `path` (not `path` itself)? Never false when one exists. */
bool pattern_reaches_below(const struct path_pattern *pattern, const char *path, pid_t self);

/* The length of the leading folder of `text` that holds no pattern character: "/usr/lib" of "/usr/lib/x*.so", 0 when there
 * is none but the root. The last component is part of it only when a `/` follows it. */
size_t pattern_literal_folder(const char *text);

/* Appends nothing special: quotes *, ?, [, ], {, $ and \ in `path` with `\` so that it matches itself. Owned by caller. */
char *pattern_quote(const char *path);

/* How near `path` came, for the nearest misses: number of leading components that agree. */
size_t pattern_common_components(const struct path_pattern *pattern, const char *path, pid_t self);

#endif
