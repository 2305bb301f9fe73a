/* The working folder is an object, not a name; and what /proc says of it is not its name either.
 *
 *     folder_play moved DIR TO NAME      goes into DIR, moves DIR to TO, opens NAME from inside
 *     folder_play removed DIR NAME       goes into DIR, removes it, opens NAME and ".."
 *     folder_play fchdir DIR NAME        goes into DIR by a descriptor, opens NAME
 *     folder_play thread DIR NAME        a task that shares memory, but not the working folder, opens NAME in DIR
 *     folder_play unshared DIR NAME      a thread unshares its working folder first
 *     folder_play self                   a child and a thread read their own /proc/self and /proc/thread-self
 *     folder_play other                  a child reads /proc/PARENT/comm */
#include "outcome.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage_text[] = "folder_play WAY ARGUMENT...";

static int report_line(const char *name, const char *path)
{
	char line[80] = "";
	int fd = open(path, O_RDONLY);
	int code = outcome_report(name, fd);

	if (fd >= 0 && read(fd, line, sizeof(line) - 1) > 0)
		printf("content: %.*s\n", (int)strcspn(line, "\n"), line);
	fflush(stdout);
	if (fd >= 0)
		close(fd);
	return code;
}

static int play_moved(char **words)
{
	outcome_require(chdir(words[0]) == 0, "chdir");
	if (rename(words[0], words[1]) < 0)
		return outcome_report("rename", -1);
	return report_line("open", words[2]);
}

static int play_removed(char **words)
{
	int first;

	outcome_require(chdir(words[0]) == 0, "chdir");
	if (rmdir(words[0]) < 0)
		return outcome_report("rmdir", -1);
	first = open(words[1], O_RDONLY);
	outcome_report("open", first);
	return first < 0 && errno == ENOENT ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_fchdir(char **words)
{
	int fd = open(words[0], O_PATH | O_DIRECTORY);

	outcome_require(fd >= 0 && fchdir(fd) == 0, "fchdir");
	return report_line("open", words[1]);
}

static void *thread_in_folder(void *argument)
{
	char **words = argument;

	outcome_require(unshare(CLONE_FS) == 0 && chdir(words[0]) == 0, "a folder of its own");
	return (void *)(long)report_line("open", words[1]);
}

/* Cloned without CLONE_FS, so that no unshare is needed: its chdir does not move the first thread. */
static int task_in_folder(void *argument)
{
	char **words = argument;

	if (chdir(words[0]) < 0)
		_exit(OUTCOME_SETUP);
	_exit(report_line("open", words[1]));
}

static int play_thread(char **words)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status = 0;
	pid_t task = clone(task_in_folder, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, words);

	outcome_require(task > 0 && waitpid(task, &status, 0) == task, "clone");
	return WEXITSTATUS(status);
}

static int play_unshared(char **words)
{
	pthread_t thread;
	void *code;

	outcome_require(pthread_create(&thread, NULL, thread_in_folder, words) == 0, "pthread_create");
	pthread_join(thread, &code);
	return (int)(long)code;
}

static int status_names(const char *path, pid_t wanted)
{
	char line[128];
	int found = 0, pid;
	FILE *file = fopen(path, "re");

	if (!file)
		return outcome_report(path, -1) == OUTCOME_OK;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			found = pid == wanted;
	fclose(file);
	return found;
}

static void *thread_reads(void *unused)
{
	pid_t thread = (pid_t)syscall(SYS_gettid);

	(void)unused;
	return (void *)(long)(status_names("/proc/thread-self/status", thread) &&
			      status_names("/proc/self/status", getpid()));
}

static int play_self(char **words)
{
	pthread_t thread;
	void *in_thread = NULL;
	int status = 0;
	pid_t child = fork();

	(void)words;
	if (child == 0)
		_exit(!status_names("/proc/self/status", getpid()));
	waitpid(child, &status, 0);
	outcome_require(pthread_create(&thread, NULL, thread_reads, NULL) == 0, "pthread_create");
	pthread_join(thread, &in_thread);
	printf("self: first %d, child %d, thread %d\n", status_names("/proc/self/status", getpid()), status == 0,
	       in_thread != NULL);
	return status == 0 && in_thread ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_other(char **words)
{
	char path[64];
	int status = 0;
	pid_t child;

	(void)words;
	snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	child = fork();
	if (child == 0)
		_exit(report_line("open", path));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : OUTCOME_REFUSED;
}

static const struct play_row {
	const char *name;
	int words;
	int (*play)(char **words);
} play_rows[] = {
	{"moved", 3, play_moved},   {"removed", 2, play_removed},   {"fchdir", 2, play_fchdir},
	{"thread", 2, play_thread}, {"unshared", 2, play_unshared}, {"self", 0, play_self},
	{"other", 0, play_other},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(play_rows) / sizeof(play_rows[0]); i++)
		if (strcmp(play_rows[i].name, argv[1]) == 0 && argc - 2 == play_rows[i].words)
			return play_rows[i].play(argv + 2);
	return outcome_usage(usage_text);
}
