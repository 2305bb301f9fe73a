#include "verdict/as_option.h"

#include "verdict/json.h"

#include <string.h>

/* The keys of a policy that `run` has an option for. */
static const struct { const char *pointer, *option; } options[] = {
	{ "/paths/read", "--read" },           { "/paths/write", "--write" },
	{ "/paths/execute", "--execute" },     { "/network/connect", "--connect" },
	{ "/network/bind", "--bind" },         { "/limits/wall", "--wall" },
	{ "/limits/cpu", "--cpu" },            { "/limits/memory", "--memory" },
	{ "/limits/processes", "--processes" }, { "/limits/threads", "--threads" },
	{ "/limits/output", "--output" },      { "/limits/file_size", "--file-size" },
	{ "/limits/open_files", "--open-files" },
};

/* Follows a value down to the one thing in it: {"write": ["/a"]} at "/paths" means "/a" at "/paths/write". */
static const cJSON *innermost(const cJSON *value, struct text *pointer)
{
	while (cJSON_IsObject(value) || cJSON_IsArray(value)) {
		if (cJSON_GetArraySize(value) != 1)
			return NULL;
		value = value->child;
		if (value->string)
			text_printf(pointer, "/%s", value->string);
	}
	return value;
}

static const char *option_for(const char *pointer)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		size_t length = strlen(options[i].pointer);
		if (strncmp(pointer, options[i].pointer, length) == 0 && (pointer[length] == '\0' || strcmp(pointer + length, "/-") == 0))
			return options[i].option;
	}
	return NULL;
}

/* Between single quotes a shell takes all of printable ASCII but the quote itself; anything else is left to the policy. */
static bool append_word(struct text *out, const char *word)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:@%+=,";
	for (const char *at = word; *at; at++)
		if (*at < ' ' || *at > '~' || *at == '\'')
			return false;
	bool quoted = *word == '\0' || word[strspn(word, plain)] != '\0';
	text_printf(out, quoted ? "'%s'" : "%s", word);
	return true;
}

bool as_option(const cJSON *suggestion, struct text *out)
{
	struct text pointer = { 0 }, word = { 0 };
	const char *at = json_string(suggestion, "pointer");
	text_append(&pointer, at ? at : "");
	const cJSON *value = innermost(json_get(suggestion, "value"), &pointer);
	const char *option = option_for(text_string(&pointer));
	bool typed = option && cJSON_IsString(value) && append_word(&word, value->valuestring);
	if (typed)
		text_printf(out, "%s %s", option, text_string(&word));
	text_free(&word);
	text_free(&pointer);
	return typed;
}
