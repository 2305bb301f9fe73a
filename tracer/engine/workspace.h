/* The private folder of a run. */
#ifndef ENGINE_WORKSPACE_H
#define ENGINE_WORKSPACE_H

#include "base/error.h"

#include <limits.h>

struct workspace {
	char path[PATH_MAX]; /* canonical; "" where there is none */
	char name[32];       /* of the folder that it lies in */
	int folder;          /* the one around that, held so that the name is removed where it was made; -1 */
};

/* Makes a new folder of mode 0700 in $TMPDIR, or in /tmp where that is unset or unusable. 0 or -errno. */
int workspace_make(struct workspace *workspace, struct error *error);

/* Its descriptor, also after the run, when the name may have come to mean something else: never through a link. Owned by the
 * caller; -1 where there is no such folder. */
int workspace_open(const struct workspace *workspace);

/* It stays where it is: workspace_remove does nothing any more. */
void workspace_keep(struct workspace *workspace);

/* Removes it with everything in it, also folders without permission bits and trees of any depth, never through a link.
 * Only after everybody in the tree is dead. 0 or -errno (what could not be removed stays). */
int workspace_remove(struct workspace *workspace, struct error *error);

#endif
