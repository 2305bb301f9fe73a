/* How much the private folder takes on its file system: for limits.workspace.
 *
 * There is no quota without root, so the folder is counted, by front every few milliseconds and by the tracer before a call
 * that takes room all at once. Counting goes in slices, so that a folder with a million files holds nobody up. */
#ifndef ENGINE_QUOTA_H
#define ENGINE_QUOTA_H

#include "engine/shared.h"
#include "engine/workspace.h"

#include <stdint.h>

struct quota;

/* NULL where the workspace is gone or there is none. `shared` (borrowed) tells whose descriptors count. */
struct quota *quota_new(const struct workspace *workspace, struct shared *shared, uint64_t limit_bytes);
void quota_free(struct quota *quota);

enum quota_state {
	QUOTA_COUNTING, /* time is up: the next call goes on from here */
	QUOTA_WITHIN,   /* counted to the end */
	QUOTA_EXCEEDED, /* more than the limit, whatever else is there */
	QUOTA_UNKNOWN,  /* a folder that cannot be counted: treated as exceeded */
};

/* Counts until `until_ns` (clock_now_ns) at most, and begins anew after an answer. */
enum quota_state quota_look(struct quota *quota, uint64_t until_ns);

/* Of the last answer: the bytes (so far, where it is QUOTA_EXCEEDED), and what could not be counted. */
uint64_t quota_bytes(const struct quota *quota);
const char *quota_problem(const struct quota *quota);

#endif
