/* Acting with a tracee's own rights: what the supervisor does for a thread it does with that thread's file-system uid,
 * gid, groups and capabilities. As an ordinary user both are always the same and nothing happens here. */
#ifndef ENGINE_IDENTITY_H
#define ENGINE_IDENTITY_H

#include "engine/supervisor.h"

/* Capabilities that a target started as root keeps, and the supervisor with it (and CAP_SYS_PTRACE). Not CAP_MKNOD: a
 * block device made in a writable folder opens the whole disk. */
uint64_t identity_kept_capabilities(void);

/* Their names, for people. */
extern const char identity_kept_names[];

/* Remembers who we are; before anything else. 0 or -errno. */
int identity_begin(struct supervisor *supervisor);

/* Becomes the thread's identity. 0 or -errno: then the operation must be refused. */
int identity_assume(struct supervisor *supervisor, struct task *task);

/* Drops the calling process' capabilities to `kept`, also from the bounding set where that is possible. 0 or -errno. */
int identity_drop_capabilities(uint64_t kept, bool bounding);

#endif
