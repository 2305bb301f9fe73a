/* Where a thread that stops often runs: on the tracer's own processor.
 *
 * A stop wakes the tracer, and its end wakes the thread. Across processors each wake-up costs 8 to 35 us, since an idle one
 * has to be woken; on one processor the two take turns and a stop costs 4 us (measured, Linux 6.18). So a thread that stops
 * again and again is moved beside the tracer, and gets its own processors back once it has not stopped for a few
 * milliseconds: what computes is never held together. What the program asks about its processors is answered as ever. */
#ifndef ENGINE_PLACEMENT_H
#define ENGINE_PLACEMENT_H

#include <stdint.h>
#include <sys/types.h>

struct placement;
struct task;

/* Call from the tracer's own thread. NULL where there is one processor only, or where they cannot be counted: all functions
 * take NULL and do nothing. */
struct placement *placement_new(void);
void placement_free(struct placement *placement);

/* The thread is at a seccomp stop. */
void placement_note_stop(struct placement *placement, struct task *task);

/* Gives the thread its own processors back, if it was moved: it is about to look at them, or to choose others. */
void placement_undo(struct placement *placement, pid_t tid);

/* `child` was just made by `parent`, and has its processors from it. */
void placement_inherited(struct placement *placement, pid_t parent, pid_t child);

/* The thread is gone; or goes on under another number after an execve (`to`, else 0). */
void placement_forget(struct placement *placement, pid_t tid, pid_t to);

#endif
