/* Items of a verdict's lists in words, one line each. */
#include "verdict/json.h"
#include "verdict/parts.h"

#include <inttypes.h>

bool note_words(const cJSON *note, struct text *line)
{
	const char *text = json_string(note, "text");
	text_append(line, text ? text : "");
	return text;
}

bool artifact_words(const cJSON *artifact, struct text *line)
{
	const char *name = json_string(artifact, "name"), *place = json_string(artifact, "saved_as");
	const char *refused = json_string(artifact, "refused");
	if (!name || (!place && !refused))
		return false;
	if (refused)
		text_printf(line, "%s refused: %s", name, refused);
	else
		text_printf(line, "%s to %s, %" PRId64 " bytes", name, place, json_number(artifact, "bytes"));
	return true;
}
