#include "policy/pattern.h"

#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path of PATH_MAX bytes, each of them quoted. */
enum { PATTERN_MAX_BYTES = 8192 };

enum component_kind { COMPONENT_LITERAL, COMPONENT_GLOB, COMPONENT_DEEP /* two stars: any number of components */ };

struct component {
	enum component_kind kind;
	size_t length;
	const char *bytes; /* literal: without its quoting; glob: as written */
};

struct path_pattern {
	const char *text;
	bool proc_self; /* begins with the literal components "proc" and "self" */
	size_t count;
	struct component components[]; /* behind them the bytes that they point to */
};

/* One component of a path: a stretch of it, empty at its end. */
struct piece {
	const char *bytes;
	size_t length;
};

static struct piece piece_at(const char *at)
{
	while (*at == '/')
		at++;
	return (struct piece){ at, strcspn(at, "/") };
}

static struct piece piece_next(struct piece piece)
{
	return piece_at(piece.bytes + piece.length);
}

/* ---- the language within one component ---- */

static const char unclosed[] = "'[' has no ']' in its component";

/* One byte of a class, quoted or not. */
static const char *class_byte(const char *at, const char *end, unsigned char *byte, const char **wrong)
{
	if (at < end && *at == '\\')
		at++;
	if (at >= end || *at == '/') {
		*wrong = unclosed;
		return NULL;
	}
	*byte = (unsigned char)*at;
	if (*byte >= 0x80) {
		*wrong = "a class holds single bytes, and this character has more than one";
		return NULL;
	}
	return at + 1;
}

/* Reads one item of a class, a byte or a range, and returns where the next begins. */
static const char *class_item(const char *at, const char *end, unsigned char byte, bool *inside, const char **wrong)
{
	if (end - at >= 2 && *at == '[' && strchr(":.=", at[1])) {
		*wrong = "named classes such as [[:alpha:]] are not known";
		return NULL;
	}
	unsigned char low, high;
	at = class_byte(at, end, &low, wrong);
	if (!at)
		return NULL;
	high = low;
	if (end - at >= 2 && at[0] == '-' && at[1] != ']') {
		at = class_byte(at + 1, end, &high, wrong);
		if (!at)
			return NULL;
	}
	if (high < low) {
		*wrong = "a range in a class runs backwards";
		return NULL;
	}
	*inside |= byte >= low && byte <= high;
	return at;
}

/* Walks a class from behind its `[`; returns what stands behind its `]`, or NULL with `wrong`. Used to check a pattern
 * and to match it, so that the two cannot disagree about where a class ends. */
static const char *class_walk(const char *at, const char *end, unsigned char byte, bool *matched, const char **wrong)
{
	bool inside = false;
	bool negated = at < end && (*at == '!' || *at == '^');
	at += negated;
	bool first = true; /* a `]` in front stands for itself */
	while (at < end && (first || *at != ']')) {
		at = class_item(at, end, byte, &inside, wrong);
		if (!at)
			return NULL;
		first = false;
	}
	if (at >= end) {
		*wrong = unclosed;
		return NULL;
	}
	*matched = inside != negated;
	return at + 1;
}

/* Matches one byte against the unit at `at`, which is no star; returns what follows it, NULL where it differs. */
static const char *unit_match(const char *at, const char *end, unsigned char byte)
{
	const char *wrong;
	bool matched;
	switch (*at) {
	case '?':
		return at + 1;
	case '[':
		at = class_walk(at + 1, end, byte, &matched, &wrong);
		return at && matched ? at : NULL;
	case '\\':
		at++;
		break;
	default:
		break;
	}
	return at < end && (unsigned char)*at == byte ? at + 1 : NULL;
}

/* Only the last star is ever tried again: what an earlier one could still take, the last one can take as well. */
static bool glob_matches(struct piece glob, struct piece name)
{
	const char *at = glob.bytes, *end = glob.bytes + glob.length;
	const char *byte = name.bytes, *name_end = name.bytes + name.length;
	const char *star = NULL, *retry = NULL;
	while (byte < name_end) {
		if (at < end && *at == '*') {
			star = ++at;
			retry = byte;
			continue;
		}
		const char *next = at < end ? unit_match(at, end, (unsigned char)*byte) : NULL;
		if (!next && !star)
			return false;
		at = next ? next : star;
		byte = next ? byte + 1 : ++retry;
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}

/* ---- compiling ---- */

/* Steps over one unit of a component; sets `glob` where it is more than one literal byte. NULL with `wrong`. */
static const char *unit_check(const char *at, const char *end, bool *glob, const char **wrong)
{
	bool matched;
	switch (*at) {
	case '*':
	case '?':
		*glob = true;
		return at + 1;
	case '[':
		*glob = true;
		return class_walk(at + 1, end, 0, &matched, wrong);
	case '\\':
		if (at + 1 < end && at[1] != '/')
			return at + 2;
		*wrong = "'\\' quotes nothing";
		return NULL;
	case '{':
		*wrong = "'{' has no meaning here; write one entry for each, or \\{ for the character";
		return NULL;
	case '$':
		*wrong = "a variable stands only at the beginning, as ${NAME}; write \\$ for the character";
		return NULL;
	default:
		return at + 1;
	}
}

static bool is_double_star(struct piece text)
{
	return text.length == 2 && memcmp(text.bytes, "**", 2) == 0;
}

static const char *component_refuse(struct piece text, bool stars_meet)
{
	if (text.length == 0)
		return "an empty component: write a single '/', and none at the end; \"/dir/**\" is the folder and all of it";
	if ((text.length == 1 && text.bytes[0] == '.') || (text.length == 2 && memcmp(text.bytes, "..", 2) == 0))
		return "'.' and '..' never occur in a canonical path";
	if (stars_meet && !is_double_star(text))
		return "'**' stands alone between slashes; write \"/**/*.py\" for files at any depth";
	return NULL;
}

/* Reads the component at `at`; returns its end, or NULL with `wrong` and `at` left where it is wrong. */
static const char *component_read(const char **at, const char *end, struct component *component, const char **wrong)
{
	const char *start = *at;
	bool glob = false, star = false, stars_meet = false;
	while (*at < end && **at != '/') {
		const char *next = unit_check(*at, end, &glob, wrong);
		if (!next)
			return NULL;
		stars_meet |= star && **at == '*';
		star = **at == '*';
		*at = next;
	}
	struct piece text = { start, (size_t)(*at - start) };
	*wrong = component_refuse(text, stars_meet);
	if (*wrong) {
		*at = start;
		return NULL;
	}
	enum component_kind kind = is_double_star(text) ? COMPONENT_DEEP : glob ? COMPONENT_GLOB : COMPONENT_LITERAL;
	*component = (struct component){ kind, text.length, text.bytes };
	return *at;
}

static size_t unquote(char *target, const char *bytes, size_t length)
{
	size_t written = 0;
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\\' && i + 1 < length)
			i++;
		target[written++] = bytes[i];
	}
	return written;
}

static bool component_is(const struct component *component, const char *literal)
{
	return component->kind == COMPONENT_LITERAL && component->length == strlen(literal) &&
	       memcmp(component->bytes, literal, component->length) == 0;
}

/* One block: the components, a copy of the text, and room for the literal components without their quoting. */
static struct path_pattern *pattern_allocate(const char *text, size_t length, char **unquoted)
{
	size_t most = 1;
	for (size_t i = 0; i < length; i++)
		most += text[i] == '/';
	size_t components = most * sizeof(struct component);
	struct path_pattern *pattern = memory_zeroed(1, sizeof(*pattern) + components + 2 * (length + 1));
	char *copy = (char *)pattern + sizeof(*pattern) + components;
	memcpy(copy, text, length + 1);
	pattern->text = copy;
	*unquoted = copy + length + 1;
	return pattern;
}

static const char *pattern_fill(struct path_pattern *pattern, const char *end, char *unquoted, const char **at)
{
	const char *wrong = NULL;
	*at = pattern->text + 1;
	bool root = *at == end;
	while (!root) {
		struct component *component = &pattern->components[pattern->count];
		if (!component_read(at, end, component, &wrong))
			return wrong;
		if (component->kind == COMPONENT_LITERAL) {
			component->length = unquote(unquoted, component->bytes, component->length);
			component->bytes = unquoted;
			unquoted += component->length;
		}
		pattern->count++;
		if (*at == end)
			break;
		++*at;
	}
	return NULL;
}

int pattern_compile(const char *text, struct path_pattern **pattern, struct error *error)
{
	*pattern = NULL;
	size_t length = strnlen(text, PATTERN_MAX_BYTES + 1);
	if (length > PATTERN_MAX_BYTES)
		return error_set(error, EINVAL, "the pattern is longer than %d bytes", PATTERN_MAX_BYTES);
	if (text[0] != '/')
		return error_set(error, EINVAL, "a pattern starts with '/'");

	char *unquoted;
	struct path_pattern *compiled = pattern_allocate(text, length, &unquoted);
	const char *at;
	const char *wrong = pattern_fill(compiled, compiled->text + length, unquoted, &at);
	if (wrong) {
		size_t byte = (size_t)(at - compiled->text) + 1;
		pattern_free(compiled);
		return error_set(error, EINVAL, "%s (at byte %zu of the pattern)", wrong, byte);
	}
	compiled->proc_self = compiled->count >= 2 && component_is(&compiled->components[0], "proc") &&
			      component_is(&compiled->components[1], "self");
	*pattern = compiled;
	return 0;
}

void pattern_free(struct path_pattern *pattern)
{
	free(pattern);
}

const char *pattern_text(const struct path_pattern *pattern)
{
	return pattern->text;
}

/* ---- matching ---- */

/* Digit by digit from the end, without building a text: this is asked for every entry below /proc/self at every open. */
static bool piece_is_number(struct piece name, pid_t number)
{
	size_t left = name.length;
	for (; number > 0 && left > 0; number /= 10)
		if (name.bytes[--left] != (char)('0' + number % 10))
			return false;
	return number == 0 && left == 0;
}

static bool component_matches(const struct path_pattern *pattern, size_t index, struct piece name, pid_t self)
{
	const struct component *component = &pattern->components[index];
	if (component->kind == COMPONENT_GLOB)
		return glob_matches((struct piece){ component->bytes, component->length }, name);
	if (name.length == component->length && memcmp(name.bytes, component->bytes, name.length) == 0)
		return true;
	/* "self" is the process that asks, and no other: compared with its number, never with what a link says. */
	return pattern->proc_self && index == 1 && self > 0 && piece_is_number(name, self);
}

static bool is_deep(const struct path_pattern *pattern, size_t index)
{
	return index < pattern->count && pattern->components[index].kind == COMPONENT_DEEP;
}

/* Components as glob_matches does bytes: only the last double star is tried again, so the cost is bounded by the
 * product of both lengths whatever the pattern. */
bool pattern_matches(const struct path_pattern *pattern, const char *path, pid_t self)
{
	size_t at = 0, deep = 0;
	struct piece retry = { 0 };
	struct piece piece = piece_at(path);
	while (piece.length > 0) {
		if (is_deep(pattern, at)) {
			deep = ++at;
			if (deep == pattern->count)
				return true;
			retry = piece;
		} else if (at < pattern->count && component_matches(pattern, at, piece, self)) {
			at++;
			piece = piece_next(piece);
		} else if (deep > 0) {
			at = deep;
			retry = piece_next(retry);
			piece = retry;
		} else {
			return false;
		}
	}
	while (is_deep(pattern, at))
		at++;
	return at == pattern->count;
}

/* Can the pattern from component `at` on match something below the folder whose components start at `piece`? A double
 * star takes the rest of the folder's path and more. */
static bool reaches(const struct path_pattern *pattern, size_t at, struct piece piece, pid_t self)
{
	for (; at < pattern->count; at++, piece = piece_next(piece)) {
		if (is_deep(pattern, at) || piece.length == 0)
			return true;
		if (!component_matches(pattern, at, piece, self))
			return false;
	}
	return false;
}

bool pattern_reaches_below(const struct path_pattern *pattern, const char *path, pid_t self)
{
	return reaches(pattern, 0, piece_at(path), self);
}

/* Behind a leading double star the rest may begin at any component. What begins below the folder moves with it and
 * still matches; what begins at one of the folder's own components is tied to it. */
bool pattern_tied_to(const struct path_pattern *pattern, const char *path, pid_t self)
{
	if (!is_deep(pattern, 0))
		return pattern_reaches_below(pattern, path, self);
	for (struct piece piece = piece_at(path); piece.length > 0; piece = piece_next(piece))
		if (pattern->count > 1 && reaches(pattern, 1, piece, self))
			return true;
	return false;
}

/* Which components of the pattern may come next, bit by bit, once all of the path's have been matched by those before. */
static uint64_t next_components(const struct path_pattern *pattern, const char *path, pid_t self)
{
	uint64_t now = 1;
	for (struct piece piece = piece_at(path);; piece = piece_next(piece)) {
		uint64_t next = 0;
		for (size_t i = 0; i < pattern->count; i++) {
			if (!(now & UINT64_C(1) << i))
				continue;
			if (is_deep(pattern, i))
				now |= UINT64_C(1) << (i + 1); /* it may stand for none */
			if (is_deep(pattern, i))
				next |= UINT64_C(1) << i;
			else if (piece.length > 0 && component_matches(pattern, i, piece, self))
				next |= UINT64_C(1) << (i + 1);
		}
		if (piece.length == 0)
			return now & ~(UINT64_C(1) << pattern->count);
		now = next;
	}
}

enum { BITS_MAX = 63 };

bool pattern_gains_below(const struct path_pattern *pattern, const char *from, const char *to, pid_t self)
{
	if (pattern->count > BITS_MAX)
		return pattern_reaches_below(pattern, to, self);
	return (next_components(pattern, to, self) & ~next_components(pattern, from, self)) != 0;
}

bool pattern_covers_below(const struct path_pattern *pattern, const char *path, pid_t self)
{
	return pattern->count > 0 && is_deep(pattern, pattern->count - 1) && pattern_matches(pattern, path, self);
}

/* ---- the text of a pattern ---- */

size_t pattern_literal_folder(const char *text)
{
	size_t folder = 0;
	for (size_t i = 0; text[i] && !strchr("*?[", text[i]); i++) {
		if (text[i] == '/')
			folder = i;
		if (text[i] == '\\' && text[i + 1])
			i++;
	}
	return folder;
}

bool pattern_is_literal(const char *text)
{
	for (size_t i = 0; text[i]; i++) {
		if (strchr("*?[", text[i]))
			return false;
		if (text[i] == '\\' && text[i + 1])
			i++;
	}
	return true;
}

char *pattern_quote(const char *path)
{
	struct text quoted = { 0 };
	text_append(&quoted, "");
	for (; *path; path++) {
		if (strchr("*?[]{$\\", *path))
			text_append(&quoted, "\\");
		text_append_bytes(&quoted, path, 1);
	}
	return quoted.bytes;
}

char *pattern_unquote(const char *text, size_t length)
{
	char *plain = text_duplicate_bytes(text, length);
	plain[unquote(plain, text, length)] = '\0';
	return plain;
}

/* ---- how near a path came ---- */

size_t pattern_common_components(const struct path_pattern *pattern, const char *path, pid_t self)
{
	size_t common = 0;
	for (struct piece piece = piece_at(path); piece.length > 0 && common < pattern->count;
	     piece = piece_next(piece)) {
		if (is_deep(pattern, common) || !component_matches(pattern, common, piece, self))
			break;
		common++;
	}
	return common;
}

static void shown(char *target, size_t size, struct piece piece)
{
	enum { SHOWN_BYTES = 40 };
	struct text text = { 0 };
	text_append_visible(&text, piece.bytes, piece.length < SHOWN_BYTES ? piece.length : SHOWN_BYTES);
	if (piece.length > SHOWN_BYTES)
		text_append(&text, "...");
	text_copy(target, size, text_string(&text));
	text_free(&text);
}

void pattern_explain_miss(const struct path_pattern *pattern, const char *path, pid_t self, char *why, size_t size)
{
	size_t common = pattern_common_components(pattern, path, self);
	struct piece piece = piece_at(path);
	for (size_t i = 0; i < common; i++)
		piece = piece_next(piece);

	char wanted[160] = "", found[160];
	shown(found, sizeof(found), piece);
	if (common < pattern->count)
		shown(wanted, sizeof(wanted),
		      (struct piece){ pattern->components[common].bytes, pattern->components[common].length });
	if (is_deep(pattern, common))
		snprintf(why, size, "nothing from component %zu on matches what follows \"**\"", common + 1);
	else if (common == pattern->count)
		snprintf(why, size, "names the folder itself; \"%.80s/**\" is what is below it too",
			 common ? pattern->text : "");
	else if (piece.length == 0)
		snprintf(why, size, "the path ends before component %zu, \"%s\"", common + 1, wanted);
	else
		snprintf(why, size, "component %zu is \"%s\", not \"%s\"", common + 1, found, wanted);
}

/* ---- names that are no paths ---- */

const char *pattern_name_check(const char *glob)
{
	const char *wrong = NULL, *end = glob + strlen(glob);
	bool ignored;
	for (const char *at = glob; at < end;) {
		at = unit_check(at, end, &ignored, &wrong);
		if (!at)
			return wrong;
	}
	return NULL;
}

bool pattern_name_matches(const char *glob, const char *name, size_t length)
{
	return glob_matches((struct piece){ glob, strlen(glob) }, (struct piece){ name, length });
}
