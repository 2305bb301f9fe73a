/* Ownership that shows in the declaration: released when the variable leaves its scope. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_fd   __attribute__((cleanup(cleanup_fd)))
#define auto_file __attribute__((cleanup(cleanup_file)))

/* Hands an owned descriptor on: the scope no longer closes it. */
static inline int fd_release(int *fd)
{
	int released = *fd;
	*fd = -1;
	return released;
}

#endif
