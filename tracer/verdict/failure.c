#include "verdict/json.h"
#include "verdict/parts.h"

#include <string.h>

static void add_policy(cJSON *object, const struct record_policy *policy)
{
	if (policy->file[0] == '\0') {
		json_add_null(object, "policy");
		return;
	}
	cJSON *position = json_add_object(object, "policy");
	json_add_string(position, "file", policy->file);
	json_add_bytes(position, "pointer", policy->pointer, strlen(policy->pointer), false);
	json_add_number(position, "line", policy->line);
	json_add_number(position, "column", policy->column);
}

static void add_considered(cJSON *object, const struct record_failure *failure)
{
	cJSON *array = json_add_array(object, "considered");
	for (uint32_t i = 0; i < failure->considered_count && i < RECORD_CONSIDERED_MAX; i++) {
		const struct record_considered *considered = &failure->considered[i];
		cJSON *item = json_append_object(array);
		json_add_string(item, "file", considered->policy.file);
		json_add_bytes(item, "pointer", considered->policy.pointer, strlen(considered->policy.pointer), false);
		json_add_number(item, "line", considered->policy.line);
		json_add_number(item, "column", considered->policy.column);
		json_add_string(item, "entry", considered->entry);
		json_add_string(item, "why", considered->why);
	}
}

static void add_operation(cJSON *object, const struct record_failure *failure)
{
	cJSON *operation = json_add_object(object, "operation");
	json_add_string(operation, "syscall", failure->syscall);
	json_add_string(operation, "access", failure->access);
	json_add_string(operation, "target", failure->target);
	json_add_string(operation, "host", failure->host);
	json_add_string(operation, "flags", failure->flags);
}

static void add_path(cJSON *object, const struct record_failure *failure)
{
	if (!failure->has_path) {
		json_add_null(object, "path");
		return;
	}
	cJSON *path = json_add_object(object, "path");
	json_add_record_bytes(path, "given", &failure->given);
	json_add_record_bytes(path, "resolved", &failure->resolved);
	if (failure->given.truncated || failure->resolved.truncated)
		json_add_bool(path, "truncated", true);
}

static void add_argv(cJSON *object, const char *argv, size_t length, size_t capacity)
{
	if (length > capacity)
		length = capacity;
	json_add_words(object, "argv", (struct json_words){ argv, argv + length });
}

static void add_ancestry(cJSON *process, const struct record_failure *failure)
{
	cJSON *array = json_add_array(process, "ancestry");
	for (uint32_t i = 0; i < failure->ancestry_count && i < RECORD_ANCESTRY_MAX; i++) {
		const struct record_ancestor *ancestor = &failure->ancestry[i];
		cJSON *item = json_append_object(array);
		json_add_number(item, "pid", ancestor->pid);
		json_add_record_bytes(item, "exe", &ancestor->exe);
		add_argv(item, ancestor->argv, ancestor->argv_length, sizeof(ancestor->argv));
	}
}

static void add_process(cJSON *object, const struct record_failure *failure)
{
	if (!failure->has_process) {
		json_add_null(object, "process");
		return;
	}
	const struct record_process *process = &failure->process;
	cJSON *item = json_add_object(object, "process");
	json_add_number(item, "pid", process->pid);
	json_add_number(item, "tid", process->tid);
	json_add_record_bytes(item, "exe", &process->exe);
	add_argv(item, process->argv, process->argv_length, sizeof(process->argv));
	if (process->argv_truncated)
		json_add_bool(item, "truncated", true);
	json_add_record_bytes(item, "cwd", &process->cwd);
	add_ancestry(item, failure);
}

/* A value that does not parse (cut by the record's bound) would suggest something else: it is left out. */
static void add_suggestions(cJSON *object, const struct record_failure *failure)
{
	cJSON *array = json_add_array(object, "suggestions");
	for (uint32_t i = 0; i < failure->suggestion_count && i < RECORD_SUGGESTION_MAX; i++) {
		const struct record_suggestion *suggestion = &failure->suggestions[i];
		cJSON *value = cJSON_ParseWithOpts(suggestion->value, NULL, true);
		if (!value)
			continue;
		cJSON *item = json_append_object(array);
		json_add_string(item, "pointer", suggestion->pointer);
		json_add(item, "value", value);
		json_add_string(item, "opens", suggestion->opens);
	}
}

static void add_chain(cJSON *object, const struct record_failure *failure)
{
	const uint32_t most = sizeof(failure->chain) / sizeof(failure->chain[0]);
	struct text words = { 0 };
	for (uint32_t i = 0; i < failure->chain_count && i < most; i++)
		text_append_bytes(&words, failure->chain[i], strlen(failure->chain[i]) + 1);
	const char *bytes = text_string(&words);
	json_add_words(object, "chain", (struct json_words){ bytes, bytes + words.length });
	text_free(&words);
}

cJSON *failure_to_json(const struct record_failure *failure, const struct record_explanation *explanation, bool with_count)
{
	cJSON *object = cJSON_CreateObject();
	json_add_string(object, "rule", rule_name(failure->rule));
	add_policy(object, &failure->policy);
	add_considered(object, failure);
	add_operation(object, failure);
	add_path(object, failure);
	add_chain(object, failure);
	json_add_string(object, "answered", failure->answered);
	json_add_string(object, "kernel_would", failure->kernel_would);
	add_process(object, failure);
	json_add_number(object, "when_ms", failure->when_ms);
	stacks_add(object, explanation);
	add_suggestions(object, failure);
	if (with_count)
		json_add_number(object, "count", failure->count);
	return object;
}
