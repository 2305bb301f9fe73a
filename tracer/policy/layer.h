/* What one policy file says, before it is merged with others. */
#ifndef POLICY_LAYER_H
#define POLICY_LAYER_H

#include "policy/policy.h"

struct layer {
	/* Only what this file sets. files[0] is the file; missing[] are the lists it has, else the nearest parent. */
	struct policy policy;
	bool on_violation_set;
	char *extends; /* NULL where it extends nothing */
	struct position extends_position;
};

/* Reads and checks the text of one file. `file` as in struct position. On failure nothing is left to free. */
int layer_read(struct layer *layer, const char *file, bool embedded, const char *text, size_t length, struct error *error);
void layer_free(struct layer *layer);

/* Adds what `layer` says to the files that it extends, and leaves the layer empty. Called from the base on; `listed` is
 * all false in the beginning and remembers which lists some file had. */
void layer_merge(struct policy *policy, bool listed[static LIST_COUNT], struct layer *layer);

/* Takes over the limits that nobody set. */
void layer_merge_limits(struct policy *policy, struct layer *layer);

/* Frees what a policy holds, not the policy itself. */
void policy_clear(struct policy *policy);

#endif
