/* Who made a blocked call: stacks of the program, read from outside.
 *
 *     capture    in the tracer, at the stop: script frames from memory alone, and copies for the unwinder
 *     complete   in front, when the tree is gone: a helper process unwinds the copies under rlimits and a deadline
 *
 * Nothing here writes to the target, and nothing that the target's memory or its files hold may crash, hang or mislead the
 * supervisor: every value read is checked, every loop is bounded, and a failed check gives a reason instead of a line. */
#ifndef WHY_WHY_H
#define WHY_WHY_H

#include "engine/explainer.h"

#include "policy/policy.h"

extern const struct explainer why_explainer;

/* After complete(): takes the source line back out of the record where the policy does not let the target read its file. A
 * record goes into a verdict only behind this. */
void why_judge_source(struct run_record *record, const struct policy *policy, const char *run_cwd);

/* The helper: `bailiff --internal-unwind`, started by complete(). Reads snapshots from descriptor 3, writes frames to
 * descriptor 4. Returns an exit status. */
int why_unwind_main(void);

#endif
