#include "engine/inode_set.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 }; /* a power of two, as all that follow */

static size_t slot_of(const struct inode_set *set, uint64_t inode)
{
	size_t at = (size_t)((inode * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (set->capacity - 1);
	while (set->slots[at] != 0 && set->slots[at] != inode)
		at = (at + 1) & (set->capacity - 1);
	return at;
}

static void grow(struct inode_set *set)
{
	struct inode_set old = *set;
	set->capacity = old.capacity ? old.capacity * 2 : FIRST_CAPACITY;
	set->slots = memory_zeroed(set->capacity, sizeof(*set->slots));
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i])
			set->slots[slot_of(set, old.slots[i])] = old.slots[i];
	free(old.slots);
}

bool inode_set_add(struct inode_set *set, uint64_t inode)
{
	if (set->count >= set->capacity / 2)
		grow(set);
	size_t at = slot_of(set, inode);
	if (set->slots[at] == inode)
		return false;
	set->slots[at] = inode;
	set->count++;
	return true;
}

bool inode_set_has(const struct inode_set *set, uint64_t inode)
{
	return set->count && set->slots[slot_of(set, inode)] == inode;
}

void inode_set_clear(struct inode_set *set)
{
	if (set->count)
		memset(set->slots, 0, set->capacity * sizeof(*set->slots));
	set->count = 0;
}

void inode_set_free(struct inode_set *set)
{
	free(set->slots);
	*set = (struct inode_set){ 0 };
}
