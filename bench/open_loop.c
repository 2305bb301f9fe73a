/* Opens and closes FILE COUNT times and prints nanoseconds per pair: open_loop FILE COUNT
 *
 * The clock starts behind the loader and stops before the output, so that only the loop is measured. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int open_and_close(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "open_loop: %s: %s\n", file, strerror(errno));
		return -1;
	}
	return close(fd);
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	if (count <= 0) {
		fprintf(stderr, "usage: open_loop FILE COUNT\n");
		return 2;
	}
	double start = now_ns();
	for (long i = 0; i < count; i++)
		if (open_and_close(argv[1]) < 0)
			return 1;
	printf("%.1f\n", (now_ns() - start) / (double)count);
	return 0;
}
