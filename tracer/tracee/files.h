/* The regular files that a process holds: open, or mapped. */
#ifndef TRACEE_FILES_H
#define TRACEE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct held_file {
	dev_t device;
	uint64_t inode, blocks; /* of 512 bytes */
	uint64_t links;         /* 0: it has no name any more */
	bool writable;          /* the descriptor is open for writing */
	int descriptor;
};

typedef void files_visit(const struct held_file *file, void *data);

/* Each descriptor of the process that is a regular file. One that is only on its way through a socket is not seen. */
void files_each_open(pid_t tgid, files_visit *visit, void *data);

/* Each file whose name was below `folder` and is no more: open, or only mapped still. Of the latter, `blocks` is what has been
 * mapped of it, since there is no way to ask. The device is not told: overlay and btrfs give a mapping another than stat does. */
void files_each_deleted(pid_t tgid, const char *folder, files_visit *visit, void *data);

/* Bytes that are resident in the process' mappings of the files for which `wanted` says so. Reads /proc/PID/smaps: dear. */
uint64_t files_resident(pid_t tgid, bool (*wanted)(dev_t device, uint64_t inode, const void *data), const void *data);

#endif
