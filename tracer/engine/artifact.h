/* Files that a run gets and gives: copied into the workspace before it, and out of it when everybody in the tree is dead.
 *
 * What lies in the workspace afterwards was made by a program that nobody trusts: its names are never followed, nothing but a
 * regular file with one name is opened for its content, and no more of it is read than limits.artifact says. */
#ifndef ENGINE_ARTIFACT_H
#define ENGINE_ARTIFACT_H

#include "base/error.h"
#include "base/hash.h"
#include "base/replacement.h"
#include "policy/policy.h"
#include "verdict/record.h"

/* One file to copy in. `source` and `name` are borrowed. */
struct artifact_input {
	const char *source;     /* path of a regular file; links are followed, they are the caller's own */
	const char *name;       /* one component */
	uint64_t bytes;
	char sha256[HASH_TEXT]; /* of what was copied */
};

/* One file to copy out. `name` is borrowed. */
struct artifact {
	const char *name;               /* one component */
	struct replacement destination; /* open until it is taken */
	char *saved_as;                 /* where it goes, links followed; owned */
	uint64_t bytes;
	char sha256[HASH_TEXT];         /* of what was saved; "" where nothing was */
	char refused[160];              /* why nothing was saved, "" where it was */
};

/* Copies one file into the folder, under a name that is new there, as 0600, or 0700 where the source may be executed. It is
 * hashed before and the copy after: a source that changes meanwhile is an error. 0 or -errno. */
int artifact_put(int folder, struct artifact_input *input, struct error *error);

/* After the run: a note that says where the file came from, its hash, and whether the run left it as it was. */
void artifact_note_input(int folder, const struct artifact_input *input, struct run_record *record);

/* Opens the destination before the run, so that one that cannot be written is found then. 0 or -errno; either way
 * artifact_discard releases it. */
int artifact_open(struct artifact *artifact, const char *name, const char *destination, struct error *error);

/* After the run, with everybody dead: copies and saves the file, or says why not. `folder` is -1 where the workspace is gone.
 * One that is too large is resource_limit_artifact where nothing failed before; one that cannot be saved is an error of
 * bailiff's then. */
void artifact_take(int folder, const struct policy *policy, struct run_record *record, struct artifact *artifact);

void artifact_discard(struct artifact *artifact);

#endif
