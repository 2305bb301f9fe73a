/* A filter of the program's own on top of bailiff's: it allows, stops with data of its choice, stops calls that nobody asked
 * for, or takes part of what bailiff would see away. Whatever it says, b/file must stay shut and a/file open.
 *
 * Without a supervisor a stop answers ENOSYS, so that those ways have no control: it is the same call without them. */
#include "filter.h"

#include <stddef.h>

static bool opens_barred(void)
{
	return attack_reads_barred("b/file");
}

static bool allow(void)
{
	return filter_add(SYS_openat, SECCOMP_RET_ALLOW, 0) == 0 && opens_barred();
}

static bool allow_by_prctl(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, code };
	attack_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "set no_new_privs");
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 && opens_barred();
}

static bool on_all_threads(void)
{
	return filter_add(SYS_openat, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC) == 0 && opens_barred();
}

static bool logged(void)
{
	return filter_add(SYS_openat, SECCOMP_RET_LOG, 0) == 0 && opens_barred();
}

/* A supervisor that believes the data of its stops would take this openat for another call. */
static bool forged_data(void)
{
	static const uint16_t data[] = { 1, 0x1234, SYS_getpid, SYS_read, 0xffff };
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
		if (filter_add(SYS_openat, SECCOMP_RET_TRACE | data[i], 0) != 0 || opens_barred())
			return !attack.alone;
	return attack.alone && syscall(SYS_openat, AT_FDCWD, "b/file", O_RDONLY) < 0 && errno == ENOSYS;
}

/* Stops for calls that bailiff never asked for must change nothing about them. */
static bool stops_for_everything(void)
{
	static const unsigned numbers[] = { SYS_read, SYS_close, SYS_mmap, SYS_munmap, SYS_fstat, SYS_getpid, SYS_openat };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (filter_add(numbers[i], SECCOMP_RET_TRACE | 7, 0) != 0)
			return true;
	if (attack.alone)
		return syscall(SYS_getpid) < 0;
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = memory != MAP_FAILED && munmap(memory, 4096) == 0 && getpid() > 0;
	char word[7] = "";
	int fd = open("a/file", O_RDONLY);
	works = works && fd >= 0 && read(fd, word, sizeof(word)) == (ssize_t)sizeof(word) && memcmp(word, "allowed", 7) == 0;
	return !works || opens_barred();
}

/* The number that bailiff turns an open into is refused: then the open must fail, not pass as it was. */
static bool refuses_the_rewritten(void)
{
	return filter_add(SYS_openat2, SECCOMP_RET_ERRNO | EPERM, 0) == 0 && opens_barred();
}

static bool traces_the_rewritten(void)
{
	return filter_add(SYS_openat2, SECCOMP_RET_TRACE | 1, 0) == 0 && opens_barred();
}

/* A stop and an errno for one call: nothing is left of it to be made. */
static bool errno_and_stop(void)
{
	int first = filter_add(SYS_openat, SECCOMP_RET_ERRNO | ENOENT, 0);
	int second = filter_add(SYS_openat, SECCOMP_RET_TRACE | 3, 0);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "b/file", O_RDONLY);
	return first == 0 && second == 0 && (attack.alone ? fd < 0 : fd >= 0);
}

static const struct attack_way ways[] = {
	{ "a filter that allows", allow, false },
	{ "a filter that allows, by prctl", allow_by_prctl, false },
	{ "a filter for all threads", on_all_threads, false },
	{ "a filter that logs", logged, false },
	{ "stops with forged data", forged_data, false },
	{ "stops for everything", stops_for_everything, false },
	{ "a filter on the rewritten call", refuses_the_rewritten, false },
	{ "a stop on the rewritten call", traces_the_rewritten, false },
	{ "an errno beside a stop", errno_and_stop, false },
};

int main(int argc, char **argv)
{
	attack_begin("filter_stack", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
