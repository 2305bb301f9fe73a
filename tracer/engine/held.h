/* Descriptors that the supervisor holds itself: what they were opened from and where they lead. */
#ifndef ENGINE_HELD_H
#define ENGINE_HELD_H

#include "engine/resolve.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* openat2 with O_CLOEXEC: a descriptor or -errno. */
int held_open_beneath(int folder, const char *name, uint64_t flags, uint64_t resolve);

/* The object behind a thread's descriptor, or its current directory for AT_FDCWD, as a descriptor of ours: O_PATH with `flags`.
 * It stays that object, whatever another thread puts under the number later; so take first, and decide about what was taken.
 * A descriptor or -errno: -EBADF where the number is not open. */
int held_take(pid_t tid, int descriptor, int flags);

/* Where a descriptor of ours leads: its canonical path, or the kernel's word for what has none ("pipe:[7]"). 0 or -errno. */
int held_path(int fd, char path[static PATH_MAX], bool *deleted);

/* The same as a resolved object. 0 or -errno. */
int held_object(int fd, struct resolved *resolved);

#endif
