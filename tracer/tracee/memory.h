/* A tracee's memory: the one file that reads and writes it. Addresses are the tracee's own, of their own type so that
 * they are never followed here by mistake. */
#ifndef TRACEE_MEMORY_H
#define TRACEE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct { uint64_t value; } tracee_address;

static inline tracee_address tracee_address_of(uint64_t value)
{
	return (tracee_address){ value };
}

/* Reads exactly `length` bytes: 0, -EFAULT for an address that cannot be read, -ESRCH when the thread is gone. */
int memory_read(pid_t tid, tracee_address from, void *to, size_t length);

/* Reads a NUL-terminated string into `to`, page by page: a string may end at the last byte before an unmapped page.
 * The length without the NUL, -EFAULT, -ESRCH, or -ENAMETOOLONG when no NUL is found in `capacity` bytes. */
ssize_t memory_read_string(pid_t tid, tracee_address from, char *to, size_t capacity);

/* Writes exactly `length` bytes: 0, -EFAULT or -ESRCH. Obeys the tracee's own page protection. */
int memory_write(pid_t tid, tracee_address to, const void *from, size_t length);

#endif
