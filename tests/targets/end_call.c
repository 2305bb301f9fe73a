/* Ends in one of the ways in which programs end.
 *
 *     end_call exit CODE | signal NUMBER | segfault | abort | trap | stack | thread_exit CODE | thread_signal NUMBER | stop
 *
 * thread_exit: the first thread ends long before another one ends the process with CODE, or by a signal.
 * stop: stops itself with SIGSTOP, and says so only when something continues it. */
#include "outcome.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char usage_text[] = "end_call exit CODE|signal NUMBER|segfault|abort|trap|stack|thread_exit CODE|thread_signal NUMBER|stop";

static int end_exit(int number)
{
	return number;
}

static int end_signal(int number)
{
	kill(getpid(), number);
	return OUTCOME_REFUSED;
}

static int end_segfault(int number)
{
	/* Volatile: the compiler must not see that nothing can be there. */
	volatile int *volatile nowhere = (volatile int *)(long)(number + 8);

	return *nowhere;
}

static int end_abort(int number)
{
	(void)number;
	abort();
}

static int end_trap(int number)
{
	(void)number;
	__builtin_trap();
}

static int fill_stack(volatile char *above, int depth)
{
	volatile char block[4096];

	block[0] = (char)(above[0] + depth);
	return depth < 0 ? 0 : fill_stack(block, depth + 1) + block[0];
}

static int end_stack(int number)
{
	volatile char start = (char)number;
	struct rlimit limit = {1 << 20, 1 << 20};

	setrlimit(RLIMIT_STACK, &limit);
	return fill_stack(&start, 0);
}

static void *thread_body(void *argument)
{
	/* Until the first thread is gone (a zombie that nobody can join), its state says so. */
	char state = 'R', path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	while (state != 'Z') {
		FILE *file = fopen(path, "re");
		outcome_require(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1, path);
		fclose(file);
		usleep(2000);
	}
	printf("the first thread has ended\n");
	fflush(stdout);
	int number = (int)(long)argument;
	if (number < 0)
		kill(getpid(), -number);
	exit(number);
}

static int end_thread_exit(int number)
{
	pthread_t thread;

	outcome_require(pthread_create(&thread, NULL, thread_body, (void *)(long)number) == 0, "pthread_create");
	pthread_exit(NULL);
}

static int end_thread_signal(int number)
{
	return end_thread_exit(-number);
}

static int end_stop(int number)
{
	(void)number;
	kill(getpid(), SIGSTOP);
	printf("continued\n");
	return 0;
}

static const struct end_row {
	const char *name;
	int (*end)(int number);
} end_rows[] = {
	{"exit", end_exit},   {"signal", end_signal}, {"segfault", end_segfault},       {"abort", end_abort},
	{"trap", end_trap},   {"stack", end_stack},   {"thread_exit", end_thread_exit}, {"stop", end_stop},
	{"thread_signal", end_thread_signal},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(end_rows) / sizeof(end_rows[0]); i++)
		if (strcmp(end_rows[i].name, argv[1]) == 0)
			return end_rows[i].end(argc > 2 ? atoi(argv[2]) : 0);
	return outcome_usage(usage_text);
}
