/* What is not as a verdict recorded it, before the run and after it. */
#include "cli/run_replay.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "policy/limits.h"
#include "verdict/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* "bailiff: NAME: TEXT", one line, safe for a terminal. */
__attribute__((format(printf, 2, 3))) static void say(const char *name, const char *format, ...)
{
	struct text line = { 0 }, shown = { 0 };
	va_list arguments;
	text_append(&line, name);
	text_append(&line, ": ");
	va_start(arguments, format);
	text_vprintf(&line, format, arguments);
	va_end(arguments);
	text_append_visible(&shown, text_string(&line), line.length);
	fprintf(stderr, "bailiff: %s\n", text_string(&shown));
	text_free(&line);
	text_free(&shown);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static int hash_path(const char *path, char sha256[static HASH_TEXT])
{
	struct stat status;
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	return hash_fd(fd, sha256, NULL, NULL);
}

static void compare_hash(struct replay *replay, const char *name, const char *now, const char *recorded)
{
	if (strcmp(now, recorded) == 0)
		return;
	say(name, "its sha256 is %s where %s was recorded", now, recorded);
	replay->differences++;
}

static bool is_unchecked(const cJSON *item, const char *path)
{
	const char *why = json_string(item, "not_hashed");
	if (json_string(item, "sha256") && !json_get(item, "path_base64"))
		return false;
	say(path, "is not checked: %s", json_get(item, "path_base64") ? "its name is not UTF-8" : why ? why : "no sha256 was recorded");
	return true;
}

static void check_file(struct replay *replay, const cJSON *item)
{
	char sha256[HASH_TEXT];
	const char *path = json_string(item, "path"), *recorded = json_string(item, "sha256");
	if (!path || is_unchecked(item, path))
		return;
	int failed = hash_path(path, sha256);
	if (!failed) {
		compare_hash(replay, path, sha256, recorded);
		return;
	}
	say(path, "%s where a file of sha256 %s was recorded", failed == -EINVAL ? "is no file" : strerror(-failed), recorded);
	replay->differences++;
}

/* What the run made it will make again. */
static void check_programs(struct replay *replay)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(replay->envelope, "programs")) {
		const char *path = json_string(item, "path");
		if (path && path[0] == '/' && !cJSON_IsTrue(json_get(item, "made_in_run")))
			check_file(replay, item);
	}
}

static void check_copy(struct replay *replay, const cJSON *item, const struct artifact_input *copied)
{
	const char *recorded = json_string(item, "sha256");
	if (recorded)
		compare_hash(replay, copied->source, copied->sha256, recorded);
}

/* Copies were made already, in the order of the list: they are what the run will have. */
static void check_inputs(struct replay *replay, const struct copies *copies)
{
	const cJSON *item;
	size_t copied = 0;
	cJSON_ArrayForEach(item, json_get(replay->envelope, "inputs")) {
		const char *path = json_string(item, "path");
		if (json_string(item, "copied_from") && copied < copies->input_count)
			check_copy(replay, item, &copies->inputs[copied++]);
		else if (path && path[0] == '/')
			check_file(replay, item);
	}
}

static void tell_unlisted(const struct replay *replay, const char *key, const char *what)
{
	int64_t more = json_number(replay->envelope, key);
	if (more > 0)
		say(what, "%" PRId64 " more were not listed and are not checked", more);
}

/* A script is mostly an input as well: one difference is told once. */
static bool is_checked_input(const struct replay *replay, const char *path)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(replay->envelope, "inputs")) {
		const char *input = json_string(item, "path");
		if (path && input && strcmp(path, input) == 0 && json_string(item, "sha256"))
			return true;
	}
	return false;
}

static void check_source(struct replay *replay, const struct run_source *source)
{
	const cJSON *item = json_get(replay->envelope, "source");
	const char *recorded = json_string(item, "sha256"), *path = json_string(item, "path");
	if (!recorded || is_checked_input(replay, path))
		return;
	const char *name = path ? path : "the text of the program";
	if (source->found && source->sha256[0]) {
		compare_hash(replay, name, source->sha256, recorded);
		return;
	}
	say(name, "is not there where one of sha256 %s was recorded", recorded);
	replay->differences++;
}

/* ---- policy ------------------------------------------------------------------------------------------------------- */

static void policy_differs(struct replay *replay)
{
	replay->policy_differs = true;
	replay->differences++;
}

static void check_policy_files(struct replay *replay, const struct policy *policy)
{
	int recorded = json_length(replay->envelope, "policy");
	if (policy->file_count != (size_t)recorded) {
		say("policy", "it is made of %zu files where %d were recorded", policy->file_count, recorded);
		policy_differs(replay);
		return;
	}
	for (size_t i = 0; i < policy->file_count; i++) {
		const cJSON *item = cJSON_GetArrayItem(json_get(replay->envelope, "policy"), (int)i);
		const char *sha256 = json_string(item, "sha256");
		unsigned before = replay->differences;
		compare_hash(replay, policy->files[i].file, policy->files[i].sha256, sha256 ? sha256 : "");
		replay->policy_differs |= replay->differences != before;
	}
}

/* Those that no file sets come from this version. */
static void check_limits(struct replay *replay, const struct policy *policy)
{
	const cJSON *limits = json_get(replay->envelope, "limits");
	for (int i = 0; i < LIMIT_COUNT; i++) {
		char now[UNITS_TEXT], recorded[UNITS_TEXT] = "";
		const cJSON *item = json_get(limits, limit_rows[i].key);
		if (!policy->limits[i].set)
			continue;
		limit_format((enum limit_id)i, policy->limits[i].value, now);
		if (cJSON_IsNumber(item))
			snprintf(recorded, sizeof(recorded), "%" PRId64, json_number(limits, limit_rows[i].key));
		else if (cJSON_IsString(item))
			text_copy(recorded, sizeof(recorded), item->valuestring);
		if (strcmp(now, recorded) == 0)
			continue;
		say("limits", "%s is %s where %s was recorded", limit_rows[i].key, now, recorded[0] ? recorded : "nothing");
		policy_differs(replay);
	}
}

/* ---- environment and descriptors ---------------------------------------------------------------------------------- */

static bool has_variable(char *const *environment, const char *name)
{
	size_t length = strlen(name);
	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return true;
	return false;
}

static bool was_there(const cJSON *recorded, const char *entry)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, recorded) {
		const char *name = json_string(item, "name");
		if (name && strncmp(entry, name, strlen(name)) == 0 && entry[strlen(name)] == '=')
			return true;
	}
	return false;
}

static bool is_own_variable(const char *entry)
{
	static const char *const names[] = { "PATH=", "HOME=", "LANG=", "TMPDIR=" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void check_environment(struct replay *replay, char *const *environment)
{
	const cJSON *recorded = json_get(replay->envelope, "environment"), *item;
	cJSON_ArrayForEach(item, recorded) {
		const char *name = json_string(item, "name");
		if (!name || json_get(item, "name_base64"))
			continue;
		auto_free char *entry = text_format("%s=", name);
		if (!has_variable(environment, name)) {
			say("environment", "%s is not set where it was; --env %s=VALUE sets it", name, name);
			replay->differences++;
		} else if (!json_string(item, "value") && !is_own_variable(entry)) {
			say("environment", "%s has the value that it has now: which it had is not recorded", name);
		}
	}
	for (; *environment; environment++) {
		if (was_there(recorded, *environment))
			continue;
		say("environment", "%.*s is set where it was not", (int)strcspn(*environment, "="), *environment);
		replay->differences++;
	}
}

static bool is_kept(const struct run_options *options, int fd)
{
	for (size_t i = 0; i < options->keep_fd_count; i++)
		if (options->keep_fds[i] == fd)
			return true;
	return false;
}

static void check_descriptors(struct replay *replay, const struct run_options *options)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, json_get(replay->settings, "descriptors")) {
		if (!cJSON_IsNumber(item) || is_kept(options, item->valueint))
			continue;
		say("descriptors", "%d was kept open; --fd %d keeps one", item->valueint, item->valueint);
		replay->differences++;
	}
}

/* ---- both sides of the run ---------------------------------------------------------------------------------------- */

/* What no hash tells, and what no refusal follows from. */
static void tell_surroundings(const struct replay *replay, const struct replay_now *now)
{
	const char *version = json_string(replay->verdict, "bailiff");
	const char *kernel = json_string(json_get(replay->envelope, "host"), "kernel");
	if (version && strcmp(version, BAILIFF_VERSION) != 0)
		say("version", "%s where %s was recorded", BAILIFF_VERSION, version);
	if (kernel && strcmp(kernel, now->kernel) != 0)
		say("kernel", "%s where %s was recorded", now->kernel, kernel);
	tell_unlisted(replay, "programs_more", "programs");
	tell_unlisted(replay, "inputs_more", "inputs");
}

int replay_check(struct replay *replay, const struct replay_now *now, struct error *error)
{
	check_policy_files(replay, now->policy);
	check_limits(replay, now->policy);
	check_programs(replay);
	check_inputs(replay, now->copies);
	check_source(replay, now->source);
	check_environment(replay, now->environment);
	check_descriptors(replay, now->options);
	tell_surroundings(replay, now);
	if (replay->policy_differs)
		return error_set(error, EINVAL, "--replay: not run: the policy is not the one that was recorded");
	if (replay->differences && !now->options->allow_changes)
		return error_set(error, EINVAL, "--replay: not run: %u of what was recorded %s not the same; --allow-changes runs it "
				 "all the same", replay->differences, replay->differences == 1 ? "is" : "are");
	return 0;
}

struct verdict_replay replay_describe(const struct replay *replay)
{
	return (struct verdict_replay){
		.status = json_string(replay->verdict, "status"),
		.rule = json_string(replay->verdict, "rule"),
		.differences = replay->differences,
	};
}

/* "runtime_error, runtime_error_exit" */
static char *outcome_words(const cJSON *verdict)
{
	const char *status = json_string(verdict, "status"), *rule = json_string(verdict, "rule");
	return text_format("%s%s%s", status ? status : "no status", rule ? ", " : "", rule ? rule : "");
}

void replay_tell_result(const struct replay *replay, const cJSON *verdict)
{
	auto_free char *now = outcome_words(verdict), *recorded = outcome_words(replay->verdict);
	if (cJSON_IsTrue(json_get(json_get(json_get(verdict, "envelope"), "replay"), "same")))
		say("replay", "the same status and rule: %s", now);
	else
		say("replay", "%s where %s was recorded", now, recorded);
}
