/* Calls that mean an open and are none of those that a filter expects: another architecture's, a number with stray bits,
 * rings, handles, trees. */
#include "attack.h"

#include <linux/io_uring.h>

static bool by_i386(void)
{
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result = 5; /* open */
	attack_require(name != MAP_FAILED, "map low memory");
	strcpy(name, "b/file");
	__asm__ volatile("int $0x80" : "+a"(result) : "b"(name), "c"((long)O_RDONLY), "d"(0L) : "memory", "cc");
	return attack_is_barred((int)result);
}

static bool by_x32(void)
{
	return attack_is_barred((int)syscall(0x40000000 | SYS_open, "b/file", O_RDONLY));
}

/* The kernel takes the number as 32 bits. */
static bool by_stray_bits(void)
{
	return attack_is_barred((int)syscall(1L << 40 | SYS_open, "b/file", O_RDONLY));
}

/* Flags and directory are 32 bits as well. */
static bool by_stray_argument_bits(void)
{
	const long high = 1L << 40;
	return attack_is_barred((int)syscall(SYS_openat, high | (unsigned)AT_FDCWD, "b/file", high | O_RDONLY));
}

static bool by_ring(void)
{
	struct io_uring_params parameters;
	memset(&parameters, 0, sizeof(parameters));
	int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	if (ring < 0)
		return false;
	size_t length = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe) + 4096;
	char *queues = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queues == MAP_FAILED || entries == MAP_FAILED)
		return false;
	*entries = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)"b/file" };
	*(unsigned *)(void *)(queues + parameters.sq_off.array) = 0;
	__atomic_store_n((unsigned *)(void *)(queues + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return false;
	const struct io_uring_cqe *done = (const void *)(queues + parameters.cq_off.cqes);
	return attack_is_barred(done->res);
}

/* An O_PATH descriptor that no open has given, opened again. */
static bool by_tree(void)
{
	char name[32];
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, "b/file", 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return fd >= 0 && attack_reads_barred(name);
}

/* O_PATH gives no access, and must not become one. */
static bool by_path_descriptor(void)
{
	char name[32];
	int fd = open("b/file", O_PATH);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return fd >= 0 && attack_reads_barred(name);
}

static bool by_empty_path(void)
{
	int fd = open("b/file", O_PATH);
	return fd >= 0 && (attack_is_barred(openat(fd, "", O_RDONLY)) || attack_is_barred(openat(fd, ".", O_RDONLY)));
}

static bool by_folder_descriptor(void)
{
	int fd = open("b", O_PATH | O_DIRECTORY);
	return fd >= 0 && attack_is_barred(openat(fd, "../b/./file", O_RDONLY));
}

static bool by_handle(void)
{
	struct { struct file_handle head; char bytes[128]; } handle = { .head.handle_bytes = 128 };
	int mount;
	if (name_to_handle_at(AT_FDCWD, "b/file", &handle.head, &mount, 0) != 0)
		return false;
	return attack_is_barred(open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
}

/* Everything but the content: a copy of the name elsewhere. */
static bool by_hard_link(void)
{
	unlink("work/copy");
	return link("b/file", "work/copy") == 0 && attack_reads_barred("work/copy");
}

static bool by_link(void)
{
	unlink("work/leads");
	return symlink("../b/file", "work/leads") == 0 && attack_reads_barred("work/leads");
}

static bool by_rename(void)
{
	bool won = rename("b/file", "work/taken") == 0 && attack_reads_barred("work/taken");
	if (won)
		rename("work/taken", "b/file");
	return won;
}

static const struct attack_way ways[] = {
	{ "open of i386", by_i386, true }, /* needs CONFIG_IA32_EMULATION */
	{ "open of x32", by_x32, true },
	{ "a number with stray bits", by_stray_bits, false },
	{ "arguments with stray bits", by_stray_argument_bits, false },
	{ "io_uring", by_ring, true }, /* kernel.io_uring_disabled, container profiles */
	{ "open_tree", by_tree, false },
	{ "O_PATH opened again", by_path_descriptor, false },
	{ "O_PATH and an empty name", by_empty_path, true },
	{ "a folder's descriptor", by_folder_descriptor, false },
	{ "open_by_handle_at", by_handle, true }, /* needs CAP_DAC_READ_SEARCH */
	{ "a hard link", by_hard_link, false },
	{ "a symbolic link", by_link, false },
	{ "renaming", by_rename, false },
};

int main(int argc, char **argv)
{
	attack_begin("foreign_call", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
