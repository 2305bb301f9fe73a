/* From texts to what is compared: variables get values, patterns their spellings, addresses and calls their form. */
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "policy/complain.h"
#include "policy/rules.h"
#include "policy/spelling.h"
#include "policy/variables.h"

#include <errno.h>
#include <string.h>

/* What the variable at the start of `text` stands for, quoted, with the rest behind it; NULL where it has no value. */
static char *insert_variable(const char *text, const struct policy_variables *variables)
{
	enum variable variable;
	size_t length;
	bug_unless(variable_read(text, &variable, &length, NULL) == 0); /* policy_load has checked it */
	const char *value = variable_value(variables, variable);
	if (!value)
		return NULL;
	auto_free char *quoted = pattern_quote(value);
	bool root = strcmp(quoted, "/") == 0 && text[length] == '/';
	return text_format("%s%s", root ? "" : quoted, text + length);
}

/* The cwd holds no links, so that going up is cutting off its last component. */
static char *absolute_text(const char *text, const char *cwd)
{
	auto_free char *folder = text_duplicate(cwd);
	for (;;) {
		size_t up = strcmp(text, "..") == 0 ? 2 : strncmp(text, "../", 3) == 0 ? 3 : 0;
		size_t here = strcmp(text, ".") == 0 ? 1 : strncmp(text, "./", 2) == 0 ? 2 : 0;
		if (up == 0 && here == 0)
			break;
		if (up > 0)
			*strrchr(folder, '/') = '\0';
		if (folder[0] == '\0')
			strcpy(folder, "/");
		text += up + here;
	}
	auto_free char *quoted = pattern_quote(folder);
	bool root = strcmp(quoted, "/") == 0;
	if (*text == '\0')
		return text_duplicate(quoted);
	return text_format("%s/%s", root ? "" : quoted, text);
}

/* ---- by kind of list ---- */

static int add_pattern(struct rule *rule, const char *text, struct error *error)
{
	struct path_pattern *pattern;
	int result = pattern_compile(text, &pattern, error);
	if (result != 0)
		return result;
	rule->patterns = memory_resized(rule->patterns, rule->pattern_count + 1, sizeof(struct path_pattern *));
	rule->patterns[rule->pattern_count++] = pattern;
	return 0;
}

/* Compiles the spellings of `text` from the number `first` on. */
static int add_spellings(struct rule *rule, const char *text, size_t first, struct error *error)
{
	struct spellings spellings;
	int result = 0;
	spellings_find(text, &spellings);
	for (size_t i = first; i < spellings.count && result == 0; i++)
		result = add_pattern(rule, spellings.texts[i], error);
	spellings_free(&spellings);
	return result;
}

static int bind_path(struct rule *rule, enum rule_list list, const struct policy_variables *variables, struct error *error)
{
	rule->folders_only = rule_is_folders_only(list, rule->text);
	auto_free char *written = text_duplicate_bytes(rule->text, strlen(rule->text) - rule->folders_only);
	auto_free char *text = NULL;
	if (variable_leads(written))
		text = insert_variable(written, variables);
	else if (written[0] == '/')
		text = text_duplicate(written);
	else if (variables->start || variables->cwd)
		text = absolute_text(written, variables->start ? variables->start : variables->cwd);
	else
		return error_set(error, EINVAL, "a relative path, and no working directory");
	rule->dropped = !text;
	return text ? add_spellings(rule, text, 0, error) : 0;
}

static int bind_address(struct rule *rule, enum rule_list list, const struct policy_variables *variables,
			struct error *error)
{
	const char *place = rule_variable_place(list, rule->text);
	auto_free char *inserted = place ? insert_variable(place, variables) : NULL;
	auto_free char *text = place ? text_format("unix:%s", inserted ? inserted : "") : text_duplicate(rule->text);
	rule->dropped = place && !inserted;
	if (rule->dropped)
		return 0;
	int result = address_pattern_parse(text, &rule->address, error);
	if (result != 0 || rule->address.kind != ADDRESS_UNIX_PATH)
		return result;
	return add_spellings(rule, pattern_text(rule->address.path), 1, error);
}

static int bind_call(struct rule *rule)
{
	const struct syscall_row *row = syscall_by_name(rule->text);
	bug_unless(row);
	rule->syscall_number = row->number;
	return 0;
}

static int bind_rule(struct rule *rule, enum rule_list list, const struct policy_variables *variables,
		     struct error *error)
{
	struct error inner = { 0 };
	int result;
	if (rule_list_is_path(list))
		result = bind_path(rule, list, variables, &inner);
	else if (list == LIST_CONNECT || list == LIST_BIND)
		result = bind_address(rule, list, variables, &inner);
	else
		result = bind_call(rule);
	return result == 0 ? 0 : complain_at(error, &rule->position, "%s", inner.message);
}

/* A value that is no clean absolute path would make entries that match nothing, deny entries among them. */
static int check_values(const struct policy_variables *variables, struct error *error)
{
	for (unsigned i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = variable_value(variables, (enum variable)i);
		if (value && !variable_value_is_normal(value))
			return error_set(error, EINVAL, "the value of ${%s} is no clean absolute path: \"%.200s\"",
					 variable_name((enum variable)i), value);
	}
	return 0;
}

int policy_bind(struct policy *policy, const struct policy_variables *variables, struct error *error)
{
	int result = check_values(variables, error);
	for (unsigned list = 0; list < LIST_COUNT; list++)
		for (size_t i = 0; i < policy->lists[list].count && result == 0; i++)
			result = bind_rule(&policy->lists[list].items[i], (enum rule_list)list, variables, error);
	return result;
}
