/* The last resort, which needs no tables: code that keeps frame pointers links its frames through rbp. */
#include "why/unwind.h"

#include <stdio.h>

bool unwind_add(const struct image *image, struct unwind_walk *walk, uint64_t address, bool is_exact)
{
	if (walk->count == RECORD_STACK_FRAME_MAX) {
		snprintf(walk->reason, sizeof(walk->reason), "only the innermost %d frames are kept", RECORD_STACK_FRAME_MAX);
		return false;
	}
	/* A place where no code is mapped is no caller; a program that jumped there itself still has its innermost frame. */
	if (walk->count > 0 && !image_is_code(image, address)) {
		snprintf(walk->reason, sizeof(walk->reason), "the stack leads to 0x%llx, where no code is", (unsigned long long)address);
		return false;
	}
	walk->frames[walk->count++] = (struct unwind_frame){ .address = address, .is_exact = is_exact };
	return true;
}

static void walk_frame_pointers(struct image *image, struct unwind_walk *walk)
{
	uint64_t frame = image->registers[IMAGE_REGISTER_RBP], floor = image->registers[IMAGE_REGISTER_RSP], pair[2];
	if (!unwind_add(image, walk, image->registers[IMAGE_REGISTER_RIP], true))
		return;
	/* Each frame lies above the one that it called: so the walk ends. */
	while (frame >= floor && frame % sizeof(uint64_t) == 0 && image_read(image, frame, pair, sizeof(pair))) {
		if (pair[1] == 0) {
			walk->whole = true;
			return;
		}
		if (!unwind_add(image, walk, pair[1], false))
			return;
		floor = frame + sizeof(pair);
		frame = pair[0];
	}
	snprintf(walk->reason, sizeof(walk->reason), "the chain of frame pointers ends");
}

const struct unwinder unwinder_frame_pointers = { "frame pointers", walk_frame_pointers };
