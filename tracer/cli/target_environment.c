#include "cli/target_environment.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/environment.h"

#include <string.h>

extern char **environ;

struct list {
	char **items;
	size_t count;
};

static bool has_name(const char *entry, const char *name, size_t length)
{
	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* Takes `entry` over; it replaces an earlier one of the same name. */
static void put(struct list *list, char *entry)
{
	size_t length = strcspn(entry, "=");
	for (size_t i = 0; i < list->count; i++) {
		if (has_name(list->items[i], entry, length)) {
			free(list->items[i]);
			list->items[i] = entry;
			return;
		}
	}
	list->items = memory_resized(list->items, list->count + 2, sizeof(*list->items));
	list->items[list->count++] = entry;
	list->items[list->count] = NULL;
}

static void put_pair(struct list *list, const char *name, const char *value)
{
	put(list, text_format("%s=%s", name, value));
}

static bool passes(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);
	bool wild = length > 0 && pattern[length - 1] == '*';
	return wild ? strncmp(name, pattern, length - 1) == 0 : strcmp(name, pattern) == 0;
}

static char *name_of(const char *entry)
{
	return text_duplicate_bytes(entry, strcspn(entry, "="));
}

/* A pattern (LC_*) never brings in what makes programs load other code; the policy refuses those by name. */
static void pass_caller_variables(struct list *list, const char *pattern)
{
	for (char **entry = environ; *entry; entry++) {
		auto_free char *name = name_of(*entry);
		if (strchr(*entry, '=') && passes(pattern, name) && !environment_loads_code(name))
			put(list, text_duplicate(*entry));
	}
}

static bool is_wanted(const struct policy *policy, const char *name)
{
	bool wanted = false;
	for (size_t i = 0; i < policy->environment_count; i++) {
		const struct environment_entry *entry = &policy->environment[i];
		if (entry->value && strcmp(entry->name, name) == 0)
			return false; /* the policy's own value is there */
		wanted = wanted || (!entry->value && passes(entry->name, name));
	}
	return wanted;
}

/* Left out without a word, it would be missed for long. */
static void note_left_out(const struct policy *policy, struct run_record *record)
{
	for (char **entry = environ; *entry; entry++) {
		auto_free char *name = name_of(*entry);
		if (environment_loads_code(name) && is_wanted(policy, name))
			record_note(record, "the variable %.100s was not passed on: it makes programs load other code", name);
	}
}

char **target_environment_new(const struct policy *policy, const struct policy_variables *variables, const char *workspace,
			      struct run_record *record)
{
	struct list list = { 0 };
	put_pair(&list, "PATH", "/usr/local/bin:/usr/bin:/bin");
	put_pair(&list, "HOME", workspace ? workspace : "/nonexistent");
	put_pair(&list, "LANG", "C.UTF-8");
	if (workspace)
		put_pair(&list, "TMPDIR", workspace);
	for (size_t i = 0; i < policy->environment_count; i++) {
		const struct environment_entry *entry = &policy->environment[i];
		if (!entry->value) {
			pass_caller_variables(&list, entry->name);
			continue;
		}
		auto_free char *value = policy_expand(entry->value, variables);
		if (value)
			put_pair(&list, entry->name, value);
	}
	note_left_out(policy, record);
	return list.items;
}

void target_environment_free(char **environment)
{
	for (char **entry = environment; entry && *entry; entry++)
		free(*entry);
	free(environment);
}
