/* Ways to change, replace or lose the sealed page from which decided arguments are read: its bytes, its mapping, the copy that
 * a child gets. Under bailiff every program has it at PAGE. Alone, an own memfd is mapped there, sealed as bailiff seals it;
 * for ways that the seal alone withstands, one that is not sealed (or the control could not win). */
#include "attack.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/uio.h>

enum { PAGE = 0x10000, LENGTH = 0x1e1000, SMALL = 4096, MARK = 'w' };

static char *const page = (char *)PAGE;
static char *const last = (char *)PAGE + LENGTH - 64; /* the end of the last slot, which is hardly ever in use */

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif

static void map_own(bool sealed)
{
	char name[32];
	int fd = memfd_create("own", MFD_ALLOW_SEALING);
	attack_require(fd >= 0 && ftruncate(fd, LENGTH) == 0, "make a memfd");
	if (sealed)
		attack_require(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "seal it");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int reopened = open(name, sealed ? O_RDONLY : O_RDWR);
	void *mapped = mmap(page, LENGTH, sealed ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, reopened, 0);
	attack_require(reopened >= 0 && mapped == page, "map it");
	close(fd);
	close(reopened);
}

/* "10000-158000 r--s", whole and at its place? Where the page is lost, this open fails as well. */
static bool is_mapped(void)
{
	unsigned long start, end;
	char rights[8], line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && start == PAGE && end == PAGE + LENGTH &&
			rights[0] == 'r' && rights[1] == '-' && rights[3] == 's' && strstr(line, "memfd:");
	if (maps)
		fclose(maps);
	return found;
}

static bool is_readable(const char *at)
{
	int ends[2];
	bool readable = pipe(ends) == 0 && write(ends[1], at, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return readable;
}

static bool is_lost(void)
{
	return !is_mapped() || !is_readable(page) || !is_readable(page + LENGTH / 2) || !is_readable(last);
}

static bool is_marked(void)
{
	return is_readable(last) && *(volatile char *)last == MARK;
}

static void begin_mapping(void)
{
	if (attack.alone)
		map_own(true);
	attack_require(is_mapped(), "find the page");
}

static void begin_bytes(void)
{
	if (attack.alone)
		map_own(false);
	else
		attack_require(is_mapped(), "find the page");
	attack_require(!is_marked(), "find the page clean");
}

/* ---- the mapping -------------------------------------------------------------------------------------------------- */

static bool map_fixed_at(uintptr_t start, size_t length, int more)
{
	begin_mapping();
	mmap((void *)start, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | more, -1, 0);
	return is_lost();
}

static bool map_fixed(void)
{
	return map_fixed_at(PAGE, LENGTH, 0);
}

static bool map_fixed_inside(void)
{
	return map_fixed_at(PAGE + 8 * SMALL, SMALL, 0);
}

static bool map_fixed_below(void)
{
	return map_fixed_at(PAGE - SMALL, LENGTH, 0);
}

static bool map_fixed_growing(void)
{
	return map_fixed_at(PAGE, LENGTH, MAP_GROWSDOWN);
}

/* A tag in the address's top bits. */
static bool map_fixed_tagged(void)
{
	return map_fixed_at(PAGE | (uintptr_t)1 << 62, LENGTH, 0);
}

static bool unmap(void)
{
	begin_mapping();
	munmap(page, LENGTH);
	return is_lost();
}

static bool unmap_inside(void)
{
	begin_mapping();
	munmap(page + 16 * SMALL, SMALL);
	return is_lost();
}

static bool unmap_from_zero(void)
{
	begin_mapping();
	syscall(SYS_munmap, 0UL, 0x400000UL);
	return is_lost();
}

static bool move_away(void)
{
	begin_mapping();
	syscall(SYS_mremap, page, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, 0x60000000UL);
	return is_lost();
}

static bool grow_away(void)
{
	begin_mapping();
	void *guard = mmap(page + LENGTH, SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	syscall(SYS_mremap, page, LENGTH, 2 * LENGTH, MREMAP_MAYMOVE);
	return guard == MAP_FAILED || is_lost();
}

/* So large that it counts against a memory limit as well. */
static bool grow_far_away(void)
{
	enum { FAR = 200 << 20 };
	begin_mapping();
	void *guard = mmap(page + LENGTH, SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	syscall(SYS_mremap, page, LENGTH, FAR, MREMAP_MAYMOVE);
	return guard == MAP_FAILED || is_lost();
}

static bool shrink(void)
{
	begin_mapping();
	syscall(SYS_mremap, page, LENGTH, SMALL, 0);
	return is_lost();
}

static bool move_onto(void)
{
	begin_mapping();
	char *own = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_mremap, own, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, page);
	return is_lost();
}

/* The end of a larger mapping of our own, moved so that it covers the page. */
static bool move_onto_inside(void)
{
	begin_mapping();
	char *own = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_mremap, own, SMALL, SMALL, MREMAP_MAYMOVE | MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */, page + 32 * SMALL);
	return is_lost();
}

static bool close_page(void)
{
	begin_mapping();
	mprotect(page, LENGTH, PROT_NONE);
	return is_lost();
}

static bool open_page(void)
{
	begin_mapping();
	mprotect(page, LENGTH, PROT_READ | PROT_WRITE);
	return is_lost();
}

static bool close_by_key(void)
{
	begin_mapping();
	syscall(SYS_pkey_mprotect, page, LENGTH, PROT_NONE, -1);
	return is_lost();
}

static bool advise(int advice)
{
	begin_mapping();
	madvise(page, LENGTH, advice);
	return is_lost();
}

static bool advise_remove(void)
{
	return advise(MADV_REMOVE);
}

static bool advise_dontneed(void)
{
	return advise(MADV_DONTNEED);
}

static bool advise_guard(void)
{
	return advise(102 /* MADV_GUARD_INSTALL, Linux 6.13 */);
}

static bool child_is_without(void)
{
	int status = 0;
	begin_mapping();
	madvise(page, LENGTH, MADV_DONTFORK);
	pid_t child = fork();
	if (child == 0)
		_exit(is_lost());
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static bool attach_shared(void)
{
	begin_mapping();
	int id = shmget(IPC_PRIVATE, LENGTH, IPC_CREAT | 0600);
	attack_require(id >= 0, "make a shared memory segment");
	shmat(id, page, SHM_REMAP);
	shmctl(id, IPC_RMID, NULL);
	return is_lost();
}

static bool attach_shared_rounded(void)
{
	begin_mapping();
	int id = shmget(IPC_PRIVATE, SMALL, IPC_CREAT | 0600);
	attack_require(id >= 0, "make a shared memory segment");
	shmat(id, page + 100, SHM_REMAP | SHM_RND);
	shmctl(id, IPC_RMID, NULL);
	return is_lost();
}

/* The heap is said to end inside the page, and then shrinks. */
static bool heap_shrinks(void)
{
	begin_mapping();
	struct prctl_mm_map map = {
		.start_code = PAGE, .end_code = PAGE + 1, .start_data = PAGE, .end_data = PAGE + 1, .start_brk = PAGE + SMALL,
		.brk = PAGE + 4 * SMALL, .start_stack = PAGE, .arg_start = PAGE, .arg_end = PAGE, .env_start = PAGE, .env_end = PAGE,
		.exe_fd = (uint32_t)-1,
	};
	syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0UL);
	syscall(SYS_brk, (unsigned long)PAGE + SMALL);
	return is_lost();
}

static bool heap_shrinks_plainly(void)
{
	begin_mapping();
	syscall(SYS_brk, (unsigned long)PAGE);
	syscall(SYS_brk, 0UL);
	return is_lost();
}

/* By the calls of i386, which other filters may have forgotten. */
static bool unmap_by_i386(void)
{
	long result = 91; /* munmap */
	begin_mapping();
	__asm__ volatile("int $0x80" : "+a"(result) : "b"((long)PAGE), "c"((long)LENGTH) : "memory", "cc");
	return is_lost();
}

static bool other_pages(void)
{
	begin_bytes();
	syscall(SYS_remap_file_pages, page, SMALL, 0, 8UL, 0);
	return attack.alone ? !is_readable(page) || syscall(SYS_remap_file_pages, page, SMALL, 0, 8UL, 0) == 0 : is_lost();
}

/* ---- the bytes ---------------------------------------------------------------------------------------------------- */

static const char mark = MARK;

static bool store(void)
{
	begin_bytes();
	*(volatile char *)last = MARK;
	return is_marked();
}

static bool read_into(void)
{
	int ends[2];
	begin_bytes();
	attack_require(pipe(ends) == 0 && write(ends[1], &mark, 1) == 1, "fill a pipe");
	return read(ends[0], last, 1) == 1 && is_marked();
}

static bool write_memory_file(void)
{
	begin_bytes();
	int fd = open("/proc/self/mem", O_RDWR);
	return fd >= 0 && pwrite(fd, &mark, 1, (off_t)(uintptr_t)last) == 1 && is_marked();
}

static bool write_by_process(void)
{
	begin_bytes();
	struct iovec from = { (void *)(uintptr_t)&mark, 1 }, to = { last, 1 };
	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1 && is_marked();
}

static bool write_by_child(void)
{
	begin_bytes();
	struct iovec from = { (void *)(uintptr_t)&mark, 1 }, to = { last, 1 };
	pid_t parent = getpid(), child = fork();
	if (child == 0)
		_exit(process_vm_writev(parent, &from, 1, &to, 1, 0) != 1);
	waitpid(child, NULL, 0);
	return is_marked();
}

static bool splice_into(void)
{
	int ends[2];
	begin_bytes();
	struct iovec to = { last, 1 };
	attack_require(pipe(ends) == 0 && write(ends[1], &mark, 1) == 1, "fill a pipe");
	return vmsplice(ends[0], &to, 1, 0) == 1 && is_marked();
}

/* A page of our own in place of the first touch of one that is missing: alone of new memory, since the page is all there. */
static bool fault_handler(void)
{
	begin_bytes();
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	char *place = page;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
		return false;
	if (attack.alone)
		place = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)place, SMALL }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *own = aligned_alloc(SMALL, SMALL);
	memset(own, MARK, SMALL);
	struct uffdio_copy copy = { .dst = (uintptr_t)place, .src = (uintptr_t)own, .len = SMALL };
	return ioctl(fd, UFFDIO_REGISTER, &range) == 0 && ioctl(fd, UFFDIO_COPY, &copy) == 0 && *place == MARK;
}

static struct attack_way ways[] = {
	{ "MAP_FIXED", map_fixed, false },
	{ "MAP_FIXED inside", map_fixed_inside, false },
	{ "MAP_FIXED from below", map_fixed_below, true }, /* needs a low vm.mmap_min_addr */
	{ "MAP_FIXED with MAP_GROWSDOWN", map_fixed_growing, false },
	{ "MAP_FIXED with a tagged address", map_fixed_tagged, true },
	{ "munmap", unmap, false },
	{ "munmap inside", unmap_inside, false },
	{ "munmap from zero", unmap_from_zero, false },
	{ "mremap away", move_away, false },
	{ "mremap away by growing", grow_away, false },
	{ "mremap away by growing far", grow_far_away, false },
	{ "mremap smaller", shrink, false },
	{ "mremap onto", move_onto, false },
	{ "mremap onto, inside", move_onto_inside, false },
	{ "mprotect shut", close_page, false },
	{ "mprotect open", open_page, true },
	{ "pkey_mprotect", close_by_key, false },
	{ "MADV_REMOVE", advise_remove, true },
	{ "MADV_DONTNEED", advise_dontneed, true },
	{ "MADV_GUARD_INSTALL", advise_guard, true },
	{ "MADV_DONTFORK", child_is_without, false },
	{ "shmat", attach_shared, false },
	{ "shmat, rounded", attach_shared_rounded, false },
	{ "PR_SET_MM and brk", heap_shrinks, true }, /* needs CONFIG_CHECKPOINT_RESTORE */
	{ "brk", heap_shrinks_plainly, true },
	{ "munmap of i386", unmap_by_i386, true }, /* needs CONFIG_IA32_EMULATION */
	{ "remap_file_pages", other_pages, false },
	{ "a store", store, false },
	{ "read", read_into, false },
	{ "/proc/self/mem", write_memory_file, false },
	{ "process_vm_writev", write_by_process, false },
	{ "process_vm_writev by a child", write_by_child, false },
	{ "vmsplice", splice_into, false },
	{ "userfaultfd", fault_handler, false },
};

int main(int argc, char **argv)
{
	attack_begin("page_attack", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
