#include "verdict/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool record_first_claim(struct run_record *record)
{
	int unclaimed = 0;
	return atomic_compare_exchange_strong(&record->first_claimed, &unclaimed, 1);
}

void record_first_done(struct run_record *record)
{
	atomic_store(&record->first_ready, 1);
}

const struct record_failure *record_first(const struct run_record *record)
{
	return atomic_load(&record->first_ready) ? &record->first : NULL;
}

void record_limit(struct run_record *record, enum rule_id rule)
{
	int none = RULE_NONE;
	atomic_compare_exchange_strong(&record->limit_rule, &none, (int)rule);
}

static bool same_position(const struct record_policy *left, const struct record_policy *right)
{
	return left->line == right->line && left->column == right->column && strcmp(left->file, right->file) == 0 &&
	       strcmp(left->pointer, right->pointer) == 0;
}

static bool same_violation(const struct record_failure *left, const struct record_failure *right)
{
	return left->rule == right->rule && strcmp(left->syscall, right->syscall) == 0 &&
	       strcmp(left->target, right->target) == 0 && same_position(&left->policy, &right->policy);
}

/* The one writer is the tracer, so an entry needs no claim: it counts for front once violation_recorded is raised. */
void record_violation(struct run_record *record, const struct record_failure *failure)
{
	atomic_fetch_add(&record->violation_total, 1);

	unsigned recorded = atomic_load(&record->violation_recorded);
	for (unsigned i = 0; i < recorded; i++) {
		if (same_violation(&record->violations[i], failure)) {
			record->violations[i].count++;
			return;
		}
	}
	if (recorded == RECORD_VIOLATION_MAX)
		return;
	record->violations[recorded] = *failure;
	record->violations[recorded].count = 1;
	atomic_store(&record->violation_recorded, recorded + 1);
}

static unsigned notes_kept(const struct run_record *record)
{
	unsigned count = atomic_load(&record->note_count);
	return count < RECORD_NOTE_MAX ? count : RECORD_NOTE_MAX;
}

/* Both processes may add notes. A slot is taken by raising the count; one that its writer never filled stays empty text
 * and is left out of the verdict. */
void record_note(struct run_record *record, const char *format, ...)
{
	char text[sizeof(record->notes[0].text)];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);

	unsigned kept = notes_kept(record);
	for (unsigned i = 0; i < kept; i++) {
		if (strcmp(record->notes[i].text, text) == 0) {
			__atomic_fetch_add(&record->notes[i].count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	if (kept == RECORD_NOTE_MAX) {
		atomic_fetch_add(&record->note_lost, 1);
		return;
	}
	unsigned slot = atomic_fetch_add(&record->note_count, 1);
	if (slot >= RECORD_NOTE_MAX) {
		atomic_fetch_add(&record->note_lost, 1);
		return;
	}
	memcpy(record->notes[slot].text, text, sizeof(text));
	__atomic_store_n(&record->notes[slot].count, 1, __ATOMIC_RELEASE);
}

void record_bytes_set(struct record_bytes *target, const void *bytes, size_t length)
{
	target->truncated = length > RECORD_PATH_BYTES;
	if (target->truncated)
		length = RECORD_PATH_BYTES;
	if (length)
		memcpy(target->bytes, bytes, length);
	target->bytes[length] = '\0';
	target->length = (uint32_t)length;
}

void record_error(struct run_record *record, const char *stage, int number, const char *format, ...)
{
	int unclaimed = 0;
	if (!atomic_compare_exchange_strong(&record->error_claimed, &unclaimed, 1))
		return;

	struct record_error *error = &record->error;
	snprintf(error->stage, sizeof(error->stage), "%s", stage);
	error->number = number < 0 ? -number : number;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	__atomic_store_n(&error->set, true, __ATOMIC_RELEASE);
}

static bool is_limit(enum rule_id rule)
{
	return rule_status(rule) == STATUS_TIMEOUT || rule_status(rule) == STATUS_RESOURCE_LIMIT;
}

/* Under `log` a violation is first and yet does not count: then the first limit behind it does. */
static enum rule_id limit_behind(const struct run_record *record)
{
	int rule = atomic_load(&record->limit_rule);
	if (rule != RULE_NONE)
		return (enum rule_id)rule;
	unsigned recorded = atomic_load(&record->violation_recorded);
	for (unsigned i = 0; i < recorded; i++)
		if (is_limit(record->violations[i].rule))
			return record->violations[i].rule;
	return RULE_NONE;
}

static enum rule_id failed_gate(const struct run_record *record, bool log_only)
{
	const struct record_failure *first = record_first(record);
	if (!first)
		return RULE_NONE;
	if (log_only && rule_status(first->rule) == STATUS_POLICY_BLOCKED)
		return limit_behind(record);
	return first->rule;
}

static enum run_status status_of_end(const struct run_record *record, enum rule_id *rule)
{
	if (!record->ended && record->interrupted_signal == 0)
		return STATUS_NONE;
	if (!record->ended || record->exit_signal != 0)
		*rule = RULE_ERROR_SIGNAL;
	else if (record->exit_code != 0)
		*rule = RULE_ERROR_EXIT;
	return rule_status(*rule);
}

enum run_status record_status(const struct run_record *record, bool log_only, enum rule_id *rule)
{
	*rule = RULE_NONE;
	/* A failure that was claimed and never finished: its writer died over it. What it was is unknown, and an unknown
	 * failure must not end as a completed run. */
	bool unfinished = atomic_load(&record->first_claimed) && !record_first(record);
	if (unfinished)
		return STATUS_NONE;

	/* What had failed before stays first: a program that is blocked and then makes bailiff fail was blocked. */
	*rule = failed_gate(record, log_only);
	if (record->error.set && *rule == RULE_NONE)
		return STATUS_NONE;
	return *rule == RULE_NONE ? status_of_end(record, rule) : rule_status(*rule);
}

/* As a shell tells them apart: there and not a program, or not there. */
static int exit_status_of_error(const struct record_error *error)
{
	if (!error->set || strcmp(error->stage, "command") != 0)
		return EXIT_BAILIFF_FAILED;
	switch (error->number) {
	case EACCES:
	case ENOEXEC:
	case EISDIR:
		return EXIT_CANNOT_EXECUTE;
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return EXIT_NOT_FOUND;
	default:
		return EXIT_BAILIFF_FAILED;
	}
}

static int exit_status_of_end(const struct run_record *record)
{
	if (!record->ended)
		return EXIT_SIGNAL_BASE + record->interrupted_signal;
	return record->exit_signal ? EXIT_SIGNAL_BASE + record->exit_signal : record->exit_code;
}

int record_exit_status(const struct run_record *record, bool log_only)
{
	enum rule_id rule;
	switch (record_status(record, log_only, &rule)) {
	case STATUS_COMPLETED: return 0;
	case STATUS_RUNTIME_ERROR: return exit_status_of_end(record);
	case STATUS_TIMEOUT: return EXIT_TIMEOUT;
	case STATUS_RESOURCE_LIMIT: return EXIT_RESOURCE_LIMIT;
	case STATUS_POLICY_BLOCKED: return EXIT_POLICY_BLOCKED;
	case STATUS_NONE: break;
	}
	return exit_status_of_error(&record->error);
}
