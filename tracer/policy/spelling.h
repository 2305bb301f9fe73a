/* The other names of what a pattern names, where folders on its way, or the object itself, are symbolic links. */
#ifndef POLICY_SPELLING_H
#define POLICY_SPELLING_H

#include <stddef.h>

enum { SPELLING_MAX = 3 };

struct spellings {
	char *texts[SPELLING_MAX]; /* owned; the pattern as given is the first */
	size_t count;
};

/* `text` is a well-formed pattern. Its leading folder without pattern characters is resolved, and where the whole names one
 * object, that as well. What does not exist stays as it is written. */
void spellings_find(const char *text, struct spellings *spellings);
void spellings_free(struct spellings *spellings);

/* The canonical name of an absolute path: every link followed, components that do not exist kept. The folders of
 * processes under /proc are not entered: what /proc/self means depends on who asks. NULL where links go in circles. */
char *spelling_resolve(const char *path);

#endif
