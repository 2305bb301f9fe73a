/* A set of numbers other than 0, for inodes that have been counted. */
#ifndef ENGINE_INODE_SET_H
#define ENGINE_INODE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inode_set {
	uint64_t *slots; /* open addressing, 0 is a free slot; owned */
	size_t capacity, count;
};

/* False where it was there already. */
bool inode_set_add(struct inode_set *set, uint64_t inode);
bool inode_set_has(const struct inode_set *set, uint64_t inode);

void inode_set_clear(struct inode_set *set);
void inode_set_free(struct inode_set *set);

#endif
