/* Ways to run b/program, which is on no list and leaves a byte in work/ran when it does. */
#include "attack.h"

static off_t marks(void)
{
	struct stat status;
	return stat("work/ran", &status) == 0 ? status.st_size : 0;
}

/* Runs `execute` in a child, and says whether the program ran there. */
static bool runs(void (*execute)(void))
{
	off_t before = marks();
	pid_t child = fork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		execute();
		_exit(1);
	}
	waitpid(child, NULL, 0);
	return marks() > before;
}

static char *const arguments[] = { "program", NULL };
static char *const nothing[] = { NULL };

static void execute_plainly(void)
{
	execve("b/program", arguments, nothing);
}

static void execute_by_path_descriptor(void)
{
	syscall(SYS_execveat, open("b/program", O_PATH), "", arguments, nothing, AT_EMPTY_PATH);
}

static void execute_by_folder(void)
{
	syscall(SYS_execveat, open("b", O_PATH), "program", arguments, nothing, 0);
}

static void execute_by_proc(void)
{
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", open("b/program", O_PATH));
	execve(name, arguments, nothing);
}

static void execute_by_link(void)
{
	unlink("work/leads");
	if (symlink("../b/program", "work/leads") == 0)
		execve("work/leads", arguments, nothing);
}

static void execute_by_other_name(void)
{
	execve("./a/../b/program", arguments, nothing);
}

static void *execute_in_thread(void *unused)
{
	execute_by_other_name();
	return unused;
}

static void execute_by_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, execute_in_thread, NULL);
	pthread_join(thread, NULL);
}

/* The dynamic loader runs what it can read. */
static void execute_by_loader(void)
{
	char *const words[] = { "ld", "b/program", NULL };
	execve("/lib64/ld-linux-x86-64.so.2", words, nothing);
}

/* A script names the program as its interpreter. */
static void execute_by_script(void)
{
	int fd = open("work/script", O_WRONLY | O_CREAT | O_TRUNC, 0700);
	char line[ATTACK_PATH + 16];
	int length = snprintf(line, sizeof(line), "#!%s/b/program\n", attack.arena);
	if (write(fd, line, (size_t)length) == length && close(fd) == 0)
		execve("work/script", arguments, nothing);
}

/* A copy in memory or in a folder that may be written. Reading it is refused already. */
static bool copy_to(int to)
{
	char bytes[65536];
	int from = open("b/program", O_RDONLY);
	ssize_t length;
	while (from >= 0 && to >= 0 && (length = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)length) != length)
			return false;
	return from >= 0 && to >= 0;
}

static void execute_copy(void)
{
	int fd = open("work/copied", O_WRONLY | O_CREAT | O_TRUNC, 0700);
	if (copy_to(fd) && close(fd) == 0)
		execve("work/copied", arguments, nothing);
}

static void execute_memory(void)
{
	int fd = memfd_create("program", 0);
	if (copy_to(fd))
		syscall(SYS_execveat, fd, "", arguments, nothing, AT_EMPTY_PATH);
}

/* What the barred program would do is a single open: this is the program itself, renamed. */
static void execute_hard_link(void)
{
	unlink("work/linked");
	if (link("b/program", "work/linked") == 0)
		execve("work/linked", arguments, nothing);
}

#define WAY(name) static bool name(void) { return runs(execute_##name); }
WAY(plainly)
WAY(by_path_descriptor)
WAY(by_folder)
WAY(by_proc)
WAY(by_link)
WAY(by_thread)
WAY(by_loader)
WAY(by_script)
WAY(copy)
WAY(memory)
WAY(hard_link)

static const struct attack_way ways[] = {
	{ "execve", plainly, false },
	{ "execveat of a descriptor", by_path_descriptor, false },
	{ "execveat below a folder", by_folder, false },
	{ "execve of /proc/self/fd", by_proc, false },
	{ "a link", by_link, false },
	{ "execve by a thread", by_thread, false },
	{ "the loader run directly", by_loader, false },
	{ "a script's interpreter", by_script, false },
	{ "a copy", copy, false },
	{ "a copy in memory", memory, false },
	{ "a hard link", hard_link, false },
};

int main(int argc, char **argv)
{
	attack_begin("exec_tricks", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
