#include "policy/environment.h"

#include "base/text.h"
#include "policy/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What makes a program load or run other code before its own; a '*' stands for any ending. The caller's value would decide
 * what runs inside, and no reader of the policy could see it: such a variable is written out with "set" or not at all. */
static const char *const loaders[] = {
	"LD_*", /* the dynamic loader: libraries, audit modules, paths */
	"GCONV_PATH", "GLIBC_TUNABLES",
	"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
	"GTK_MODULES", "GTK_PATH", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "QT_PLUGIN_PATH",
	"BASH_ENV", "ENV", "ZDOTDIR",
	"BASH_FUNC_*", /* functions in the place of commands */
	"SHELLOPTS", "BASHOPTS", "PS4", /* a traced bash expands PS4, with what it runs, for each command */
	"PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPLATLIBDIR",
	"PYTHONPATH", /* sitecustomize, and modules in the place of the library's */
	"PYTHONWARNINGS", /* imports the module of a category */
	"PERL5OPT", "PERL5DB", "PERL5LIB", "PERLLIB",
	"RUBYOPT", "RUBYLIB",
	"NODE_OPTIONS",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS",
	"PHPRC", "PHP_INI_SCAN_DIR",
	"LUA_INIT*",
	"R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER",
	"ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS",
	"DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER*",
	"GCC_EXEC_PREFIX", "COMPILER_PATH", "MAKEFILES",
};

static bool is_meant(const char *entry, const char *name)
{
	size_t length = strlen(entry);
	bool wild = length > 0 && entry[length - 1] == '*';
	return wild ? strncmp(entry, name, length - 1) == 0 : strcmp(entry, name) == 0;
}

bool environment_loads_code(const char *name)
{
	for (size_t i = 0; i < sizeof(loaders) / sizeof(*loaders); i++)
		if (is_meant(loaders[i], name))
			return true;
	return false;
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
	if (!environment_loads_code(name))
		return 0;
	return error_set(error, EINVAL, "%.60s makes programs load other code and is not passed on; write its value under \"set\"", name);
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
