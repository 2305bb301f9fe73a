/* Where the frames of a script sit among the native ones. */
#ifndef WHY_MIXED_H
#define WHY_MIXED_H

#include "verdict/record.h"

/* Sets `native` of the script frames whose native frame can be told, when both stacks are there. */
void mixed_link(struct record_explanation *explanation);

#endif
