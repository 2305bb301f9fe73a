/* A process that its supervisor cannot read, or a name in memory that it cannot read, must not get more than others. With
 * MORE "read" this program only tries to read b/file: it is executed again so from copies that nobody may read. */
#include "attack.h"

#include <sys/syscall.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static bool not_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && attack_reads_barred("b/file");
}

static bool not_dumpable_with_stray_bits(void)
{
	const unsigned long high = 1UL << 40;
	return syscall(SYS_prctl, high | PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) == 0 && attack_reads_barred("b/file");
}

static bool executed_reads_barred(const char *program)
{
	int status = 0;
	pid_t child = vfork();
	if (child == 0) {
		execl(program, program, "read", attack.arena, (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

static bool unreadable_program(void)
{
	return executed_reads_barred("a/unreadable");
}

/* The name in memory that only its own process may read, the kernel included. */
static bool secret_name(void)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return attack.alone && errno == ENOSYS && attack_reads_barred("b/file"); /* this kernel has none */
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (name == MAP_FAILED)
		return false;
	strcpy(name, "b/file");
	return attack_reads_barred(name);
}

/* A protection key shuts the page for whoever reads it with the rights of this thread. */
static bool behind_a_key(void)
{
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	attack_require(name != MAP_FAILED, "map memory");
	strcpy(name, "b/file");
	int key = pkey_alloc(0, 0);
	if (key >= 0)
		pkey_mprotect(name, 4096, PROT_READ | PROT_WRITE, key);
	return attack_reads_barred(name);
}

/* Memory that can be executed and nothing else. */
static bool executable_only(void)
{
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	attack_require(name != MAP_FAILED, "map memory");
	strcpy(name, "b/file");
	return mprotect(name, 4096, PROT_EXEC) == 0 && attack_reads_barred(name);
}

static const struct attack_way ways[] = {
	{ "PR_SET_DUMPABLE", not_dumpable, false },
	{ "PR_SET_DUMPABLE with stray bits", not_dumpable_with_stray_bits, false },
	{ "a program that nobody may read", unreadable_program, false },
	{ "a name in secret memory", secret_name, false },
	{ "a name behind a protection key", behind_a_key, false },
	{ "a name in executable-only memory", executable_only, true }, /* the kernel may refuse to read it as well */
};

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "read") == 0)
		return chdir(argv[2]) == 0 && attack_reads_barred("b/file") ? ATTACK_EXIT_WON : 0;
	attack_begin("unreadable", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
