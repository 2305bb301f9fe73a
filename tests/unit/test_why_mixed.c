/* Which native frame runs which frames of a script: only said where both stacks tell the same. */
#include "tap.h"

#include "base/text.h"
#include "why/mixed.h"

#include <stdlib.h>
#include <string.h>

static struct record_explanation *explanation;

static void begin(void)
{
	free(explanation);
	explanation = memory_zeroed(1, sizeof(*explanation));
	strcpy(explanation->stack_source, "libdw");
}

static void native(const char *function)
{
	text_copy(explanation->stack[explanation->stack_count].function, sizeof(explanation->stack[0].function), function);
	explanation->stack_count++;
}

static void script(const char *language, uint32_t evaluation)
{
	struct record_script_frame *frame = &explanation->script[explanation->script_count++];
	text_copy(frame->language, sizeof(frame->language), language);
	frame->evaluation = evaluation;
}

/* open <- evaluates -> one frame; sort <- evaluates -> two frames. */
static void two_evaluations(void)
{
	begin();
	native("open");
	native("_PyEval_EvalFrameDefault");
	native("sort");
	native("_PyEval_EvalFrameDefault.cold");
	native("main");
	script("python", 1);
	script("python", 2);
	script("python", 2);
}

static void expect(const char *name, uint32_t first, uint32_t second, uint32_t third)
{
	const struct record_script_frame *frames = explanation->script;
	mixed_link(explanation);
	tap_ok(frames[0].native == first && frames[1].native == second && frames[2].native == third, "%s: %u %u %u", name,
	       frames[0].native, frames[1].native, frames[2].native);
}

static void test_agree(void)
{
	two_evaluations();
	expect("each frame below the native one that runs it", 2, 4, 4);
	two_evaluations();
	explanation->stack[1].inlined = true;
	expect("an inlined copy of the name is none", 0, 0, 0);
	two_evaluations();
	strcpy(explanation->stack[1].function, "_PyEval_EvalFrameDefaults");
	expect("nor is another name that begins so", 0, 0, 0);
	two_evaluations();
	strcpy(explanation->script[0].language, "bash");
	expect("bash has no such frames", 0, 0, 0);
	two_evaluations();
	for (int i = 0; i < 3; i++)
		explanation->script[i].evaluation = 0;
	expect("a reader that does not count", 0, 0, 0);
}

static void test_cut(void)
{
	two_evaluations();
	explanation->stack_count = 2;
	expect("a whole native stack with too few", 0, 0, 0);
	strcpy(explanation->stack_missing, "only the innermost 128 frames are kept");
	expect("one that was cut", 2, 0, 0);
	explanation->script[0].native = 0;
	strcpy(explanation->stack_source, "frame pointers");
	expect("one that was cut and may have gaps", 0, 0, 0);
	two_evaluations();
	native("_PyEval_EvalFrameDefault");
	expect("whole script frames with too few", 0, 0, 0);
	strcpy(explanation->script_missing, "there are more Python frames than are kept");
	expect("those that were cut", 2, 4, 4);
	two_evaluations();
	explanation->stack_count = 0;
	strcpy(explanation->stack_missing, "the unwinder did not end within 200 ms");
	expect("no native stack", 0, 0, 0);
}

/* Counts that a writer which died may have left. */
static void test_bounds(void)
{
	two_evaluations();
	explanation->script_count = RECORD_SCRIPT_FRAME_MAX + 1;
	expect("more script frames than fit", 0, 0, 0);
	two_evaluations();
	explanation->stack_count = UINT32_MAX;
	expect("more native frames than fit", 0, 0, 0);
	two_evaluations();
	explanation->script[1].evaluation = UINT32_MAX;
	strcpy(explanation->stack_missing, "cut");
	expect("an evaluation that cannot be", 2, 0, 4);
	begin();
	mixed_link(explanation);
	tap_ok(true, "nothing at all");
}

int main(void)
{
	test_agree();
	test_cut();
	test_bounds();
	free(explanation);
	return tap_done();
}
