#include "tracee/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE_BYTES = 4096, FIRST_READ_BYTES = 256 };

static int transfer_error(ssize_t done, size_t wanted)
{
	if (done == (ssize_t)wanted)
		return 0;
	if (done < 0 && errno == ESRCH)
		return -ESRCH;
	return -EFAULT; /* EPERM and EIO too: what cannot be read is refused, never left to the kernel */
}

int memory_read(pid_t tid, tracee_address from, void *to, size_t length)
{
	struct iovec local = { to, length }, remote = { (void *)from.value, length };
	return length == 0 ? 0 : transfer_error(process_vm_readv(tid, &local, 1, &remote, 1, 0), length);
}

int memory_write(pid_t tid, tracee_address to, const void *from, size_t length)
{
	struct iovec local = { (void *)from, length }, remote = { (void *)to.value, length };
	return length == 0 ? 0 : transfer_error(process_vm_writev(tid, &local, 1, &remote, 1, 0), length);
}

/* Most names are short: the first read is small, and no read crosses a page, so that a partial one cannot happen. */
ssize_t memory_read_string(pid_t tid, tracee_address from, char *to, size_t capacity)
{
	size_t length = 0;
	while (length < capacity) {
		uint64_t address = from.value + length;
		size_t chunk = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
		if (length == 0 && chunk > FIRST_READ_BYTES)
			chunk = FIRST_READ_BYTES;
		if (chunk > capacity - length)
			chunk = capacity - length;
		int failed = memory_read(tid, tracee_address_of(address), to + length, chunk);
		if (failed)
			return failed;
		const char *end = memchr(to + length, '\0', chunk);
		if (end)
			return end - to;
		length += chunk;
	}
	return -ENAMETOOLONG;
}
