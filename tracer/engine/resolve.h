/* From a name in the tracee's view to the canonical path of an object: current directory, directory descriptors,
 * /proc/self and links as the kernel would follow them for that thread; never by cleaning the text. */
#ifndef ENGINE_RESOLVE_H
#define ENGINE_RESOLVE_H

#include "engine/supervisor.h"

#include <limits.h>

enum resolve_flags {
	RESOLVE_LINK = 1 << 0,  /* the last component's own link is the object: it is not followed */
	RESOLVE_EMPTY = 1 << 1, /* an empty name means the directory descriptor itself (AT_EMPTY_PATH) */
	RESOLVE_NAME = 1 << 2,  /* the last component names an entry of its folder (mkdir, unlink, rename): never followed,
				 * not even where a slash stands behind it */
};

struct resolved {
	char path[PATH_MAX];   /* canonical; as far as it goes by name where `error` is set */
	int error;             /* errno of the walk itself (ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EBADF), 0 when found */
	bool parent_exists;    /* with ENOENT: only the last component is missing */
	bool trailing_slash;   /* the name demands a directory */
	bool dot_last;         /* the name ends in `.`, `..` or is `/` alone: it is no entry that could be made or removed */

	/* The last component was a magic link (/proc/PID/fd/N, exe, …), or the name was a descriptor. */
	bool by_descriptor;
	bool unnamed;          /* a pipe, a socket, an anonymous inode: `path` holds the kernel's word for it */
	bool deleted;          /* had a name once */
	bool through_descriptor; /* a folder on the way was a magic link: the same text may mean another place soon */
	pid_t holder;          /* whose descriptor, 0 where it is none */
	int descriptor;        /* number in that process, -1 */

	/* A deny or hide entry matched a name on the way. */
	bool objected;
	struct decision objection;
};

/* Always fills *resolved. `dirfd` is the thread's descriptor or AT_FDCWD. Returns 0, or -ESRCH when the thread is gone. */
int resolve_path(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, unsigned flags,
		 struct resolved *resolved);

/* The same without a look at the file system, for a caller that pins what it decides: the canonical path if no link lies on
 * the way. An open of it through no link then fails with ELOOP where one does, and is resolved in full. False where only a
 * full resolution can tell (`..`, /proc, a first folder that is known to be a link, entries that look at link names). */
bool resolve_as_written(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, struct resolved *resolved);

/* The object behind a descriptor of our own, which nobody in the tree can exchange for another between look and use. */
void resolve_held(int fd, struct resolved *resolved);

/* The folder part of a canonical path ("/" for "/x"), and its last component. */
void resolve_split(const char *path, char folder[static PATH_MAX], const char **name);

/* An O_PATH descriptor of the object that had the canonical `path`, through no link at all: -ELOOP when one has appeared
 * since. -errno otherwise. With `link` the last component may itself be a link, and is then the object. */
int resolve_open(const char *path, bool link);

#endif
