/* The words of an outcome: five statuses, and the rules that belong to them. Spelled once, here. */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

enum run_status {
	STATUS_NONE, /* bailiff itself failed: null in the verdict */
	STATUS_COMPLETED,
	STATUS_RUNTIME_ERROR,
	STATUS_TIMEOUT,
	STATUS_RESOURCE_LIMIT,
	STATUS_POLICY_BLOCKED,
};

/* In the order in which rules of one operation, or of one wake-up, are judged: the first wins. */
enum rule_id {
	RULE_NONE,
	RULE_BLOCKED_SYSCALL,
	RULE_BLOCKED_SIGNAL,
	RULE_BLOCKED_NETWORK,
	RULE_BLOCKED_BIND,
	RULE_TIMEOUT_WALL,
	RULE_TIMEOUT_CPU,
	RULE_LIMIT_OUTPUT,
	RULE_LIMIT_MEMORY,
	RULE_LIMIT_PROCESSES,
	RULE_LIMIT_THREADS,
	RULE_LIMIT_FILE_SIZE,
	RULE_LIMIT_OPEN_FILES,
	RULE_LIMIT_WORKSPACE,
	RULE_LIMIT_ARTIFACT,
	RULE_BLOCKED_READ,
	RULE_BLOCKED_WRITE,
	RULE_BLOCKED_EXECUTE,
	RULE_BLOCKED_STAT,
	RULE_ERROR_EXIT,
	RULE_ERROR_SIGNAL,
	RULE_COUNT,
};

/* "policy_blocked_read", "timeout_wall", …; NULL for RULE_NONE. */
const char *rule_name(enum rule_id rule);

/* The status that a rule belongs to; STATUS_COMPLETED for RULE_NONE. */
enum run_status rule_status(enum rule_id rule);

/* "completed", "policy_blocked", …; NULL for STATUS_NONE. */
const char *status_name(enum run_status status);

/* Exit statuses of bailiff itself (the contract's table; 126 and 127 as a shell gives them). */
enum exit_status {
	EXIT_POLICY_BLOCKED = 122,
	EXIT_RESOURCE_LIMIT = 123,
	EXIT_TIMEOUT = 124,
	EXIT_BAILIFF_FAILED = 125,
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

#endif
