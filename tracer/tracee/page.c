#include "tracee/page.h"

#include "base/bug.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SHORT_OFFSET = PAGE_LONG_COUNT * PAGE_LONG_BYTES, SLOT_COUNT = PAGE_LONG_COUNT + PAGE_SHORT_COUNT, PAGE_ALIGN = 4096 };

struct page {
	int readable;    /* reopened O_RDONLY: a mapping of it cannot be made writable by any later call */
	ino_t inode;
	unsigned char *bytes;
	bool taken[SLOT_COUNT];
	int next_short;  /* where the search begins: slots are given back quickly, so that the first look nearly always hits */
};

_Static_assert(PAGE_BASE + SHORT_OFFSET + PAGE_SHORT_COUNT * PAGE_SHORT_BYTES <= PAGE_END, "the page ends below PAGE_END");

size_t page_length(void)
{
	size_t bytes = SHORT_OFFSET + PAGE_SHORT_COUNT * PAGE_SHORT_BYTES;
	return (bytes + PAGE_ALIGN - 1) / PAGE_ALIGN * PAGE_ALIGN;
}

static int open_readable(int fd)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct page *page_new(void)
{
	struct stat status;
	auto_fd int fd = memfd_create("bailiff-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)page_length()) != 0 || fstat(fd, &status) != 0)
		return NULL;
	void *bytes = mmap(NULL, page_length(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	int readable = -1;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		readable = open_readable(fd);
	if (readable < 0) {
		munmap(bytes, page_length());
		return NULL;
	}
	struct page *page = memory_zeroed(1, sizeof(*page));
	*page = (struct page){ .readable = readable, .inode = status.st_ino, .bytes = bytes };
	return page;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	munmap(page->bytes, page_length());
	close(page->readable);
	free(page);
}

int page_descriptor(const struct page *page)
{
	return page->readable;
}

static size_t slot_offset(int slot)
{
	bug_unless(slot >= 0 && slot < SLOT_COUNT);
	if (slot < PAGE_LONG_COUNT)
		return (size_t)slot * PAGE_LONG_BYTES;
	return SHORT_OFFSET + (size_t)(slot - PAGE_LONG_COUNT) * PAGE_SHORT_BYTES;
}

static int take_between(struct page *page, int first, int count, int start)
{
	for (int i = 0; i < count; i++) {
		int slot = first + (start + i) % count;
		if (page->taken[slot])
			continue;
		page->taken[slot] = true;
		return slot;
	}
	return PAGE_SLOT_NONE;
}

int page_slot_take(struct page *page, size_t bytes)
{
	if (bytes > PAGE_LONG_BYTES)
		return PAGE_SLOT_NONE;
	if (bytes > PAGE_SHORT_BYTES)
		return take_between(page, 0, PAGE_LONG_COUNT, 0);
	int slot = take_between(page, PAGE_LONG_COUNT, PAGE_SHORT_COUNT, page->next_short);
	if (slot != PAGE_SLOT_NONE)
		page->next_short = slot - PAGE_LONG_COUNT;
	return slot;
}

void page_slot_return(struct page *page, int slot)
{
	bug_unless(slot >= 0 && slot < SLOT_COUNT && page->taken[slot]);
	page->taken[slot] = false;
}

void *page_slot_bytes(struct page *page, int slot)
{
	return page->bytes + slot_offset(slot);
}

uint64_t page_slot_address(int slot)
{
	return PAGE_BASE + slot_offset(slot);
}

int page_is_mapped(const struct page *page, pid_t tid)
{
	char path[32], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	auto_file FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	/* The lowest mapping comes first, and nothing of the tree's can lie below. */
	while (fgets(line, sizeof(line), file)) {
		uint64_t start, end, inode;
		char rights[8];
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %" SCNu64, &start, &end, rights, &inode) != 4)
			return -EPROTO;
		if (start == PAGE_BASE && end == PAGE_BASE + page_length() && strcmp(rights, "r--s") == 0 && inode == page->inode)
			return 0;
		if (start >= PAGE_END)
			break;
	}
	return -EFAULT;
}
