/* The private folder of a run. */
#ifndef ENGINE_WORKSPACE_H
#define ENGINE_WORKSPACE_H

#include "base/error.h"

#include <limits.h>

struct workspace {
	char path[PATH_MAX]; /* canonical; "" where there is none */
	char name[32];       /* of the folder that it lies in */
	int folder;          /* the one around that, held so that the name is removed where it was made; -1 */
	int lock;            /* the one that it lies in, locked for as long as this process or its tracer lives; -1 */
};

/* Makes a new folder of mode 0700 in $TMPDIR, or in /tmp where that is unset or unusable. 0 or -errno. */
int workspace_make(struct workspace *workspace, struct error *error);

/* Its descriptor, also after the run, when the name may have come to mean something else: never through a link. Owned by the
 * caller; -1 where there is no such folder. */
int workspace_open(const struct workspace *workspace);

/* The same for the folder that it lies in, which nothing of the run but the workspace is in. */
int workspace_open_around(const struct workspace *workspace);

/* It stays where it is: workspace_remove does nothing any more. */
void workspace_keep(struct workspace *workspace);

/* Removes it with everything in it, also folders without permission bits and trees of any depth, never through a link.
 * Only after everybody in the tree is dead. 0 or -errno (what could not be removed stays). */
int workspace_remove(struct workspace *workspace, struct error *error);

/* Folders that runs of this user have made in $TMPDIR or /tmp and that nobody removed, since bailiff itself was killed: they
 * are removed, all others left alone. `visit` is told of each that a run has made and did not keep: removed, still in use by
 * a bailiff that lives, or stuck with an errno. 0 or -errno (a folder to look into cannot be read). */
enum workspace_found { WORKSPACE_NOT_OURS, WORKSPACE_REMOVED, WORKSPACE_IN_USE, WORKSPACE_STUCK };
typedef void workspace_visit(const char *path, enum workspace_found found, int number, void *data);
int workspace_clean(workspace_visit *visit, void *data, struct error *error);

#endif
