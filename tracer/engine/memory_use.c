/* RssAnon + RssShmem + VmSwap of every process tells of what is mapped. Bytes that were written to a memfd, or to a file on a
 * tmpfs such as /dev/shm, are in nobody's RssShmem until they are mapped: 300 MiB went past every sum. They are found through
 * the descriptors. What is mapped of such a file is in both, and taken off again.
 *
 * A file with a name on a tmpfs is nobody's once it is closed; limits.file_size and limits.workspace bound it. */
#include "engine/memory_use.h"

#include "base/cleanup.h"
#include "tracee/files.h"
#include "tracee/proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { BLOCK_BYTES = 512, DEVICE_SHIFT = 40 };

static void add_device(struct memory_use *use, dev_t device)
{
	if (use->device_count < MEMORY_DEVICE_MAX)
		use->devices[use->device_count++] = device;
}

/* The kernel's own tmpfs, on which memfds lie, is mounted nowhere. */
static void add_memfd_device(struct memory_use *use)
{
	struct stat status;
	auto_fd int fd = memfd_create("bailiff-probe", MFD_CLOEXEC);
	if (fd >= 0 && fstat(fd, &status) == 0)
		add_device(use, status.st_dev);
}

/* proc_pid_mountinfo(5): "36 35 98:0 / /mnt rw … - tmpfs source options". */
static void add_mounted(struct memory_use *use)
{
	auto_free char *line = NULL;
	size_t size = 0;
	unsigned major, minor;
	auto_file FILE *mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts && getline(&line, &size, mounts) > 0) {
		const char *type = strstr(line, " - ");
		if (type && strncmp(type, " - tmpfs ", 9) == 0 && sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2)
			add_device(use, makedev(major, minor));
	}
}

void memory_use_begin(struct memory_use *use)
{
	*use = (struct memory_use){ .device_count = 0 };
	add_memfd_device(use);
	add_mounted(use);
}

/* Inode numbers of a tmpfs are counted up from 1: none comes near the device's bits. */
static uint64_t file_key(dev_t device, uint64_t inode)
{
	return inode + ((uint64_t)device << DEVICE_SHIFT);
}

void memory_use_ignore(struct memory_use *use, int fd)
{
	struct stat status;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		inode_set_add(&use->foreign, file_key(status.st_dev, status.st_ino));
}

void memory_use_end(struct memory_use *use)
{
	inode_set_free(&use->foreign);
	inode_set_free(&use->files);
}

static bool is_memory(const struct memory_use *use, dev_t device)
{
	for (size_t i = 0; i < use->device_count; i++)
		if (use->devices[i] == device)
			return true;
	return false;
}

static void count_file(const struct held_file *file, void *data)
{
	struct memory_use *use = data;
	bool ours = file->writable || file->links == 0;
	uint64_t key = file_key(file->device, file->inode);
	if (ours && is_memory(use, file->device) && !inode_set_has(&use->foreign, key) && inode_set_add(&use->files, key))
		use->file_bytes += file->blocks * BLOCK_BYTES;
}

static bool is_counted(dev_t device, uint64_t inode, const void *data)
{
	const struct memory_use *use = data;
	return inode_set_has(&use->files, file_key(device, inode));
}

/* What is mapped of the counted files is read between two looks at the sum, and the lower one taken: a process that maps more
 * meanwhile, or ends (its memory goes before its descriptors do), would be counted twice. */
static uint64_t own_memory(const struct memory_use *use, pid_t tgid)
{
	uint64_t before, after;
	if (proc_read_memory(tgid, &before) != 0)
		return 0;
	if (use->file_bytes == 0)
		return before;
	uint64_t mapped = files_resident(tgid, is_counted, use);
	if (proc_read_memory(tgid, &after) != 0)
		return 0;
	uint64_t used = before < after ? before : after;
	return used > mapped ? used - mapped : 0;
}

uint64_t memory_use_of_tree(struct memory_use *use, struct shared *shared)
{
	int high = atomic_load(&shared->process_high);
	inode_set_clear(&use->files);
	use->file_bytes = 0;
	for (int i = 0; i < high; i++) {
		pid_t tgid = atomic_load_explicit(&shared->processes[i], memory_order_relaxed);
		if (tgid > 0)
			files_each_open(tgid, count_file, use);
	}
	uint64_t total = use->file_bytes;
	for (int i = 0; i < high; i++) {
		pid_t tgid = atomic_load_explicit(&shared->processes[i], memory_order_relaxed);
		if (tgid > 0)
			total += own_memory(use, tgid);
	}
	return total;
}
