/* An interpreter's reader numbers the evaluations that it finds, innermost first, and the unwinder finds the native frames of
 * the function that evaluates: the n-th of these runs the script frames of the n-th evaluation. Neither knows of the other,
 * so that their numbers must agree, as far as both stacks go, before anything is said. */
#include "why/mixed.h"

#include "why/script.h"

#include <string.h>

struct evaluators {
	uint32_t index[RECORD_STACK_FRAME_MAX];
	uint32_t count;
};

static const char *evaluator_of(const struct record_explanation *explanation)
{
	for (size_t i = 0; explanation->script_count > 0 && script_readers[i]; i++)
		if (strcmp(script_readers[i]->language, explanation->script[0].language) == 0)
			return script_readers[i]->evaluator;
	return NULL;
}

/* A compiler may have put a part of the function elsewhere, under its name with a suffix. */
static bool is_evaluator(const struct record_stack_frame *frame, const char *name)
{
	size_t length = strlen(name);
	return !frame->inlined && strncmp(frame->function, name, length) == 0 &&
	       (frame->function[length] == '\0' || frame->function[length] == '.');
}

static uint32_t last_evaluation(const struct record_explanation *explanation)
{
	uint32_t last = 0;
	for (uint32_t i = 0; i < explanation->script_count; i++)
		if (explanation->script[i].evaluation > last)
			last = explanation->script[i].evaluation;
	return last;
}

/* A stack that was cut has fewer; only one that was unwound by tables has none missing in between. */
static bool numbers_agree(const struct record_explanation *explanation, uint32_t native, uint32_t script)
{
	bool native_whole = explanation->stack_missing[0] == '\0' && explanation->stack_count < RECORD_STACK_FRAME_MAX;
	bool script_whole = explanation->script_missing[0] == '\0' && explanation->script_count < RECORD_SCRIPT_FRAME_MAX;
	if (native == script)
		return true;
	if (strcmp(explanation->stack_source, "frame pointers") == 0)
		return false;
	return native < script ? !native_whole : !script_whole;
}

void mixed_link(struct record_explanation *explanation)
{
	struct evaluators evaluators = { .count = 0 };
	if (explanation->script_count > RECORD_SCRIPT_FRAME_MAX || explanation->stack_count > RECORD_STACK_FRAME_MAX)
		return;
	const char *name = evaluator_of(explanation);
	for (uint32_t i = 0; name && i < explanation->stack_count; i++)
		if (is_evaluator(&explanation->stack[i], name))
			evaluators.index[evaluators.count++] = i;
	if (!numbers_agree(explanation, evaluators.count, last_evaluation(explanation)))
		return;
	for (uint32_t i = 0; i < explanation->script_count; i++) {
		struct record_script_frame *frame = &explanation->script[i];
		if (frame->evaluation > 0 && frame->evaluation <= evaluators.count)
			frame->native = evaluators.index[frame->evaluation - 1] + 1;
	}
}
