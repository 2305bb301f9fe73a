/* --put and --get: which files are copied into the workspace and out of it. */
#ifndef CLI_COPIES_H
#define CLI_COPIES_H

#include "cli/options.h"
#include "engine/artifact.h"

struct copy_wish {
	char *inside;        /* the name in the workspace: one component; owned */
	const char *outside; /* the path as given; NULL: `inside`, in bailiff's own directory */
	char *owned;         /* what `outside` borrows from where argv does not have it */
};

struct copy_wishes {
	struct copy_wish *items; /* owned */
	size_t count;
};

/* SRC[:NAME], cut at the last colon, and NAME[:DEST], cut at the first. Only words are checked: who may open what is not yet
 * settled when options are read. 0 or -errno. */
int copies_add_put(struct copy_wishes *wishes, const struct option_use *use, struct error *error);
int copies_add_get(struct copy_wishes *wishes, const struct option_use *use, struct error *error);
/* One to copy in, with both names told apart already; takes `inside` and `source` over, also on failure. */
int copies_add_named_put(struct copy_wishes *wishes, char *inside, char *source, struct error *error);
void copy_wishes_free(struct copy_wishes *wishes);

/* The files of one run. */
struct copies {
	struct artifact_input *inputs; /* owned, as all */
	size_t input_count;
	struct artifact *artifacts;
	size_t artifact_count;
};

/* Before the run: destinations are opened first, then the files copied into `folder`. 0 or -errno. */
int copies_prepare(struct copies *copies, const struct copy_wishes *put, const struct copy_wishes *get, const char *cwd,
		   int folder, struct error *error);

/* After the run, into the record; `folder` is -1 where the workspace is gone. */
void copies_take(struct copies *copies, int folder, const struct policy *policy, struct run_record *record);
void copies_free(struct copies *copies);

#endif
