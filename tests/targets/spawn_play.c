/* Starts programs in every way there is, and says how many ended as they should.
 *
 *     spawn_play fork|vfork|posix_spawn|system|nested|pidfd|double COUNT PROGRAM [ARGUMENT]...
 *     spawn_play threads THREADS PROGRAM      each of THREADS threads starts PROGRAM ten times
 *     spawn_play thread_exec PROGRAM [ARG]    a thread that is not the first becomes PROGRAM
 *
 * PROGRAM must end with 0. */
#include "outcome.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char usage_text[] = "spawn_play WAY COUNT PROGRAM [ARGUMENT]...";

enum { THREAD_MAX = 64, STARTS_PER_THREAD = 10 };

static char **program;

static int waited_well(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int spawn_fork(void)
{
	pid_t child = fork();

	if (child == 0) {
		execv(program[0], program);
		_exit(errno);
	}
	return waited_well(child);
}

static int spawn_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execv(program[0], program);
		_exit(errno);
	}
	return waited_well(child);
}

static int spawn_posix(void)
{
	pid_t child;

	return posix_spawn(&child, program[0], NULL, NULL, program, environ) == 0 && waited_well(child);
}

static int spawn_system(void)
{
	return system(program[0]) == 0;
}

/* A child whose own child ends after it: nobody but init waits for that one. */
static int spawn_double(void)
{
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();
		_exit(grandchild < 0);
	}
	return waited_well(child);
}

/* Ten generations, each waits for the next. */
static int spawn_nested(void)
{
	for (int depth = 0; depth < 10; depth++) {
		pid_t child = fork();
		if (child != 0)
			_exit(waited_well(child) ? 0 : 1);
	}
	execv(program[0], program);
	_exit(errno);
}

static int spawn_nested_below(void)
{
	pid_t child = fork();

	if (child == 0)
		spawn_nested();
	return waited_well(child);
}

/* A pidfd that can be read says that the child is dead: its report must be there at that moment. */
static int spawn_pidfd(void)
{
	siginfo_t info = {0};
	struct pollfd poller = {.events = POLLIN};
	pid_t child = fork();

	if (child == 0)
		_exit(3);
	poller.fd = (int)syscall(SYS_pidfd_open, child, 0);
	outcome_require(poller.fd >= 0 && poll(&poller, 1, -1) == 1, "pidfd");
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG);
	close(poller.fd);
	return info.si_pid == child && info.si_code == CLD_EXITED && info.si_status == 3;
}

static void *thread_starts(void *good)
{
	for (int i = 0; i < STARTS_PER_THREAD; i++)
		__atomic_add_fetch((int *)good, spawn_fork(), __ATOMIC_SEQ_CST);
	return NULL;
}

static int spawn_threads(int count)
{
	pthread_t threads[THREAD_MAX];
	int good = 0;

	outcome_require(count <= THREAD_MAX, "threads");
	for (int i = 0; i < count; i++)
		outcome_require(pthread_create(&threads[i], NULL, thread_starts, &good) == 0, "pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("threads: %d of %d ended well\n", good, count * STARTS_PER_THREAD);
	return good == count * STARTS_PER_THREAD ? OUTCOME_OK : OUTCOME_REFUSED;
}

static void *thread_becomes(void *unused)
{
	(void)unused;
	execv(program[0], program);
	exit(outcome_report("execve", -1));
}

static void *thread_waits(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int spawn_thread_exec(void)
{
	pthread_t idle, thread;

	outcome_require(pthread_create(&idle, NULL, thread_waits, NULL) == 0, "pthread_create");
	outcome_require(pthread_create(&thread, NULL, thread_becomes, NULL) == 0, "pthread_create");
	pause();
	return OUTCOME_REFUSED;
}

static const struct way_row {
	const char *name;
	int (*spawn)(void);
} way_rows[] = {
	{"fork", spawn_fork},     {"vfork", spawn_vfork},   {"posix_spawn", spawn_posix},
	{"system", spawn_system}, {"double", spawn_double}, {"nested", spawn_nested_below},
	{"pidfd", spawn_pidfd},
};

static int spawn_repeated(const struct way_row *row, int count)
{
	int good = 0;

	for (int i = 0; i < count; i++)
		good += row->spawn();
	printf("%s: %d of %d ended well\n", row->name, good, count);
	return good == count ? OUTCOME_OK : OUTCOME_REFUSED;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "thread_exec") == 0) {
		program = argv + 2;
		return spawn_thread_exec();
	}
	if (argc < 4)
		return outcome_usage(usage_text);
	program = argv + 3;
	if (strcmp(argv[1], "threads") == 0)
		return spawn_threads(atoi(argv[2]));
	for (size_t i = 0; i < sizeof(way_rows) / sizeof(way_rows[0]); i++)
		if (strcmp(way_rows[i].name, argv[1]) == 0)
			return spawn_repeated(&way_rows[i], atoi(argv[2]));
	return outcome_usage(usage_text);
}
