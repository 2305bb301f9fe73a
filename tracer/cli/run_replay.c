#include "cli/run_replay.h"

#include "base/text.h"
#include "cli/input.h"
#include "verdict/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int cannot(struct error *error, const char *why)
{
	return error_set(error, EINVAL, "--replay: %s", why);
}

/* ---- options that do not go with it ------------------------------------------------------------------------------- */

static const char unsuitable_text[] = "does not go with it: the verdict says what it was";

static const char *unsuitable_option(const struct run_options *options)
{
	if (options->policy)
		return "--policy";
	if (options->cwd)
		return "--cwd";
	if (options->script)
		return "--script";
	if (options->put.count)
		return "--put";
	for (size_t i = 0; i < options->overrides.count; i++) {
		const struct policy_override *override = &options->overrides.items[i];
		if (override->kind != OVERRIDE_ENVIRONMENT)
			return "an option that changes the policy";
		if (!strchr(override->text, '='))
			return "--env without a value";
	}
	return NULL;
}

/* ---- from the envelope -------------------------------------------------------------------------------------------- */

/* A path as the command line had it. */
static char *from_start(const struct replay *replay, const char *path)
{
	const char *start = replay_start(replay);
	return path[0] == '/' ? text_duplicate(path) : text_format("%s/%s", strcmp(start, "/") ? start : "", path);
}

const char *replay_start(const struct replay *replay)
{
	return json_string(replay->settings, "start");
}

const char *replay_home(const struct replay *replay)
{
	return json_string(replay->settings, "home");
}

static int take_command(struct replay *replay, struct run_options *options, struct error *error)
{
	const cJSON *words = json_get(replay->envelope, "command"), *word;
	int count = json_length(replay->envelope, "command"), at = 0;
	if (count == 0)
		return cannot(error, "the verdict has no command");
	replay->command = memory_zeroed((size_t)count + 1, sizeof(*replay->command));
	cJSON_ArrayForEach(word, words) {
		replay->command[at] = cJSON_GetStringValue(word);
		if (!replay->command[at++])
			return cannot(error, "its command is not made of words");
	}
	options->command = replay->command;
	return 0;
}

/* The file that was given with -p is the last of the chain. */
static int take_policy(struct replay *replay, struct run_options *options, struct error *error)
{
	static const char shipped[] = "policy:";
	int count = json_length(replay->envelope, "policy");
	const cJSON *last = cJSON_GetArrayItem(json_get(replay->envelope, "policy"), count - 1);
	const char *file = json_string(last, "file");
	if (count == 0 || !file)
		return cannot(error, "the verdict names no policy");
	bool embedded = cJSON_IsTrue(json_get(last, "embedded")) && strncmp(file, shipped, strlen(shipped)) == 0;
	replay->policy = embedded ? text_duplicate(file + strlen(shipped)) : from_start(replay, file);
	options->policy = replay->policy;
	return 0;
}

static void add_override(struct run_options *options, struct policy_override override)
{
	struct overrides *overrides = &options->overrides;
	overrides->items = memory_resized(overrides->items, overrides->count + 1, sizeof(*overrides->items));
	overrides->items[overrides->count++] = override;
}

static bool find_list(const char *pointer, int *list)
{
	for (*list = 0; *list < LIST_COUNT; ++*list)
		if (strcmp(rule_list_pointer((enum rule_list)*list), pointer) == 0)
			return true;
	return false;
}

static bool find_limit(const char *pointer, int *limit)
{
	static const char limits[] = "/limits/";
	for (*limit = 0; *limit < LIMIT_COUNT; ++*limit)
		if (strncmp(pointer, limits, strlen(limits)) == 0 && strcmp(limit_rows[*limit].key, pointer + strlen(limits)) == 0)
			return true;
	return false;
}

/* A value that --env set is not in the verdict. The caller gives it once more, or has the variable. */
static void take_variable(struct run_options *options, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < options->overrides.count; i++)
		if (strncmp(options->overrides.items[i].text, name, length) == 0 && options->overrides.items[i].text[length] == '=')
			return;
	add_override(options, (struct policy_override){ .kind = OVERRIDE_ENVIRONMENT, .text = name });
}

static int take_overrides(const struct replay *replay, struct run_options *options, struct error *error)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(replay->envelope, "overrides")) {
		const char *pointer = json_string(item, "pointer"), *value = json_string(item, "value");
		int id;
		if (!pointer || !value)
			return cannot(error, "an override of the verdict has no pointer or no value");
		if (find_list(pointer, &id))
			add_override(options, (struct policy_override){ .kind = OVERRIDE_LIST, .id = id, .text = value });
		else if (find_limit(pointer, &id))
			add_override(options, (struct policy_override){ .kind = OVERRIDE_LIMIT, .id = id, .text = value });
		else if (strcmp(pointer, "/environment/set") == 0 || strcmp(pointer, "/environment/pass") == 0)
			take_variable(options, value);
		else
			return error_set(error, EINVAL, "--replay: this version does not know the override %.100s", pointer);
	}
	const char *on_violation = json_string(replay->envelope, "on_violation");
	if (!on_violation)
		return cannot(error, "the verdict has no on_violation");
	add_override(options, (struct policy_override){ .kind = OVERRIDE_ON_VIOLATION, .text = on_violation });
	return 0;
}

static int take_copies(const struct replay *replay, struct run_options *options, struct error *error)
{
	static const char folder[] = "${WORKSPACE}/";
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(replay->envelope, "inputs")) {
		const char *source = json_string(item, "copied_from"), *path = json_string(item, "path");
		if (!source)
			continue;
		if (!path || strncmp(path, folder, strlen(folder)) != 0)
			return cannot(error, "a file that was copied in has no name in the workspace");
		/* The verdict's word for a name is checked like an option's. */
		char *inside = text_duplicate(path + strlen(folder));
		if (copies_add_named_put(&options->put, inside, from_start(replay, source), error) < 0)
			return error_context(error, "--replay");
	}
	return 0;
}

static void take_input(struct replay *replay, struct run_options *options)
{
	static const char nothing[] = "/dev/null";
	const char *file = json_string(replay->settings, "stdin");
	if (!file && cJSON_IsTrue(json_get(replay->settings, "capture")))
		file = nothing;
	if (!file || options->stdin_file)
		return;
	replay->stdin_file = from_start(replay, file);
	options->stdin_file = replay->stdin_file;
}

static int take_settings(struct replay *replay, struct run_options *options, struct error *error)
{
	const char *script = json_string(replay->settings, "script");
	bool workspace = cJSON_IsTrue(json_get(replay->settings, "workspace"));
	if (options->workspace && !workspace)
		return cannot(error, "the run was not in a workspace of its own");
	options->workspace = workspace;
	if (!workspace)
		options->cwd = json_string(replay->envelope, "cwd");
	if (!workspace && !options->cwd)
		return cannot(error, "the verdict names no working directory");
	if (options->stdin_file && json_string(replay->settings, "stdin"))
		return error_set(error, EINVAL, "--replay: --stdin %s", unsuitable_text);
	replay->script = script ? from_start(replay, script) : NULL;
	options->script = replay->script;
	take_input(replay, options);
	return take_copies(replay, options, error);
}

/* A name that is no UTF-8 stands there with substitutes for what is wrong, and its bytes beside it. */
static bool has_bytes(const cJSON *item)
{
	static const char suffix[] = "_base64";
	for (; item; item = item->next) {
		size_t length = item->string ? strlen(item->string) : 0;
		bool is_one = length > strlen(suffix) && strcmp(item->string + length - strlen(suffix), suffix) == 0;
		if (is_one || has_bytes(item->child))
			return true;
	}
	return false;
}

static int look_at(struct replay *replay, struct error *error)
{
	replay->envelope = json_get(replay->verdict, "envelope");
	replay->settings = json_get(replay->envelope, "settings");
	const char *start = replay_start(replay);
	if (!start || start[0] != '/')
		return cannot(error, "the verdict does not say where its command line was given");
	/* What the program read and executed may have any name. */
	const char *const keys[] = { "command", "cwd", "policy", "overrides", "settings" };
	if (json_get(replay->envelope, "command_base64") || json_get(replay->envelope, "cwd_base64"))
		return cannot(error, "a name in its command line is not UTF-8");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const cJSON *item = json_get(replay->envelope, keys[i]);
		if (item && has_bytes(item->child))
			return cannot(error, "a name in its command line is not UTF-8");
	}
	return 0;
}

int replay_read(struct replay *replay, struct run_options *options, struct error *error)
{
	const char *unsuitable = unsuitable_option(options);
	if (unsuitable)
		return error_set(error, EINVAL, "--replay: %s %s", unsuitable, unsuitable_text);
	int failed = input_read_verdict(options->replay, &replay->verdict, error);
	if (!failed)
		failed = look_at(replay, error);
	if (!failed)
		failed = take_command(replay, options, error);
	if (!failed)
		failed = take_policy(replay, options, error);
	if (!failed)
		failed = take_overrides(replay, options, error);
	return failed ? failed : take_settings(replay, options, error);
}

void replay_free(struct replay *replay)
{
	cJSON_Delete(replay->verdict);
	free(replay->command);
	free(replay->policy);
	free(replay->stdin_file);
	free(replay->script);
	*replay = (struct replay){ .verdict = NULL };
}
