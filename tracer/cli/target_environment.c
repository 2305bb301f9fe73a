#include "cli/target_environment.h"

#include "base/cleanup.h"
#include "base/text.h"

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

static bool passes(const char *pattern, const char *entry)
{
	size_t length = strlen(pattern), name = strcspn(entry, "=");
	if (length > 0 && pattern[length - 1] == '*')
		return name >= length - 1 && strncmp(entry, pattern, length - 1) == 0;
	return name == length && has_name(entry, pattern, length);
}

/* A pattern (LC_*) never brings in what steers the loader or an interpreter; the policy refuses those by name. */
static bool steers_programs(const char *entry)
{
	return strncmp(entry, "LD_", 3) == 0 || strncmp(entry, "GCONV_PATH=", 11) == 0;
}

static void pass_caller_variables(struct list *list, const char *pattern)
{
	for (char **entry = environ; *entry; entry++)
		if (strchr(*entry, '=') && passes(pattern, *entry) && !steers_programs(*entry))
			put(list, text_duplicate(*entry));
}

char **target_environment_new(const struct policy *policy, const struct policy_variables *variables, const char *workspace)
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
	return list.items;
}

void target_environment_free(char **environment)
{
	for (char **entry = environment; entry && *entry; entry++)
		free(*entry);
	free(environment);
}
