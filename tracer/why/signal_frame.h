/* What the kernel leaves on an alternate signal stack: where the thread was when the signal came. */
#ifndef WHY_SIGNAL_FRAME_H
#define WHY_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Looks through `length` bytes of a stack that begins at `address` for a signal frame of a handler that runs on an alternate
 * stack (sigaltstack(2)). *interrupted is the stack pointer of the code that was interrupted, on another stack; *end how
 * many of the bytes belong to the alternate one up to the frame. The target may have written such bytes itself: what comes of
 * them is one more range of its own memory, copied for an explanation. */
bool signal_frame_find(const unsigned char *stack, uint32_t length, uint64_t address, uint64_t *interrupted, uint32_t *end);

#endif
