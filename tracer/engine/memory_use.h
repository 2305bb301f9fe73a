/* Memory in use by the whole tree, without cgroups. */
#ifndef ENGINE_MEMORY_USE_H
#define ENGINE_MEMORY_USE_H

#include "engine/inode_set.h"
#include "engine/shared.h"

#include <sys/types.h>

enum { MEMORY_DEVICE_MAX = 64 };

struct memory_use {
	dev_t devices[MEMORY_DEVICE_MAX]; /* file systems whose files are memory */
	size_t device_count;
	struct inode_set foreign;
	struct inode_set files; /* of the look that is under way */
	uint64_t file_bytes;
};

/* Finds the file systems that are memory: that of memfds, and each tmpfs that is mounted. */
void memory_use_begin(struct memory_use *use);

/* The file behind `fd`, which was there before the run, is not the run's memory. */
void memory_use_ignore(struct memory_use *use, int fd);
void memory_use_end(struct memory_use *use);

/* Bytes in use now: what every listed process has for itself (anonymous, shared, swapped), and the files in memory that they
 * hold open for writing or that have no name, each once. */
uint64_t memory_use_of_tree(struct memory_use *use, struct shared *shared);

#endif
