#include "verdict/json.h"
#include "verdict/parts.h"

#include "base/cleanup.h"
#include "policy/limits.h"

#include <string.h>

static bool is_from_command_line(const struct position *position)
{
	return strcmp(position->file, "command line") == 0;
}

/* A value is shown where a policy file wrote it down. Verdicts are passed around, and what the caller passes on or sets
 * for one run (--env TOKEN=...) may be a secret. */
static bool is_set_by_policy(const struct policy *policy, const char *name, size_t length)
{
	bool shown = false;
	for (size_t i = 0; policy && i < policy->environment_count; i++) {
		const struct environment_entry *entry = &policy->environment[i];
		if (strlen(entry->name) == length && memcmp(entry->name, name, length) == 0)
			shown = entry->value && !is_from_command_line(&entry->position);
	}
	return shown;
}

static void add_environment(cJSON *envelope, const struct verdict_context *context)
{
	cJSON *array = json_add_array(envelope, "environment");
	for (char *const *at = context->environment; at && *at; at++) {
		size_t length = strcspn(*at, "=");
		cJSON *item = json_append_object(array);
		json_add_bytes(item, "name", *at, length, false);
		if ((*at)[length] == '=' && is_set_by_policy(context->policy, *at, length))
			json_add_bytes(item, "value", *at + length + 1, strlen(*at + length + 1), false);
	}
}

static void add_limit(cJSON *limits, enum limit_id id, uint64_t value)
{
	char text[UNITS_TEXT];
	limit_format(id, value, text);
	if (limit_rows[id].unit == UNIT_COUNT && value != UNITS_NONE)
		json_add_number(limits, limit_rows[id].key, (int64_t)value);
	else
		json_add_string(limits, limit_rows[id].key, text);
}

static void add_limits(cJSON *envelope, const struct policy *policy)
{
	cJSON *limits = json_add_object(envelope, "limits");
	for (int i = 0; policy && i < LIMIT_COUNT; i++)
		if (policy->limits[i].set)
			add_limit(limits, (enum limit_id)i, policy->limits[i].value);
}

static void add_policy_files(cJSON *envelope, const struct policy *policy)
{
	cJSON *array = json_add_array(envelope, "policy");
	for (size_t i = 0; policy && i < policy->file_count; i++) {
		cJSON *item = json_append_object(array);
		json_add_string(item, "file", policy->files[i].file);
		json_add_string(item, "sha256", policy->files[i].sha256);
		json_add_bool(item, "embedded", policy->files[i].embedded);
	}
}

static void add_override(cJSON *array, const char *pointer, const char *value)
{
	cJSON *item = json_append_object(array);
	json_add_string(item, "pointer", pointer);
	json_add_string(item, "value", value);
}

static void add_list_overrides(cJSON *array, const struct policy *policy)
{
	for (int list = 0; policy && list < LIST_COUNT; list++) {
		for (size_t i = 0; i < policy->lists[list].count; i++) {
			const struct rule *rule = &policy->lists[list].items[i];
			if (is_from_command_line(&rule->position))
				add_override(array, rule_list_pointer((enum rule_list)list), rule->text);
		}
	}
}

static void add_limit_overrides(cJSON *array, const struct policy *policy)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		const struct limit *limit = &policy->limits[i];
		if (!limit->set || !limit->position.file || !is_from_command_line(&limit->position))
			continue;
		char text[UNITS_TEXT];
		auto_free char *pointer = text_format("/limits/%s", limit_rows[i].key);
		limit_format((enum limit_id)i, limit->value, text);
		add_override(array, pointer, text);
	}
}

/* What is set for one run is named and not shown. */
static void add_environment_overrides(cJSON *array, const struct policy *policy)
{
	for (size_t i = 0; i < policy->environment_count; i++) {
		const struct environment_entry *entry = &policy->environment[i];
		if (is_from_command_line(&entry->position))
			add_override(array, entry->value ? "/environment/set" : "/environment/pass", entry->name);
	}
}

/* What comes from the command line is in no file, so the files alone would not give the same policy again. */
static void add_overrides(cJSON *envelope, const struct policy *policy)
{
	cJSON *array = json_add_array(envelope, "overrides");
	if (!policy)
		return;
	add_list_overrides(array, policy);
	add_limit_overrides(array, policy);
	add_environment_overrides(array, policy);
}

static void add_settings(cJSON *envelope, const struct verdict_settings *settings)
{
	if (!settings) {
		json_add_null(envelope, "settings");
		return;
	}
	cJSON *object = json_add_object(envelope, "settings");
	json_add_string(object, "start", settings->start);
	json_add_string(object, "home", settings->home);
	json_add_string(object, "script", settings->script);
	json_add_string(object, "stdin", settings->stdin_file);
	json_add_bool(object, "workspace", settings->workspace);
	json_add_bool(object, "capture", settings->capture);
	cJSON *descriptors = json_add_array(object, "descriptors");
	for (size_t i = 0; i < settings->descriptor_count; i++)
		json_append(descriptors, cJSON_CreateNumber(settings->descriptors[i]));
}

static void add_host(cJSON *envelope, const struct verdict_host *found)
{
	cJSON *host = json_add_object(envelope, "host");
	json_add_string(host, "kernel", found->kernel);
	json_add_string(host, "machine", found->machine);
	json_add_number(host, "landlock_abi", found->landlock_abi);
	json_add_bool(host, "root", found->root);

	cJSON *engine = json_add_object(envelope, "engine");
	json_add_bool(engine, "seccomp", found->seccomp);
	json_add_bool(engine, "pinning", found->pinning);
	json_add_number(engine, "landlock", found->landlock_used);
	json_add_controllers(engine, "cgroup", found->cgroup);
}

static bool is_same_word(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) == 0 : left == right;
}

/* The status and the rule of this run stand in the verdict already. */
static void add_replay(cJSON *envelope, const cJSON *verdict, const struct verdict_replay *replay)
{
	const char *status = json_string(verdict, "status"), *rule = json_string(verdict, "rule");
	if (!replay) {
		json_add_null(envelope, "replay");
		return;
	}
	cJSON *object = json_add_object(envelope, "replay");
	json_add_string(object, "status", replay->status);
	json_add_string(object, "rule", replay->rule);
	json_add_bool(object, "same", is_same_word(status, replay->status) && is_same_word(rule, replay->rule));
	json_add_number(object, "differences", replay->differences);
}

void envelope_add(cJSON *verdict, const struct run_record *record, const struct verdict_context *context)
{
	static const struct verdict_host unknown;
	cJSON *envelope = json_add_object(verdict, "envelope");
	json_add_vector(envelope, "command", context->command);
	json_add_string(envelope, "cwd", context->cwd);
	add_environment(envelope, context);
	add_limits(envelope, context->policy);
	json_add_string(envelope, "on_violation",
			context->policy ? on_violation_name(context->policy->on_violation) : NULL);
	add_policy_files(envelope, context->policy);
	add_overrides(envelope, context->policy);
	add_settings(envelope, context->settings);
	envelope_add_files(envelope, record, context);
	add_replay(envelope, verdict, context->replay);
	add_host(envelope, context->host ? context->host : &unknown);
}
