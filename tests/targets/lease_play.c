/* Holds a lease on FILE while a child of its own truncates it by name; another child goes on opening OTHER meanwhile.
 *
 *     lease_play FILE OTHER     says how long the second child took */
#include "outcome.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OPENS = 200, PATIENCE_MS = 5000 };

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static pid_t start(void)
{
	pid_t child = fork();

	outcome_require(child >= 0, "fork");
	return child;
}

int main(int argc, char **argv)
{
	long begin = now_ms();
	pid_t truncating, opening;
	int fd, status;

	if (argc != 3)
		return outcome_usage("lease_play FILE OTHER");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	outcome_require(fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0, "take a lease");
	truncating = start();
	if (truncating == 0) {
		close(fd);
		_exit(truncate(argv[1], 0) != 0);
	}
	opening = start();
	for (int i = 0; opening == 0 && i < OPENS; i++) {
		usleep(1000);
		close(open(argv[2], O_RDONLY | O_CLOEXEC));
	}
	if (opening == 0)
		_exit(0);
	waitpid(opening, &status, 0);
	printf("the other child: %s\n", now_ms() - begin < PATIENCE_MS ? "soon" : "late");
	fcntl(fd, F_SETLEASE, F_UNLCK);
	waitpid(truncating, &status, 0);
	return OUTCOME_OK;
}
