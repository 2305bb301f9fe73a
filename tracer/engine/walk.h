/* A name followed component by component, as the kernel would for that thread: links with the names that they make on the way,
 * /proc/self as the caller's own, links whose target is an object. */
#ifndef ENGINE_WALK_H
#define ENGINE_WALK_H

#include "engine/resolve.h"

enum { WALK_PENDING_BYTES = 2 * PATH_MAX };

struct walk {
	struct supervisor *supervisor;
	struct task *task;
	struct resolved *resolved;
	unsigned flags;
	int fd;                      /* the folder reached so far */
	char current[PATH_MAX];      /* its canonical path */
	char pending[WALK_PENDING_BYTES]; /* what is left to walk */
	unsigned followed;
};

/* Walks all that is pending; fills walk->resolved. */
void walk_all(struct walk *walk);

/* Ends the walk with an errno; `component` (may be NULL) and the rest of the name are kept for a decision by name. */
void walk_fail(struct walk *walk, int number, const char *component);

#endif
