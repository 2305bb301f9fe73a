/* cJSON, with what a verdict needs on top: bytes of unknown origin, numbers that are never negative, and no silent loss
 * when memory runs out (that is a bug(), as for struct text). */
#ifndef VERDICT_JSON_H
#define VERDICT_JSON_H

#include "base/text.h"
#include "verdict/record.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All take ownership of `item` and return it, or return what they created inside `object` or `array`. */
cJSON *json_add(cJSON *object, const char *key, cJSON *item);
cJSON *json_append(cJSON *array, cJSON *item);
cJSON *json_add_object(cJSON *object, const char *key);
cJSON *json_add_array(cJSON *object, const char *key);
cJSON *json_append_object(cJSON *array);

void json_add_null(cJSON *object, const char *key);
void json_add_bool(cJSON *object, const char *key, bool value);

/* Negative becomes 0; above 2^53, where a double cannot count any more, 2^53. */
void json_add_number(cJSON *object, const char *key, int64_t value);

/* "KEY": the bytes as text. Where they are not UTF-8 (or hold a NUL), U+FFFD stands for what is wrong, and
 * "KEY_base64" holds them exactly. A character that the record's own bound cut in two is left out instead. */
void json_add_bytes(cJSON *object, const char *key, const void *bytes, size_t length, bool truncated);
void json_add_record_bytes(cJSON *object, const char *key, const struct record_bytes *bytes); /* null when empty */

/* As json_add_bytes for a C string; NULL and "" become null. */
void json_add_string(cJSON *object, const char *key, const char *string);

/* "KEY": array of strings; where one is not UTF-8 also "KEY_base64" with all of them. */
struct json_words {
	const char *at, *end; /* NUL-terminated words one behind the other */
};
void json_add_words(cJSON *object, const char *key, struct json_words words);
void json_add_vector(cJSON *object, const char *key, char *const *strings); /* NULL-terminated; NULL: no words */

/* "KEY": the names of controllers (RECORD_CGROUP_*), or null for none. */
void json_add_controllers(cJSON *object, const char *key, unsigned controllers);

/* What can be read back, without trusting a type. */
const cJSON *json_get(const cJSON *object, const char *key);
const char *json_string(const cJSON *object, const char *key); /* NULL where there is no string */
int64_t json_number(const cJSON *object, const char *key);     /* 0 where there is no number; bounded as above */
int json_length(const cJSON *object, const char *key);         /* of an array, else 0 */

#endif
