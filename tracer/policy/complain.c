#include "policy/complain.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int complain_at(struct error *error, const struct position *position, const char *format, ...)
{
	struct text raw = { 0 }, visible = { 0 };
	if (position->line == 0)
		text_printf(&raw, "%s, argument %u: ", position->file, position->column);
	else
		text_printf(&raw, "%s:%u:%u: ", position->file, position->line, position->column);
	va_list arguments;
	va_start(arguments, format);
	text_vprintf(&raw, format, arguments);
	va_end(arguments);

	text_append_visible(&visible, raw.bytes, raw.length);
	int result = error_set(error, EINVAL, "%s", text_string(&visible));
	text_free(&raw);
	text_free(&visible);
	return result;
}

/* A third of the word may be wrong: "red" is near "read", "exec" begins "execute", "xyz" is near nothing. */
void nearest_offer(struct nearest *nearest, const char *candidate)
{
	enum { PREFIX_BYTES = 3 };
	size_t length = strlen(nearest->word);
	unsigned distance = text_distance(nearest->word, candidate);
	bool begins = length >= PREFIX_BYTES && strncmp(candidate, nearest->word, length) == 0;
	if (!begins && distance > (length + 2) / 3)
		return;
	if (nearest->best && nearest->distance <= distance)
		return;
	nearest->best = candidate;
	nearest->distance = distance;
}

void nearest_format(const struct nearest *nearest, char target[static NEAREST_TEXT])
{
	target[0] = '\0';
	if (nearest->best)
		snprintf(target, NEAREST_TEXT, "; did you mean \"%s\"?", nearest->best);
}
