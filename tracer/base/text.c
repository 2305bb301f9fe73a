#include "base/text.h"

#include "base/bug.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTANCE_MAX_BYTES = 64 };

static const char replacement_character[] = "\xEF\xBF\xBD"; /* U+FFFD */

void text_free(struct text *text)
{
	free(text->bytes);
	*text = (struct text){ 0 };
}

static void text_reserve(struct text *text, size_t extra)
{
	if (extra > SIZE_MAX / 2 - text->length)
		bug("text too long");
	size_t needed = text->length + extra + 1;
	if (needed <= text->capacity)
		return;
	size_t capacity = text->capacity ? text->capacity : 64;
	while (capacity < needed)
		capacity *= 2;
	text->bytes = memory_resized(text->bytes, capacity, 1);
	text->capacity = capacity;
}

void text_append_bytes(struct text *text, const void *bytes, size_t length)
{
	text_reserve(text, length);
	if (length)
		memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

void text_append(struct text *text, const char *string)
{
	text_append_bytes(text, string, strlen(string));
}

void text_vprintf(struct text *text, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, arguments);
	if (length < 0)
		bug("bad format");
	text_reserve(text, (size_t)length);
	vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
	text->length += (size_t)length;
	va_end(again);
}

void text_printf(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	text_vprintf(text, format, arguments);
	va_end(arguments);
}

const char *text_string(const struct text *text)
{
	return text->bytes ? text->bytes : "";
}

/* Table 3-7 of the Unicode standard: the second byte's range depends on the first. */
size_t utf8_sequence_length(const void *bytes, size_t length)
{
	const unsigned char *b = bytes;
	if (length == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;

	size_t wanted;
	unsigned char low = 0x80, high = 0xBF;
	if (b[0] >= 0xC2 && b[0] <= 0xDF) {
		wanted = 2;
	} else if (b[0] >= 0xE0 && b[0] <= 0xEF) {
		wanted = 3;
		if (b[0] == 0xE0)
			low = 0xA0;
		if (b[0] == 0xED)
			high = 0x9F;
	} else if (b[0] >= 0xF0 && b[0] <= 0xF4) {
		wanted = 4;
		if (b[0] == 0xF0)
			low = 0x90;
		if (b[0] == 0xF4)
			high = 0x8F;
	} else {
		return 0;
	}
	if (length < wanted || b[1] < low || b[1] > high)
		return 0;
	for (size_t i = 2; i < wanted; i++)
		if (b[i] < 0x80 || b[i] > 0xBF)
			return 0;
	return wanted;
}

bool utf8_valid(const void *bytes, size_t length)
{
	const char *at = bytes;
	while (length > 0) {
		size_t step = utf8_sequence_length(at, length);
		if (step == 0)
			return false;
		at += step;
		length -= step;
	}
	return true;
}

static void append_json_ascii(struct text *text, unsigned char byte)
{
	switch (byte) {
	case '"': text_append(text, "\\\""); break;
	case '\\': text_append(text, "\\\\"); break;
	case '\n': text_append(text, "\\n"); break;
	case '\r': text_append(text, "\\r"); break;
	case '\t': text_append(text, "\\t"); break;
	default:
		if (byte < 0x20 || byte == 0x7F)
			text_printf(text, "\\u%04x", byte);
		else
			text_append_bytes(text, &byte, 1);
	}
}

void text_append_json_string(struct text *text, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	text_append(text, "\"");
	while (length > 0) {
		size_t step = utf8_sequence_length(at, length);
		if (step == 0) {
			text_append(text, replacement_character);
			step = 1;
		} else if (step == 1) {
			append_json_ascii(text, *at);
		} else {
			text_append_bytes(text, at, step);
		}
		at += step;
		length -= step;
	}
	text_append(text, "\"");
}

/* C1 controls are U+0080 to U+009F: C2 80 to C2 9F. */
static bool is_control(const unsigned char *at, size_t step)
{
	return (step == 1 && (*at < 0x20 || *at == 0x7F)) || (step == 2 && at[0] == 0xC2 && at[1] < 0xA0);
}

/* What changes the order or the lines of the text around it, and is seen by nobody: the explicit directional formatting
 * characters of Unicode's annex 9 (marks U+061C, U+200E, U+200F; embeddings and overrides U+202A to U+202E; isolates
 * U+2066 to U+2069) and the line and paragraph separators U+2028 and U+2029. */
static bool is_reordering(const unsigned char *at, size_t step)
{
	if (step == 2)
		return at[0] == 0xD8 && at[1] == 0x9C;
	if (step != 3 || at[0] != 0xE2)
		return false;
	if (at[1] == 0x80)
		return at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xA8 && at[2] <= 0xAE);
	return at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9;
}

void text_append_visible(struct text *text, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	while (length > 0) {
		size_t step = utf8_sequence_length(at, length);
		if (step == 0) {
			text_append(text, replacement_character);
			step = 1;
		} else if (is_control(at, step) || is_reordering(at, step)) {
			for (size_t i = 0; i < step; i++)
				text_printf(text, "\\x%02x", at[i]);
		} else {
			text_append_bytes(text, at, step);
		}
		at += step;
		length -= step;
	}
}

void text_append_base64(struct text *text, const void *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = bytes;
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t group = (uint32_t)at[i] << 16;
		if (left > 1)
			group |= (uint32_t)at[i + 1] << 8;
		if (left > 2)
			group |= at[i + 2];
		char out[4] = { digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
				left > 2 ? digits[group & 63] : '=' };
		text_append_bytes(text, out, sizeof(out));
	}
}

char *text_duplicate_bytes(const void *bytes, size_t length)
{
	char *copy = memory_zeroed(length + 1, 1);
	if (length)
		memcpy(copy, bytes, length);
	return copy;
}

char *text_duplicate(const char *string)
{
	return text_duplicate_bytes(string, strlen(string));
}

char *text_format(const char *format, ...)
{
	struct text text = { 0 };
	va_list arguments;
	va_start(arguments, format);
	text_vprintf(&text, format, arguments);
	va_end(arguments);
	return text.bytes;
}

void *memory_zeroed(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);
	if (!memory)
		bug("out of memory");
	return memory;
}

void *memory_resized(void *old, size_t count, size_t size)
{
	void *memory = reallocarray(old, count ? count : 1, size ? size : 1);
	if (!memory)
		bug("out of memory");
	return memory;
}

bool text_copy(char *target, size_t capacity, const char *source)
{
	size_t length = strlen(source);
	bool fits = length < capacity;
	if (!fits)
		length = capacity - 1;
	memcpy(target, source, length);
	target[length] = '\0';
	return fits;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;
	return least < c ? least : c;
}

unsigned text_distance(const char *left, const char *right)
{
	size_t rows = strnlen(left, DISTANCE_MAX_BYTES), columns = strnlen(right, DISTANCE_MAX_BYTES);
	unsigned table[DISTANCE_MAX_BYTES + 1][DISTANCE_MAX_BYTES + 1];
	for (size_t i = 0; i <= rows; i++)
		table[i][0] = (unsigned)i;
	for (size_t j = 0; j <= columns; j++)
		table[0][j] = (unsigned)j;
	for (size_t i = 1; i <= rows; i++) {
		for (size_t j = 1; j <= columns; j++) {
			unsigned replace = table[i - 1][j - 1] + (left[i - 1] != right[j - 1]);
			table[i][j] = smallest(table[i - 1][j] + 1, table[i][j - 1] + 1, replace);
			bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
			if (swapped && table[i - 2][j - 2] + 1 < table[i][j])
				table[i][j] = table[i - 2][j - 2] + 1;
		}
	}
	return table[rows][columns];
}
