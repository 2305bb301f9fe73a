/* A file written whole under another name, or under none, and then renamed into its place: a reader never sees half of it,
 * and what was there stays until then. Opened early, so that a place that cannot be written is found before anything is
 * done. */
#ifndef BASE_REPLACEMENT_H
#define BASE_REPLACEMENT_H

#include "base/error.h"

struct replacement {
	int fd;             /* the new file, open for reading and writing; -1 where there is none */
	int folder;         /* O_PATH descriptor of the folder that it will be in; -1 */
	char *name;         /* the last component, owned */
	char temporary[64]; /* name of the file until then, "" while it has none */
};

/* What a replacement is before it is opened. */
#define REPLACEMENT_NONE ((struct replacement){ .fd = -1, .folder = -1 })

/* `path` with the links of its last component followed; the target of the last one need not exist. NULL with errno on
 * failure. Owned by the caller. */
char *replacement_follow_links(const char *path);

/* Opens a new file beside `path`, whose links were followed: nothing that exists, or a regular file, whose owner and mode it
 * gets as far as may be; another kind of file is refused. 0 or -errno with `path` named; `replacement` is then closed. */
int replacement_open(const char *path, struct replacement *replacement, struct error *error);

/* Puts what was written into its place and closes it. On failure what was there is untouched and the new file gone; -ESTALE
 * where the new file's name no longer means it. Only with -EBUSY, where `name` is a mount point of its own, all is still
 * open: the caller may write there, and discards. */
int replacement_finish(struct replacement *replacement);

/* Closes it and removes what is left of it. Does nothing the second time. */
void replacement_discard(struct replacement *replacement);

/* openat, close-on-exec, never a controlling terminal, and never on descriptors 0 to 2, which belong to the target. */
int replacement_open_at(int folder, const char *path, int flags, unsigned mode);

#endif
