/* The larger parts of a verdict, each built by a file of its own; for verdict.c only. */
#ifndef VERDICT_PARTS_H
#define VERDICT_PARTS_H

#include "verdict/verdict.h"

/* One failed gate, in the shape of `first_failure`; `count` is only part of recorded violations, `explanation` (else NULL)
 * only of the first. */
cJSON *failure_to_json(const struct record_failure *failure, const struct record_explanation *explanation, bool with_count);

/* The keys `stack` and `script` with what belongs to them; without an explanation, empty lists. */
void stacks_add(cJSON *object, const struct record_explanation *explanation);

/* "; FILE:LINE in FUNCTION": the innermost line of the program's own script, else of its native code. False where neither
 * is known. */
bool stacks_append_place(struct text *text, const struct record_explanation *explanation);

/* One frame in words, counted from the innermost that a reader looks for; false behind the last. Made safe by the caller. */
bool stacks_script_words(const cJSON *failure, int index, struct text *line);
bool stacks_native_words(const cJSON *failure, int index, struct text *line);

/* The frame itself in words; false where it is none. */
bool stacks_script_frame_words(const cJSON *frame, struct text *line);
bool stacks_native_frame_words(const cJSON *frame, struct text *line);

/* Where other native code called back into the script: both stacks as one, from the innermost frame to the outermost of the
 * script. Fills up to `most` lines, which the caller frees, and returns how many; else 0. */
int stacks_mixed_words(const cJSON *failure, struct text *lines, int most);

/* The key `envelope`: what someone else needs to run it again. */
void envelope_add(cJSON *verdict, const struct run_record *record, const struct verdict_context *context);

/* Its keys `programs`, `inputs` and `source`, with what belongs to them. */
void envelope_add_files(cJSON *envelope, const struct run_record *record, const struct verdict_context *context);

/* "KEY": the bytes, which are UTF-8 but may hold a NUL; or in base64, whatever they are. */
void captured_add_text(cJSON *object, const char *key, const char *bytes, size_t length);
void captured_add_base64(cJSON *object, const char *key, const char *bytes, size_t length);

/* One of `notes`, and what --get copied out or refused to; false where it is none. Made safe by the caller. */
bool note_words(const cJSON *note, struct text *line);
bool artifact_words(const cJSON *artifact, struct text *line);

/* The text of the program, where the verdict holds it. For people. */
void explain_source(const cJSON *verdict, struct text *out);

/* What verdict and summary both have to know. */
struct verdict_outcome {
	enum run_status status;
	enum rule_id rule;
	const struct record_failure *first; /* NULL where no gate failed */
	struct record_error error;          /* .set false where status is not STATUS_NONE */
};

/* `spare` is filled and pointed to where a run failed by its end alone and nobody latched that. */
void verdict_outcome_of(const struct run_record *record, const struct verdict_context *context,
			struct record_failure *spare, struct verdict_outcome *outcome);

/* As verdict_summary, for an outcome that is known already. */
char *summary_of(const struct run_record *record, const struct verdict_context *context,
		 const struct verdict_outcome *outcome);

#endif
