/* Growing text, and what is needed to show bytes of unknown origin safely.
 *
 * Running out of memory while building text is a bug(): there is no useful way on, and it must not end as an allow. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
	char *bytes; /* owned, NUL-terminated once anything was appended; NULL when empty */
	size_t length;
	size_t capacity;
};

void text_free(struct text *text);
void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const void *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* The text as a C string; "" when empty. Borrowed. */
const char *text_string(const struct text *text);

/* Appends `bytes` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, control characters \u00XX;
 * what comes out is always valid UTF-8 and valid JSON. */
void text_append_json_string(struct text *text, const void *bytes, size_t length);

/* Appends `bytes` for a terminal: control characters (also C1 and DEL) and those that change the direction of writing or
 * end a line (U+202E, U+2028 and the like) as \xNN for each byte, invalid UTF-8 as U+FFFD, so that a name cannot move the
 * cursor, forge a line, switch colours or stand reversed. */
void text_append_visible(struct text *text, const void *bytes, size_t length);

void text_append_base64(struct text *text, const void *bytes, size_t length);

/* Is the whole of `bytes` well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF)? */
bool utf8_valid(const void *bytes, size_t length);

/* Length of the well-formed sequence at `bytes`: 1 to 4, or 0 when it is malformed or cut off. */
size_t utf8_sequence_length(const void *bytes, size_t length);

/* As strdup, asprintf and calloc, but bug() instead of NULL. The result is the caller's to free. */
char *text_duplicate(const char *string);
char *text_duplicate_bytes(const void *bytes, size_t length);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *memory_zeroed(size_t count, size_t size);
void *memory_resized(void *old, size_t count, size_t size);

/* Copies as much as fits and always terminates; returns false when something was cut. */
bool text_copy(char *target, size_t capacity, const char *source);

/* Edit distance (insert, delete, replace, swap of neighbours), for "did you mean". At most 64 bytes of each are read. */
unsigned text_distance(const char *left, const char *right);

#endif
