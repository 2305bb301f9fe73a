#include "base/outcome.h"

#include <stddef.h>

static const struct {
	const char *name;
	enum run_status status;
} rules[RULE_COUNT] = {
	[RULE_NONE] = { NULL, STATUS_COMPLETED },
	[RULE_BLOCKED_SYSCALL] = { "policy_blocked_syscall", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_SIGNAL] = { "policy_blocked_signal", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_NETWORK] = { "policy_blocked_network", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_BIND] = { "policy_blocked_bind", STATUS_POLICY_BLOCKED },
	[RULE_TIMEOUT_WALL] = { "timeout_wall", STATUS_TIMEOUT },
	[RULE_TIMEOUT_CPU] = { "timeout_cpu", STATUS_TIMEOUT },
	[RULE_LIMIT_OUTPUT] = { "resource_limit_output", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_MEMORY] = { "resource_limit_memory", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_PROCESSES] = { "resource_limit_processes", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_THREADS] = { "resource_limit_threads", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_FILE_SIZE] = { "resource_limit_file_size", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_OPEN_FILES] = { "resource_limit_open_files", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_WORKSPACE] = { "resource_limit_workspace", STATUS_RESOURCE_LIMIT },
	[RULE_LIMIT_ARTIFACT] = { "resource_limit_artifact", STATUS_RESOURCE_LIMIT },
	[RULE_BLOCKED_READ] = { "policy_blocked_read", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_WRITE] = { "policy_blocked_write", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_EXECUTE] = { "policy_blocked_execute", STATUS_POLICY_BLOCKED },
	[RULE_BLOCKED_STAT] = { "policy_blocked_stat", STATUS_POLICY_BLOCKED },
	[RULE_ERROR_EXIT] = { "runtime_error_exit", STATUS_RUNTIME_ERROR },
	[RULE_ERROR_SIGNAL] = { "runtime_error_signal", STATUS_RUNTIME_ERROR },
};

static const char *const statuses[] = {
	[STATUS_NONE] = NULL,
	[STATUS_COMPLETED] = "completed",
	[STATUS_RUNTIME_ERROR] = "runtime_error",
	[STATUS_TIMEOUT] = "timeout",
	[STATUS_RESOURCE_LIMIT] = "resource_limit",
	[STATUS_POLICY_BLOCKED] = "policy_blocked",
};

const char *rule_name(enum rule_id rule)
{
	return rules[rule].name;
}

enum run_status rule_status(enum rule_id rule)
{
	return rules[rule].status;
}

const char *status_name(enum run_status status)
{
	return statuses[status];
}
