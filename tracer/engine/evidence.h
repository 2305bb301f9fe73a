/* Which files a run executed and read: what the envelope of the verdict lists, so that someone else can run it again.
 *
 * The tracer only writes down what a file was like when it was opened or executed: path, device, inode, size and times. It is
 * hashed by a process of its own when everybody in the tree is dead (evidence_hash.c), and gets a hash only where it is still
 * that very file and was not changed since. So no run waits for a hash, and no hash is one of other bytes than those that the
 * run could read. */
#ifndef ENGINE_EVIDENCE_H
#define ENGINE_EVIDENCE_H

#include "engine/supervisor.h"

/* The tracer's index of what it has written down. Owned: evidence_free. */
struct evidence *evidence_new(const struct run_plan *plan, struct run_record *record);
void evidence_free(struct evidence *evidence);

/* A descriptor of the thread was just opened from the canonical `path` with the flags of an open. What lies in the folders of
 * the system, in the workspace or is no regular file is left out. */
void evidence_opened(struct supervisor *supervisor, pid_t tid, int fd, const char *path, uint64_t flags);

/* The same for a descriptor of our own that is handed in. */
void evidence_delivered(struct supervisor *supervisor, int fd, const char *path, uint64_t flags);

/* At PTRACE_EVENT_EXEC: the program that `fd` is open for, the scripts that led to it, and its ELF loader. */
void evidence_executed(struct stop *stop, int fd, const char *path);
void evidence_loader(struct stop *stop, const char *path);

/* Standard input, by front before the tracer is forked: `fd` is what the run will read. */
void evidence_standard_input(struct run_record *record, int fd);

/* Front, when the run is over: hashes what was written down. It takes as long as the files take, up to a bound; a file system
 * that does not answer costs the hashes, not the verdict. */
void evidence_hash(struct run_record *record);

#endif
