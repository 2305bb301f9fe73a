#include "why/script.h"

bool script_walk_keep(struct script_walk *walk, const struct record_script_frame *frame)
{
	if (walk->count < walk->most)
		walk->frames[walk->count++] = *frame;
	else if (frame->own_code)
		walk->frames[walk->most - 1] = *frame;
	else
		return false;
	walk->own |= frame->own_code;
	return walk->count == walk->most && walk->own;
}
