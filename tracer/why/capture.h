/* What is taken of a stopped thread while it is there. */
#ifndef WHY_CAPTURE_H
#define WHY_CAPTURE_H

#include "verdict/record.h"

#include <sys/types.h>

/* As struct explainer has it. */
void capture(pid_t tid, pid_t parent, struct record_explanation *explanation);

/* Registers, stack and mappings of one thread, for an unwinder. 0, or -errno where the thread is gone or cannot be read; a
 * stack pointer that points nowhere is no error, and leaves an empty stack. */
int capture_snapshot(pid_t tid, struct record_snapshot *snapshot);

#endif
