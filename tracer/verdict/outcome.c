#include "verdict/parts.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

static bool log_only(const struct verdict_context *context)
{
	return context->policy && context->policy->on_violation == ON_VIOLATION_LOG;
}

/* The end of the main process as a failed gate of its own. */
static void describe_end(const struct run_record *record, enum rule_id rule, struct record_failure *failure)
{
	failure->rule = rule;
	failure->when_ms = record->usage.wall_ms;
	if (record->interrupted_signal)
		snprintf(failure->target, sizeof(failure->target), "%s to bailiff", signal_text(record->interrupted_signal));
	else if (record->exit_signal)
		snprintf(failure->target, sizeof(failure->target), "%s", signal_text(record->exit_signal));
	else
		snprintf(failure->target, sizeof(failure->target), "exit code %d", record->exit_code);
}

void verdict_outcome_of(const struct run_record *record, const struct verdict_context *context,
			struct record_failure *spare, struct verdict_outcome *outcome)
{
	*outcome = (struct verdict_outcome){ .first = record_first(record) };
	outcome->status = record_status(record, log_only(context), &outcome->rule);
	outcome->error = record->error;
	if (outcome->status == STATUS_NONE && !outcome->error.set)
		outcome->error = (struct record_error){ .set = true, .stage = "supervise",
							.message = "nothing tells how the run ended" };
	if (outcome->status == STATUS_RUNTIME_ERROR && !outcome->first) {
		describe_end(record, outcome->rule, spare);
		outcome->first = spare;
	}
}

char *verdict_summary(const struct run_record *record, const struct verdict_context *context)
{
	auto_free struct record_failure *spare = memory_zeroed(1, sizeof(*spare));
	struct verdict_outcome outcome;
	verdict_outcome_of(record, context, spare, &outcome);
	return summary_of(record, context, &outcome);
}
