#include "verdict/json.h"

#include "base/bug.h"
#include "base/cleanup.h"

#include <string.h>

/* 2^53: the largest number up to which a double holds every integer. */
static const int64_t number_max = INT64_C(1) << 53;

cJSON *json_add(cJSON *object, const char *key, cJSON *item)
{
	if (!item || !cJSON_AddItemToObject(object, key, item))
		bug("out of memory");
	return item;
}

cJSON *json_append(cJSON *array, cJSON *item)
{
	if (!item || !cJSON_AddItemToArray(array, item))
		bug("out of memory");
	return item;
}

cJSON *json_add_object(cJSON *object, const char *key)
{
	return json_add(object, key, cJSON_CreateObject());
}

cJSON *json_add_array(cJSON *object, const char *key)
{
	return json_add(object, key, cJSON_CreateArray());
}

cJSON *json_append_object(cJSON *array)
{
	return json_append(array, cJSON_CreateObject());
}

void json_add_null(cJSON *object, const char *key)
{
	json_add(object, key, cJSON_CreateNull());
}

void json_add_bool(cJSON *object, const char *key, bool value)
{
	json_add(object, key, cJSON_CreateBool(value));
}

void json_add_number(cJSON *object, const char *key, int64_t value)
{
	if (value < 0)
		value = 0;
	if (value > number_max)
		value = number_max;
	json_add(object, key, cJSON_CreateNumber((double)value));
}

/* cJSON strings end at a NUL, so a NUL counts as what text cannot hold. */
static bool is_text(const void *bytes, size_t length)
{
	return utf8_valid(bytes, length) && !memchr(bytes, '\0', length);
}

static char *text_of(const void *bytes, size_t length)
{
	struct text text = { 0 };
	const char *at = bytes;
	while (length > 0) {
		size_t step = *at ? utf8_sequence_length(at, length) : 0;
		if (step > 0)
			text_append_bytes(&text, at, step);
		else
			text_append(&text, "\xEF\xBF\xBD"); /* U+FFFD */
		step += step == 0;
		at += step;
		length -= step;
	}
	return text.bytes ? text.bytes : text_duplicate("");
}

static cJSON *string_of(const void *bytes, size_t length)
{
	auto_free char *string = text_of(bytes, length);
	return cJSON_CreateString(string);
}

static cJSON *base64_of(const void *bytes, size_t length)
{
	struct text text = { 0 };
	text_append_base64(&text, bytes, length);
	cJSON *item = cJSON_CreateString(text_string(&text));
	text_free(&text);
	return item;
}

static cJSON *add_base64(cJSON *object, const char *key, cJSON *item)
{
	auto_free char *name = text_format("%s_base64", key);
	return json_add(object, name, item);
}

/* A bound may cut a character: without it the rest is text again. */
static size_t without_cut_character(const char *bytes, size_t length)
{
	for (size_t cut = 1; cut <= 3 && cut <= length; cut++)
		if (utf8_valid(bytes, length - cut))
			return length - cut;
	return length;
}

void json_add_bytes(cJSON *object, const char *key, const void *bytes, size_t length, bool truncated)
{
	if (truncated && !utf8_valid(bytes, length))
		length = without_cut_character(bytes, length);
	json_add(object, key, string_of(bytes, length));
	if (!is_text(bytes, length))
		add_base64(object, key, base64_of(bytes, length));
}

void json_add_record_bytes(cJSON *object, const char *key, const struct record_bytes *bytes)
{
	/* The bound is looked at again: a writer that was killed may have left anything. */
	size_t length = bytes->length < RECORD_PATH_BYTES ? bytes->length : RECORD_PATH_BYTES;
	if (length == 0)
		json_add_null(object, key);
	else
		json_add_bytes(object, key, bytes->bytes, length, bytes->truncated);
}

void json_add_string(cJSON *object, const char *key, const char *string)
{
	if (!string || !*string)
		json_add_null(object, key);
	else
		json_add_bytes(object, key, string, strlen(string), false);
}

void json_add_words(cJSON *object, const char *key, struct json_words words)
{
	cJSON *array = json_add_array(object, key);
	bool all_text = utf8_valid(words.at, (size_t)(words.end - words.at));
	cJSON *exact = all_text ? NULL : add_base64(object, key, cJSON_CreateArray());
	while (words.at < words.end) {
		size_t length = strnlen(words.at, (size_t)(words.end - words.at));
		json_append(array, string_of(words.at, length));
		if (exact)
			json_append(exact, base64_of(words.at, length));
		words.at += length + 1;
	}
}

void json_add_vector(cJSON *object, const char *key, char *const *strings)
{
	struct text text = { 0 };
	for (; strings && *strings; strings++)
		text_append_bytes(&text, *strings, strlen(*strings) + 1);
	const char *bytes = text_string(&text);
	json_add_words(object, key, (struct json_words){ bytes, bytes + text.length });
	text_free(&text);
}

void json_add_controllers(cJSON *object, const char *key, unsigned controllers)
{
	if (!controllers) {
		json_add_null(object, key);
		return;
	}
	cJSON *array = json_add_array(object, key);
	if (controllers & RECORD_CGROUP_MEMORY)
		json_append(array, cJSON_CreateString("memory"));
	if (controllers & RECORD_CGROUP_PIDS)
		json_append(array, cJSON_CreateString("pids"));
}

const cJSON *json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_string(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(json_get(object, key));
}

int64_t json_number(const cJSON *object, const char *key)
{
	const cJSON *item = json_get(object, key);
	if (!cJSON_IsNumber(item) || !(item->valuedouble > 0)) /* a NaN is not above 0 either */
		return 0;
	return item->valuedouble < (double)number_max ? (int64_t)item->valuedouble : number_max;
}

int json_length(const cJSON *object, const char *key)
{
	const cJSON *item = json_get(object, key);
	return cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
}
