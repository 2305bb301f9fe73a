/* Call number 212, by which bailiff hands descriptors in. A win is a descriptor that the program gets by it by itself; alone,
 * a listener of its own that answers everybody stands for a supervisor which would. */
#include "filter.h"

#include <sys/ioctl.h>

enum { NUMBER = 212 };

static int listening;

static void *answer_everybody(void *unused)
{
	for (;;) {
		struct seccomp_notif request;
		memset(&request, 0, sizeof(request));
		if (ioctl(listening, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
			return unused;
		struct seccomp_notif_addfd add = { .id = request.id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = 0 };
		ioctl(listening, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	}
}

static void begin(void)
{
	pthread_t thread;
	if (!attack.alone)
		return;
	listening = filter_add(NUMBER, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	attack_require(listening >= 0 && pthread_create(&thread, NULL, answer_everybody, NULL) == 0, "listen");
}

static bool guess(void)
{
	enum { GUESSES = 200 };
	begin();
	for (unsigned long i = 0; i < GUESSES; i++)
		if (syscall(NUMBER, i * 0x123456789abcdefUL, 0L, 0L) >= 0)
			return true;
	return false;
}

/* The thread whose open is answered with a descriptor makes this call with its secret: others can read that in /proc. */
static volatile pid_t watched;
static uint64_t stolen;

static void watch(unsigned count)
{
	char name[64], text[256] = "";
	(void)count;
	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", watched);
	int fd = open(name, O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "212 %lx", &stolen);
	if (fd >= 0)
		close(fd);
}

static bool is_own_descriptor(long result)
{
	return result >= 0 && fcntl((int)result, F_GETFD) >= 0;
}

/* Opens its own descriptors again while another thread watches, then makes the call with what was found. */
static bool steal(void)
{
	enum { TURNS = 300 };
	struct attack_helper helper;
	char name[32];
	begin();
	int fd = open("a/file", O_RDONLY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	watched = (pid_t)syscall(SYS_gettid);
	attack_start_thread(&helper, watch);
	for (int i = 0; i < TURNS && !stolen; i++)
		close(open(name, O_RDONLY));
	attack_stop_thread(&helper);
	/* A stolen secret is of no use: calls that nobody asked for get no answer, and a signal ends the wait for one. */
	signal(SIGALRM, SIG_DFL);
	alarm(0);
	pid_t child = fork();
	if (child == 0) {
		alarm(1);
		_exit(is_own_descriptor(syscall(NUMBER, stolen, 0L, 0L)) ? ATTACK_EXIT_WON : 0);
	}
	int status = 0;
	/* Meanwhile the supervisor goes on, also with answers to the same number. */
	for (int i = 0; i < TURNS; i++)
		close(open(name, O_RDONLY));
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

/* A filter of its own takes the rewritten call away: then nothing may pass as it was asked for. */
static bool refused_by_filter(void)
{
	char name[32];
	int read_only = open("a/file", O_RDONLY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", read_only);
	if (attack.alone)
		return open(name, O_RDWR) >= 0;
	filter_add(NUMBER, SECCOMP_RET_ERRNO | EPERM, 0);
	return open(name, O_RDWR) >= 0;
}

static bool stopped_by_filter(void)
{
	if (attack.alone)
		return guess();
	filter_add(NUMBER, SECCOMP_RET_TRACE | 5, 0);
	return guess();
}

static const struct attack_way ways[] = {
	{ "guessing", guess, false },
	{ "stealing the secret", steal, false },
	{ "a filter that refuses it", refused_by_filter, false },
	{ "a filter that stops at it", stopped_by_filter, false },
};

int main(int argc, char **argv)
{
	attack_begin("inject_call", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
