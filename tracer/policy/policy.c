#include "policy/policy.h"

#include "policy/layer.h"
#include "policy/rules.h"
#include "policy/variables.h"

#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {
	[ON_VIOLATION_KILL] = "kill",
	[ON_VIOLATION_DENY] = "deny",
	[ON_VIOLATION_LOG] = "log",
};

const char *on_violation_name(enum on_violation mode)
{
	return modes[mode];
}

bool on_violation_parse(const char *name, enum on_violation *mode)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i], name) == 0) {
			*mode = (enum on_violation)i;
			return true;
		}
	}
	return false;
}

const struct shipped_policy *shipped_policy_find(const char *name)
{
	for (size_t i = 0; i < shipped_policy_count; i++)
		if (strcmp(shipped_policies[i].name, name) == 0)
			return &shipped_policies[i];
	return NULL;
}

/* By trying: `$${WORKSPACE}` is a dollar sign and a word. */
static bool value_uses_workspace(const char *value)
{
	const struct policy_variables others = { .cwd = "/", .home = "/", .script = "/", .script_dir = "/" };
	char *expanded = policy_expand(value, &others);
	free(expanded);
	return !expanded;
}

static bool rule_uses_workspace(enum rule_list list, const char *text)
{
	enum variable variable;
	size_t length;
	const char *place = rule_variable_place(list, text);
	return place && variable_read(place, &variable, &length, NULL) == 0 && variable == VARIABLE_WORKSPACE;
}

bool policy_uses_workspace(const struct policy *policy)
{
	for (unsigned list = 0; list < LIST_COUNT; list++)
		for (size_t i = 0; i < policy->lists[list].count; i++)
			if (rule_uses_workspace((enum rule_list)list, policy->lists[list].items[i].text))
				return true;
	for (size_t i = 0; i < policy->environment_count; i++)
		if (policy->environment[i].value && value_uses_workspace(policy->environment[i].value))
			return true;
	return false;
}

static void free_environment(struct policy *policy)
{
	for (size_t i = 0; i < policy->environment_count; i++) {
		free(policy->environment[i].name);
		free(policy->environment[i].value);
		free(policy->environment[i].position.pointer);
	}
	free(policy->environment);
}

void policy_clear(struct policy *policy)
{
	for (size_t i = 0; i < LIST_COUNT; i++) {
		rules_free(&policy->lists[i]);
		free(policy->missing[i].pointer);
	}
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		free(policy->limits[i].position.pointer);
	for (size_t i = 0; i < policy->file_count; i++)
		free(policy->files[i].file);
	free_environment(policy);
	free(policy->stat_position.pointer);
	free(policy->files);
	free(policy->name);
	free(policy->description);
	*policy = (struct policy){ 0 };
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	policy_clear(policy);
	free(policy);
}
