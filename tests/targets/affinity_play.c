/* What a program sees of its processors, before, within and after many system calls that stop. Prints only what differs.
 *
 *     affinity_play PATH    opens PATH again and again in between */
#include "outcome.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPENS = 200, LOOKS = 5000, PAUSE_US = 1000 };

static cpu_set_t own;
static const char *path;
static int differences;

static void open_often(void)
{
	for (int i = 0; i < OPENS; i++)
		close(open(path, O_RDONLY));
}

static void expect(const cpu_set_t *expected, const char *when)
{
	cpu_set_t found;
	bool same = sched_getaffinity(0, sizeof(found), &found) == 0 && CPU_EQUAL(&found, expected);
	if (!same)
		printf("%s: %d processors, not %d\n", when, CPU_COUNT(&found), CPU_COUNT(expected));
	differences += !same;
}

static void *in_thread(void *unused)
{
	expect(&own, "in a thread");
	open_often();
	expect(&own, "in a thread, afterwards");
	return unused;
}

static void in_child(void)
{
	int status;
	open_often();
	pid_t child = fork();
	outcome_require(child >= 0, "fork");
	if (child == 0) {
		expect(&own, "in a child");
		fflush(stdout);
		_exit(differences);
	}
	waitpid(child, &status, 0);
	differences += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static bool status_says(const char *line)
{
	char text[4096];
	int fd = open("/proc/thread-self/status", O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return strstr(text, line) != NULL;
}

static void read_line(char line[256])
{
	char text[4096];
	int fd = open("/proc/thread-self/status", O_RDONLY);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	close(fd);
	outcome_require(length > 0, "read the status");
	text[length] = '\0';
	const char *found = strstr(text, "Cpus_allowed_list:");
	outcome_require(found != NULL, "find the processors");
	snprintf(line, 256, "%.*s", (int)strcspn(found, "\n") + 1, found);
}

/* Whoever only looks in /proc sees its own again soon. */
static void given_back(const char *line)
{
	open_often();
	for (int i = 0; i < LOOKS; i++) {
		usleep(10 * PAUSE_US);
		if (status_says(line))
			return;
	}
	printf("never given back\n");
	differences++;
}

static void chosen(void)
{
	cpu_set_t one;
	int first = 0;
	while (!CPU_ISSET((size_t)first, &own))
		first++;
	CPU_ZERO(&one);
	CPU_SET((size_t)first, &one);
	open_often();
	outcome_require(sched_setaffinity(0, sizeof(one), &one) == 0, "choose a processor");
	expect(&one, "chosen");
	open_often();
	usleep(20 * PAUSE_US);
	expect(&one, "chosen, afterwards");
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[256];
	outcome_require(argc == 2, "PATH");
	path = argv[1];
	read_line(line);
	outcome_require(sched_getaffinity(0, sizeof(own), &own) == 0, "ask for the processors");
	open_often();
	expect(&own, "after many opens");
	open_often();
	outcome_require(pthread_create(&thread, NULL, in_thread, NULL) == 0, "start a thread");
	pthread_join(thread, NULL);
	in_child();
	given_back(line);
	chosen();
	printf("differences: %d\n", differences);
	return differences != 0;
}
