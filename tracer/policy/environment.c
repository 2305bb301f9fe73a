#include "policy/environment.h"

#include "base/text.h"
#include "policy/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What makes a program load or run other code before its own. The caller's value would decide what runs inside, and no
 * reader of the policy could see it: such a variable is written out with "set" or not at all. */
static const char *const loaders[] = {
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "GLIBC_TUNABLES", "BASH_ENV", "ENV",
	"PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
};

static bool passes(const char *entry, const char *name)
{
	size_t length = strlen(entry);
	bool wild = length > 0 && entry[length - 1] == '*';
	return wild ? strncmp(entry, name, length - 1) == 0 : strcmp(entry, name) == 0;
}

static int check_name(const char *name, bool wild_end, struct error *error)
{
	size_t length = strlen(name);
	if (length == 0)
		return error_set(error, EINVAL, "a variable's name is empty");
	if (strchr(name, '='))
		return error_set(error, EINVAL, "a variable's name holds no '=': \"%.60s\"", name);
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7F)
			return error_set(error, EINVAL, "a control character in a variable's name: \"%.60s\"", name);
		if (name[i] == '*' && !(wild_end && i == length - 1))
			return error_set(error, EINVAL,
					 "'*' stands only at the end of a name under \"pass\": \"%.60s\"", name);
	}
	return 0;
}

int environment_check_pass(const char *name, struct error *error)
{
	int result = check_name(name, true, error);
	if (result != 0)
		return result;
	if (strncmp(name, "LD_", 3) == 0)
		return error_set(error, EINVAL,
				 "%.60s steers the dynamic loader and is not passed on; write its value under \"set\"",
				 name);
	for (size_t i = 0; i < sizeof(loaders) / sizeof(*loaders); i++) {
		if (!passes(name, loaders[i]))
			continue;
		if (strcmp(name, loaders[i]) == 0)
			return error_set(
				error, EINVAL,
				"%s makes programs load other code and is not passed on; write its value under \"set\"",
				name);
		return error_set(error, EINVAL, "\"%.60s\" would pass %s on, which makes programs load other code",
				 name, loaders[i]);
	}
	return 0;
}

int environment_check_set(const char *name, const char *value, struct error *error)
{
	int result = check_name(name, false, error);
	return result == 0 ? variables_check(value, error) : result;
}

static void entry_free(struct environment_entry *entry)
{
	free(entry->name);
	free(entry->value);
	free(entry->position.pointer);
}

void environment_add(struct policy *policy, struct environment_entry entry)
{
	for (size_t i = 0; i < policy->environment_count; i++) {
		if (strcmp(policy->environment[i].name, entry.name) != 0)
			continue;
		entry_free(&policy->environment[i]);
		policy->environment[i] = entry;
		return;
	}
	policy->environment = memory_resized(policy->environment, policy->environment_count + 1, sizeof(entry));
	policy->environment[policy->environment_count++] = entry;
}
