/* Threads that wait in calls of many kinds while another one connects sockets. None of them is interrupted.
 *
 *     wait_play PORT    makes 100 datagram connects to 127.0.0.1:PORT, then prints which calls returned early */
#include "outcome.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTS = 100, LONG_SECONDS = 1000 };

static int epoll, quiet_pipe[2], datagram, listening;

static long wait_epoll(void)
{
	struct epoll_event event;
	return epoll_wait(epoll, &event, 1, -1);
}

static long wait_epoll_masked(void)
{
	struct epoll_event event;
	sigset_t none;
	sigemptyset(&none);
	return epoll_pwait(epoll, &event, 1, -1, &none);
}

static long wait_signal(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, NULL);
}

static long wait_datagram(void)
{
	char byte;
	return recv(datagram, &byte, 1, 0);
}

static long wait_stream(void)
{
	return accept(listening, NULL, NULL);
}

static long wait_pipe(void)
{
	char byte;
	return read(quiet_pipe[0], &byte, 1);
}

static long wait_poll(void)
{
	struct pollfd quiet = { .fd = quiet_pipe[0], .events = POLLIN };
	return poll(&quiet, 1, LONG_SECONDS * 1000);
}

static long wait_select(void)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(quiet_pipe[0], &set);
	return select(quiet_pipe[0] + 1, &set, NULL, NULL, NULL);
}

static long wait_time(void)
{
	const struct timespec time = { .tv_sec = LONG_SECONDS };
	return nanosleep(&time, NULL);
}

static const struct wait_row {
	const char *name;
	long (*call)(void);
} wait_rows[] = {
	{"epoll_wait", wait_epoll}, {"epoll_pwait", wait_epoll_masked}, {"sigtimedwait", wait_signal}, {"recv", wait_datagram},
	{"accept", wait_stream}, {"read", wait_pipe}, {"poll", wait_poll}, {"select", wait_select}, {"nanosleep", wait_time},
};

enum { ROWS = sizeof(wait_rows) / sizeof(wait_rows[0]) };

static atomic_int returned[ROWS], waiting;

static void *wait_for_ever(void *data)
{
	const struct wait_row *row = data;
	for (;;) {
		atomic_fetch_add(&waiting, 1);
		row->call();
		atomic_fetch_add(&returned[row - wait_rows], 1);
	}
	return NULL;
}

static void prepare(void)
{
	const sa_family_t nowhere = AF_UNIX; /* a name of the kernel's choice */
	epoll = epoll_create1(0);
	datagram = socket(AF_UNIX, SOCK_DGRAM, 0);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	outcome_require(epoll >= 0 && pipe(quiet_pipe) == 0 && datagram >= 0 && listening >= 0, "descriptors");
	outcome_require(bind(datagram, (const struct sockaddr *)&nowhere, sizeof(nowhere)) == 0, "bind");
	outcome_require(bind(listening, (const struct sockaddr *)&nowhere, sizeof(nowhere)) == 0 && listen(listening, 1) == 0, "listen");
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long connected = 0;
	outcome_require(argc == 2, "PORT");
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	prepare();
	for (int i = 0; i < ROWS; i++)
		outcome_require(pthread_create(&thread, NULL, wait_for_ever, (void *)&wait_rows[i]) == 0, "start a thread");
	while (atomic_load(&waiting) < ROWS)
		usleep(1000);
	for (int i = 0; i < CONNECTS; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		connected += connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
		close(fd);
		usleep(1000);
	}
	printf("connected: %ld\n", connected);
	for (int i = 0; i < ROWS; i++)
		if (atomic_load(&returned[i]) > 0)
			printf("%s returned %d times\n", wait_rows[i].name, atomic_load(&returned[i]));
	fflush(stdout);
	_exit(0);
}
