/* Path patterns: `*`, `?`, `[a-z]` within one component, `**` across components, `\` quotes the next character.
 *
 * A folder followed by slash and two stars matches the folder and all below it. Matching is by components, never by
 * string prefix: "/data" does not match "/data-evil". Paths are byte strings; nothing is decoded. `*` and `?` match a
 * leading dot too; `**` stands alone between slashes; [!a-z] and [^a-z] negate. What could be meant in two ways ({a,b}, a
 * `$` in the middle, [[:alpha:]]) is an error, since a deny entry that silently matches nothing would be an allow. */
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

/* Does the text, well-formed or not, name one path alone: no unquoted `*`, `?` or `[`? */
bool pattern_is_literal(const char *text);

/* The first `length` bytes of a literal text without their quoting. Owned by caller. */
char *pattern_unquote(const char *text, size_t length);

/* The pattern that matches `path` alone: *, ?, [, ], {, $ and \ get a `\` in front. Owned by caller. */
char *pattern_quote(const char *path);

/* How near `path` came, for the nearest misses: number of leading components that agree. */
size_t pattern_common_components(const struct path_pattern *pattern, const char *path, pid_t self);

/* Why a pattern that does not match `path` does not, in a few words; cut to `size`. */
void pattern_explain_miss(const struct path_pattern *pattern, const char *path, pid_t self, char *why, size_t size);

/* Does what the pattern matches below the directory `path` depend on that directory's name or place? False where it
 * begins with two stars and would match the same objects wherever the directory is moved. */
bool pattern_tied_to(const struct path_pattern *pattern, const char *path, pid_t self);

/* Could the pattern match, below the directory `to`, what it would not match in the same place below `from`? Never false when
 * it could. */
bool pattern_gains_below(const struct path_pattern *pattern, const char *from, const char *to, pid_t self);

/* Does the pattern match everything below the directory `path`? */
bool pattern_covers_below(const struct path_pattern *pattern, const char *path, pid_t self);

/* The same language for one name that may hold slashes and zero bytes: abstract unix names. NULL when well-formed, else
 * what is wrong (static storage). */
const char *pattern_name_check(const char *glob);
bool pattern_name_matches(const char *glob, const char *name, size_t length);

#endif
