/* Durations and sizes as people write them: 500ms 3s 2m, 2000 64K 512M 2G (powers of 1024), none. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* What "none" becomes: no limit. */
#define UNITS_NONE UINT64_MAX

/* All return NULL on success, else what is wrong with the text in a few words (static storage), such as
 * "0 is no limit; write \"none\" to lift it". Values above INT64_MAX / 1024 are refused as out of range. */
const char *units_parse_duration_ms(const char *text, uint64_t *duration_ms);
const char *units_parse_size_bytes(const char *text, uint64_t *size_bytes);
const char *units_parse_count(const char *text, uint64_t *count);

/* The shortest exact form: "3s", "1500ms", "2m", "64K", "2000", "none". `target` holds at least UNITS_TEXT bytes. */
enum { UNITS_TEXT = 32 };
void units_format_duration(char *target, uint64_t duration_ms);
void units_format_size(char *target, uint64_t size_bytes);
void units_format_count(char *target, uint64_t count);

#endif
