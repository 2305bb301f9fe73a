/* `check`: what would the policy say? Nothing is run. */
#include "cli/caller.h"
#include "cli/check_path.h"
#include "cli/check_request.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/overrides.h"

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct settings {
	const char *policy;
	const char *script;
	bool explain;
	struct overrides overrides;
};

static int apply_policy(void *settings, const struct option_use *use, struct error *error)
{
	(void)error;
	((struct settings *)settings)->policy = use->value;
	return 0;
}

static int apply_script(void *settings, const struct option_use *use, struct error *error)
{
	(void)error;
	((struct settings *)settings)->script = use->value;
	return 0;
}

static int apply_explain(void *settings, const struct option_use *use, struct error *error)
{
	(void)use;
	(void)error;
	((struct settings *)settings)->explain = true;
	return 0;
}

static int apply_list(void *settings, const struct option_use *use, struct error *error)
{
	return overrides_add_list(&((struct settings *)settings)->overrides, use, error);
}

static const struct option_row rows[] = {
	{ "policy", 'p', "FILE|NAME", "the policy: a file (with a / or ending in .json) or a shipped one [default]",
	  apply_policy, 0 },
	{ "explain", 0, NULL, "below what is blocked, the entries that came nearest and why they did not match", apply_explain,
	  0 },
	{ "script", 0, "FILE", "what ${SCRIPT} means in the policy", apply_script, 0 },
	{ "read", 0, "PATTERN", "as if the policy allowed reading what matches (repeatable, as the next six)",
	  apply_list, LIST_READ },
	{ "write", 0, "PATTERN", "the same for writing", apply_list, LIST_WRITE },
	{ "execute", 0, "PATTERN", "the same for executing", apply_list, LIST_EXECUTE },
	{ "deny", 0, "PATTERN", "as if it refused what matches", apply_list, LIST_DENY },
	{ "hide", 0, "PATTERN", "as if it hid what matches", apply_list, LIST_HIDE },
	{ "connect", 0, "ADDRESS", "as if it allowed connecting to an address", apply_list, LIST_CONNECT },
	{ "bind", 0, "ADDRESS", "as if it allowed binding an address", apply_list, LIST_BIND },
	{ 0 },
};

static const char *const synopsis[] = { "check [-p POLICY] KIND:OBJECT...",
					"check [-p POLICY] VERDICT.json", NULL };

const struct command check_command = {
	.name = "check",
	.synopsis = synopsis,
	.summary = "Tell what a policy says about single operations, or about what a verdict has recorded. Nothing is run.",
	.details = "KIND is read, write, execute or stat (OBJECT is a path), connect or bind (an address), or syscall (a "
		   "name).\n"
		   "A verdict (a file ending in .json, or - for standard input) gives one line for each recorded violation.\n"
		   "Each line is \"allowed\", or \"blocked RULE FILE:LINE\". Exit: 0 all allowed, 122 any blocked.\n",
	.options = rows,
	.run = command_check,
};

static int load(const struct settings *settings, const struct policy_variables *variables, struct policy **policy,
		struct error *error)
{
	int result = policy_load(settings->policy, settings->overrides.items, settings->overrides.count, policy, error);
	if (result < 0)
		return result;
	result = policy_bind(*policy, variables, error);
	if (result < 0) {
		policy_free(*policy);
		*policy = NULL;
	}
	return result;
}

static bool names_verdict(const char *word)
{
	size_t length = strlen(word);
	if (strcmp(word, "-") == 0)
		return true;
	return !check_kind_known(word) && length > 5 && strcmp(word + length - 5, ".json") == 0 && access(word, F_OK) == 0;
}

/* 1 when anything was blocked, 0 when not, -errno. */
static int check_verdict(const struct policy *policy, const char *path, bool explain, struct error *error)
{
	cJSON *verdict;
	int result = input_read_verdict(path, &verdict, error);
	if (result < 0)
		return result;
	result = check_replay(policy, verdict, explain, error);
	cJSON_Delete(verdict);
	return result < 0 ? error_context(error, "%s", path) : result;
}

static int check_all(const struct policy *policy, char *const *words, bool explain, struct error *error)
{
	int blocked = 0;
	for (; *words; words++) {
		int result = names_verdict(*words) ? check_verdict(policy, *words, explain, error)
						   : check_request(policy, *words, explain, error);
		if (result < 0)
			return result;
		blocked |= result;
	}
	return blocked;
}

/* The workspace has no value here: it is made by a run. */
static int check(const struct settings *settings, char *const *words, struct error *error)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *script = settings->script ? check_resolve(settings->script, error) : NULL;
	if (settings->script && !script)
		return -error->number;
	auto_free char *folder = script ? text_duplicate(script) : NULL;
	if (folder)
		*(strrchr(folder, '/') == folder ? folder + 1 : strrchr(folder, '/')) = '\0';
	auto_free char *home = caller_home();
	struct policy_variables variables = { .cwd = cwd, .home = home, .script = script, .script_dir = folder };

	struct policy *policy;
	int result = load(settings, &variables, &policy, error);
	if (result < 0)
		return result;
	result = check_all(policy, words, settings->explain, error);
	policy_free(policy);
	return result;
}

int command_check(int argc, char **argv)
{
	struct settings settings = { 0 };
	struct operands operands;
	struct error error;
	int result = options_parse(&check_command, argc, argv, &settings, &operands, &error);
	if (result == 0 && operands.count == 0)
		result = error_set(&error, EINVAL, "nothing to check; see \"bailiff help check\"");
	if (result == 0)
		result = check(&settings, operands.items, &error);
	operands_free(&operands);
	overrides_free(&settings.overrides);
	/* What was found before the fault is worth its lines, and comes before the fault's. */
	int finished = command_finish(result > 0 ? EXIT_POLICY_BLOCKED : 0);
	return result < 0 ? command_failed(&error) : finished;
}
