/* The sealed page: memory that the supervisor writes, every tracee reads, and nobody in the tree can change.
 *
 * A decision about a pointer argument is worth nothing while another thread may rewrite the bytes behind it: a check alone
 * loses one race in four. So the bytes that were decided are copied here, and the argument points here until the call has
 * returned. Three things make that hold:
 *     - a memfd sealed FUTURE_WRITE, SHRINK and GROW after the supervisor's own mapping: no other mapping of it can ever be
 *       written, by any of about seventy ways that were tried, also as root;
 *     - it lies below PAGE_END, and the filter refuses every memory call on an address below that: a range that reaches the
 *       page must start below its end, so that one comparison per call is complete;
 *     - it is mapped anew at each PTRACE_EVENT_EXEC, before the image's first instruction; fork and clone inherit it. */
#ifndef TRACEE_PAGE_H
#define TRACEE_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PAGE_END = 0x200000,       /* non-PIE programs begin at 0x400000 */
	PAGE_BASE = 0x10000,       /* at or above any vm.mmap_min_addr that is in use */
	PAGE_LONG_COUNT = 200,     /* slots for long paths */
	PAGE_LONG_BYTES = 4608,    /* 4096 of path and what goes with it */
	PAGE_SHORT_COUNT = 2048,
	PAGE_SHORT_BYTES = 512,
	PAGE_SLOT_NONE = -1,
};

struct page;

/* Makes, maps and seals the memory. NULL with errno set. */
struct page *page_new(void);
void page_free(struct page *page);

/* An O_RDONLY descriptor of it, to be given to tracees; borrowed. */
int page_descriptor(const struct page *page);
size_t page_length(void);

/* Takes a slot of at least `bytes`, or PAGE_SLOT_NONE when all are in use. */
int page_slot_take(struct page *page, size_t bytes);
void page_slot_return(struct page *page, int slot);
void *page_slot_bytes(struct page *page, int slot);
uint64_t page_slot_address(int slot);

/* Is the mapping at PAGE_BASE of this thread's address space the page, read-only and shared? By /proc/TID/maps. */
int page_is_mapped(const struct page *page, pid_t tid);

#endif
