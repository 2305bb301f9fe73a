#include "policy/variables.h"

#include "base/text.h"
#include "policy/complain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} rows[VARIABLE_COUNT] = {
	[VARIABLE_WORKSPACE] = { "WORKSPACE", offsetof(struct policy_variables, workspace) },
	[VARIABLE_CWD] = { "CWD", offsetof(struct policy_variables, cwd) },
	[VARIABLE_HOME] = { "HOME", offsetof(struct policy_variables, home) },
	[VARIABLE_SCRIPT] = { "SCRIPT", offsetof(struct policy_variables, script) },
	[VARIABLE_SCRIPT_DIR] = { "SCRIPT_DIR", offsetof(struct policy_variables, script_dir) },
};

const char *variable_name(enum variable variable)
{
	return rows[variable].name;
}

const char *variable_value(const struct policy_variables *variables, enum variable variable)
{
	const char *value;
	memcpy(&value, (const char *)variables + rows[variable].offset, sizeof(value));
	return value;
}

bool variable_leads(const char *text)
{
	return text[0] == '$' && text[1] == '{';
}

static int refuse_unknown(const char *name, size_t length, struct error *error)
{
	char *word = text_duplicate_bytes(name, length);
	char question[NEAREST_TEXT];
	struct nearest nearest = { .word = word };
	struct text known = { 0 };
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		nearest_offer(&nearest, rows[i].name);
		text_printf(&known, "%s${%s}", i ? ", " : "; known variables: ", rows[i].name);
	}
	nearest_format(&nearest, question);
	int result = error_set(error, EINVAL, "unknown variable ${%.60s}%s", word,
			       nearest.best ? question : text_string(&known));
	text_free(&known);
	free(word);
	return result;
}

int variable_read(const char *text, enum variable *variable, size_t *length, struct error *error)
{
	const char *name = text + strlen("${");
	size_t name_length = strcspn(name, "}");
	if (name[name_length] != '}')
		return error_set(error, EINVAL, "\"${\" has no '}'");
	*length = name_length + strlen("${}");
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		if (strlen(rows[i].name) == name_length && memcmp(name, rows[i].name, name_length) == 0) {
			*variable = (enum variable)i;
			return 0;
		}
	}
	return refuse_unknown(name, name_length, error);
}

int variables_check(const char *text, struct error *error)
{
	while ((text = strchr(text, '$'))) {
		enum variable variable;
		size_t length = 1;
		if (text[1] == '$')
			length = 2;
		else if (variable_leads(text) && variable_read(text, &variable, &length, error) != 0)
			return -EINVAL;
		text += length;
	}
	return 0;
}

/* Appends what stands at `text` and returns what follows it; NULL where it is a variable without a value. */
static const char *expand_one(struct text *out, const char *text, const struct policy_variables *variables)
{
	enum variable variable;
	size_t length;
	if (!variable_leads(text)) {
		text_append_bytes(out, text, 1);
		return text[0] == '$' && text[1] == '$' ? text + 2 : text + 1;
	}
	if (variable_read(text, &variable, &length, NULL) != 0 || !variable_value(variables, variable))
		return NULL;
	text_append(out, variable_value(variables, variable));
	return text + length;
}

char *policy_expand(const char *text, const struct policy_variables *variables)
{
	struct text out = { 0 };
	text_append(&out, "");
	while (*text) {
		text = expand_one(&out, text, variables);
		if (!text) {
			text_free(&out);
			return NULL;
		}
	}
	return out.bytes;
}

/* Only the private folder is another one in each run: what lies elsewhere is named as it is. */
char *policy_unexpand(const char *path, const struct policy_variables *variables)
{
	const char *folder = variables ? variables->workspace : NULL;
	size_t length = folder ? strlen(folder) : 0;
	bool below = length > 1 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
	char *quoted = pattern_quote(below ? path + length : path);
	if (!below)
		return quoted;
	char *unexpanded = text_format("${WORKSPACE}%s", quoted);
	free(quoted);
	return unexpanded;
}

bool variable_value_is_normal(const char *value)
{
	if (value[0] != '/')
		return false;
	if (value[1] == '\0')
		return true;
	for (const char *slash = value; slash; slash = strchr(slash + 1, '/')) {
		size_t length = strcspn(slash + 1, "/");
		bool dots = (length == 1 && slash[1] == '.') || (length == 2 && slash[1] == '.' && slash[2] == '.');
		if (length == 0 || dots)
			return false;
	}
	return true;
}
