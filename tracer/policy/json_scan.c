#include "policy/json_scan.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scanner {
	const char *text;
	size_t length, at;
	unsigned line;
	size_t line_start;
	unsigned depth;
	enum json_form form;
	bool *zero; /* where to note \u0000 instead of refusing it; NULL: refuse */
	struct json_scan *scan;
	struct json_fault *fault;
};

/* ---- positions and faults ---- */

static unsigned scanner_column(const struct scanner *scanner, size_t at)
{
	return (unsigned)(at - scanner->line_start) + 1;
}

__attribute__((format(printf, 3, 4))) static int fail_at(struct scanner *scanner, size_t at, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	scanner->fault->line = scanner->line;
	scanner->fault->column = scanner_column(scanner, at);
	vsnprintf(scanner->fault->what, sizeof(scanner->fault->what), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static int peek(const struct scanner *scanner)
{
	return scanner->at < scanner->length ? (unsigned char)scanner->text[scanner->at] : -1;
}

/* "found x" at the point reached, in words that are safe to print. */
static int fail_found(struct scanner *scanner, const char *wanted)
{
	int byte = peek(scanner);
	if (byte < 0)
		return fail_at(scanner, scanner->at, "%s, but the text ends here", wanted);
	if (byte > ' ' && byte < 0x7F)
		return fail_at(scanner, scanner->at, "%s, not '%c'", wanted, byte);
	return fail_at(scanner, scanner->at, "%s, not the byte 0x%02x", wanted, (unsigned)byte);
}

static void new_line(struct scanner *scanner)
{
	scanner->line++;
	scanner->line_start = scanner->at + 1;
}

/* ---- bytes that no JSON text holds ---- */

static int check_bytes(struct scanner *scanner)
{
	if (scanner->length >= 3 && memcmp(scanner->text, "\xEF\xBB\xBF", 3) == 0)
		return fail_at(scanner, 0, "the text starts with a byte order mark");
	while (scanner->at < scanner->length) {
		size_t step = utf8_sequence_length(scanner->text + scanner->at, scanner->length - scanner->at);
		if (step == 0)
			return fail_at(scanner, scanner->at, "not UTF-8");
		if (scanner->text[scanner->at] == '\0')
			return fail_at(scanner, scanner->at, "a zero byte");
		if (scanner->text[scanner->at] == '\n')
			new_line(scanner);
		scanner->at += step;
	}
	scanner->at = 0;
	scanner->line = 1;
	scanner->line_start = 0;
	return 0;
}

/* ---- white space and comments ---- */

static void blank(struct scanner *scanner)
{
	if (peek(scanner) == '\n')
		new_line(scanner);
	else
		scanner->scan->blanked[scanner->at] = ' ';
	scanner->at++;
}

static void skip_line_comment(struct scanner *scanner)
{
	while (scanner->at < scanner->length && peek(scanner) != '\n')
		blank(scanner);
}

static int skip_block_comment(struct scanner *scanner)
{
	struct scanner start = *scanner;
	blank(scanner);
	blank(scanner);
	while (scanner->at + 1 < scanner->length) {
		if (peek(scanner) == '*' && scanner->text[scanner->at + 1] == '/') {
			blank(scanner);
			blank(scanner);
			return 0;
		}
		blank(scanner);
	}
	return fail_at(&start, start.at, "a comment begins here and never ends");
}

static int skip_comment(struct scanner *scanner)
{
	char next = scanner->at + 1 < scanner->length ? scanner->text[scanner->at + 1] : '\0';
	if (next == '*')
		return skip_block_comment(scanner);
	if (next != '/')
		return fail_at(scanner, scanner->at, "a '/' that begins no comment");
	skip_line_comment(scanner);
	return 0;
}

static int skip_space(struct scanner *scanner)
{
	for (;;) {
		int byte = peek(scanner);
		if (byte == '\n')
			new_line(scanner);
		if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n')
			scanner->at++;
		else if (byte != '/' || scanner->form != JSON_POLICY)
			return 0;
		else if (skip_comment(scanner) != 0)
			return -EINVAL;
	}
}

/* ---- strings ---- */

static int read_hex4(const struct scanner *scanner, size_t at, unsigned *code)
{
	*code = 0;
	for (size_t i = at; i < at + 4; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = i < scanner->length ? strchr(digits, scanner->text[i]) : NULL;
		if (!digit || !*digit)
			return -EINVAL;
		*code = *code * 16 + (unsigned)(digit - digits) % 16;
	}
	return 0;
}

/* At the backslash of \uXXXX. A surrogate comes as a pair or not at all. */
static int scan_unicode_escape(struct scanner *scanner)
{
	enum { ESCAPE_BYTES = 6 };
	size_t start = scanner->at;
	unsigned code, low;
	if (read_hex4(scanner, start + 2, &code) != 0)
		return fail_at(scanner, start, "\\u takes four hexadecimal digits");
	if (code == 0 && !scanner->zero)
		return fail_at(scanner, start, "a zero byte, written \\u0000");
	if (code == 0)
		*scanner->zero = true;
	scanner->at += ESCAPE_BYTES;
	if (code < 0xD800 || code > 0xDFFF)
		return 0;
	bool follows = scanner->at + 1 < scanner->length && memcmp(scanner->text + scanner->at, "\\u", 2) == 0;
	if (code > 0xDBFF || !follows || read_hex4(scanner, scanner->at + 2, &low) != 0 || low < 0xDC00 || low > 0xDFFF)
		return fail_at(scanner, start, "half of a surrogate pair");
	scanner->at += ESCAPE_BYTES;
	return 0;
}

static int scan_escape(struct scanner *scanner)
{
	char kind = scanner->at + 1 < scanner->length ? scanner->text[scanner->at + 1] : '\0';
	if (kind == 'u')
		return scan_unicode_escape(scanner);
	if (kind == '\0' || !strchr("\"\\/bfnrt", kind))
		return fail_at(scanner, scanner->at, "no such escape in a string; a backslash itself is written \\\\");
	scanner->at += 2;
	return 0;
}

static int scan_string(struct scanner *scanner)
{
	size_t start = scanner->at++;
	for (;;) {
		int byte = peek(scanner);
		if (byte < 0 || byte == '\n')
			return fail_at(scanner, start, "a string begins here and has no '\"' at its end");
		if (byte < ' ')
			return fail_at(scanner, scanner->at,
				       "a control character (0x%02x) in a string; write it as an escape",
				       (unsigned)byte);
		if (byte == '\\') {
			if (scan_escape(scanner) != 0)
				return -EINVAL;
			continue;
		}
		scanner->at++;
		if (byte == '"')
			return 0;
	}
}

/* ---- numbers and words ---- */

static size_t skip_digits(struct scanner *scanner)
{
	size_t start = scanner->at;
	while (peek(scanner) >= '0' && peek(scanner) <= '9')
		scanner->at++;
	return scanner->at - start;
}

static int scan_fraction_and_exponent(struct scanner *scanner)
{
	if (peek(scanner) == '.') {
		scanner->at++;
		if (skip_digits(scanner) == 0)
			return fail_found(scanner, "a digit belongs behind the '.'");
	}
	if (peek(scanner) == 'e' || peek(scanner) == 'E') {
		scanner->at++;
		if (peek(scanner) == '+' || peek(scanner) == '-')
			scanner->at++;
		if (skip_digits(scanner) == 0)
			return fail_found(scanner, "a digit belongs into the exponent");
	}
	return 0;
}

static int scan_number(struct scanner *scanner)
{
	size_t start = scanner->at;
	if (peek(scanner) == '-')
		scanner->at++;
	bool zero = peek(scanner) == '0';
	size_t digits = skip_digits(scanner);
	if (digits == 0)
		return fail_found(scanner, "a digit belongs here");
	if (zero && digits > 1)
		return fail_at(scanner, start, "a number does not start with 0");
	if (scan_fraction_and_exponent(scanner) != 0)
		return -EINVAL;
	char *number = text_duplicate_bytes(scanner->text + start, scanner->at - start);
	bool finite = isfinite(strtod(number, NULL));
	free(number);
	return finite ? 0 : fail_at(scanner, start, "the number is out of range");
}

static int scan_word(struct scanner *scanner)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t length = 0;
	while (scanner->at + length < scanner->length && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
								 scanner->text[scanner->at + length]))
		length++;
	const char *word = scanner->text + scanner->at;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (length == strlen(words[i]) && memcmp(word, words[i], length) == 0) {
			scanner->at += length;
			return 0;
		}
	}
	if (length == 0)
		return fail_found(scanner, "a value belongs here");
	return fail_at(scanner, scanner->at, "%.*s is no value; strings stand in double quotes",
		       length < 40 ? (int)length : 40, word);
}

/* ---- values ---- */

static int scan_value(struct scanner *scanner);

static size_t add_place(struct scanner *scanner)
{
	struct json_scan *scan = scanner->scan;
	if (scan->count == scan->capacity) {
		scan->capacity = scan->capacity ? 2 * scan->capacity : 64;
		scan->places = memory_resized(scan->places, scan->capacity, sizeof(*scan->places));
	}
	scan->places[scan->count] =
		(struct json_place){ .line = scanner->line, .column = scanner_column(scanner, scanner->at) };
	return scan->count++;
}

/* Reads `"key" :` and leaves the scanner at the value. */
static int scan_key(struct scanner *scanner, struct json_place *key)
{
	if (peek(scanner) != '"')
		return fail_found(scanner, "a key in double quotes belongs here");
	key->key_line = scanner->line;
	key->key_column = scanner_column(scanner, scanner->at);
	if (scan_string(scanner) != 0 || skip_space(scanner) != 0)
		return -EINVAL;
	if (peek(scanner) != ':')
		return fail_found(scanner, "a ':' belongs behind the key");
	scanner->at++;
	return skip_space(scanner);
}

static int scan_element(struct scanner *scanner, bool keyed, size_t *last)
{
	struct json_place key = { 0 };
	if (keyed && scan_key(scanner, &key) != 0)
		return -EINVAL;
	size_t place = scanner->scan->count;
	if (scan_value(scanner) != 0)
		return -EINVAL;
	scanner->scan->places[place].key_line = key.key_line;
	scanner->scan->places[place].key_column = key.key_column;
	if (*last)
		scanner->scan->places[*last].next = place;
	*last = place;
	return skip_space(scanner);
}

/* The inside of a list or an object, from behind its bracket to behind the closing one. */
static int scan_elements(struct scanner *scanner, bool keyed)
{
	char close = keyed ? '}' : ']';
	size_t last = 0; /* never the place of an element: place 0 is the document */
	if (skip_space(scanner) != 0)
		return -EINVAL;
	if (peek(scanner) == close)
		return 0;
	for (;;) {
		if (scan_element(scanner, keyed, &last) != 0)
			return -EINVAL;
		if (peek(scanner) == close)
			return 0;
		if (peek(scanner) != ',')
			return fail_found(scanner, keyed ? "a ',' or '}' belongs behind the value"
							 : "a ',' or ']' belongs behind the value");
		scanner->at++;
		if (skip_space(scanner) != 0)
			return -EINVAL;
		if (peek(scanner) == close)
			return fail_at(scanner, scanner->at, "a ',' with nothing behind it");
	}
}

static int scan_container(struct scanner *scanner, bool keyed)
{
	if (scanner->depth == JSON_MAX_DEPTH)
		return fail_at(scanner, scanner->at, "more than %d levels", JSON_MAX_DEPTH);
	scanner->depth++;
	scanner->at++;
	if (scan_elements(scanner, keyed) != 0)
		return -EINVAL;
	scanner->at++;
	scanner->depth--;
	return 0;
}

/* Keys never come here: with a zero byte in one, two keys could be equal for one reader and not for the next. */
static int scan_string_value(struct scanner *scanner, size_t place)
{
	if (scanner->form == JSON_PLAIN)
		scanner->zero = &scanner->scan->places[place].zero;
	int result = scan_string(scanner);
	scanner->zero = NULL;
	return result;
}

static int scan_value(struct scanner *scanner)
{
	int byte = peek(scanner);
	size_t place = add_place(scanner);
	if (byte == '{' || byte == '[')
		return scan_container(scanner, byte == '{');
	if (byte == '"')
		return scan_string_value(scanner, place);
	if (byte == '-' || (byte >= '0' && byte <= '9'))
		return scan_number(scanner);
	return scan_word(scanner);
}

static int scan_document(struct scanner *scanner)
{
	if (check_bytes(scanner) != 0 || skip_space(scanner) != 0 || scan_value(scanner) != 0 ||
	    skip_space(scanner) != 0)
		return -EINVAL;
	if (scanner->at < scanner->length)
		return fail_found(scanner, "nothing belongs behind the value");
	return 0;
}

int json_scan(const char *text, size_t length, enum json_form form, struct json_scan *scan, struct json_fault *fault)
{
	*scan = (struct json_scan){ 0 };
	*fault = (struct json_fault){ .line = 1, .column = 1 };
	struct scanner scanner = { .text = text, .length = length, .line = 1, .form = form, .scan = scan, .fault = fault };
	if (form == JSON_POLICY && length > JSON_MAX_BYTES)
		return fail_at(&scanner, 0, "the text is larger than 1 MiB");
	scan->blanked = text_duplicate_bytes(text, length);
	int result = scan_document(&scanner);
	if (result != 0)
		json_scan_free(scan);
	return result;
}

void json_scan_free(struct json_scan *scan)
{
	free(scan->blanked);
	free(scan->places);
	*scan = (struct json_scan){ 0 };
}
