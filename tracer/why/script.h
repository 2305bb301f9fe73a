/* Script frames: one file per interpreter, each `probe` and `frames`. */
#ifndef WHY_SCRIPT_H
#define WHY_SCRIPT_H

#include "verdict/record.h"
#include "why/process.h"

struct script_reader {
	const char *language; /* "python", "bash", "perl", "php", "javascript" */

	/* Does the process hold this interpreter? By its modules and symbols. */
	bool (*probe)(const struct why_process *process);

	/* Fills frames of the stopped thread, innermost first, and returns their number. Where there are none, or where the walk
	 * had to end early, `reason` says why in a few words ("another thread changed the frames while they were read"). A line
	 * is either right or 0, but for code whose lines are lost: then it is the one that the function begins on, and `reason` says
	 * so. Sets own_code; leaves `source` alone. */
	size_t (*frames)(const struct why_process *process, struct record_script_frame *frames, size_t most, char *reason,
			 size_t reason_bytes);

	/* The native function that runs frames of a script, where each frame's `evaluation` is set; else NULL. */
	const char *evaluator;
};

extern const struct script_reader script_python, script_bash, script_perl, script_php, script_node;

/* Frames as a reader fills them, innermost first. */
struct script_walk {
	struct record_script_frame *frames;
	size_t most, count;
	bool own; /* a frame of the program's own code is among them */
};

/* Where there is no room left, the last place goes to the innermost own frame: it is the one that counts. True when there is
 * nothing more to look for. */
bool script_walk_keep(struct script_walk *walk, const struct record_script_frame *frame);

/* All readers, in the order in which they are tried: {&script_python, …, NULL}. */
extern const struct script_reader *const script_readers[];

#endif
