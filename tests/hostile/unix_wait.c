/* A call that names a socket by path waits where the kernel looks the path up (again) afterwards: connect for room in the
 * other's backlog, a datagram for room in its own send buffer. Meanwhile the link is made to lead to the barred socket, and
 * then the wait is ended. What receives at work/own is this program itself, so that it says when. */
#include "network.h"

#include <sched.h>

enum { BEFORE_MS = 60, BIG = 60000 };

static char link_name[ATTACK_PATH];
static int own;
static int type;

/* Lets the waiting call fall asleep, exchanges the link, and makes room. */
static void *exchange_and_make_room(void *target)
{
	char bytes[BIG];
	attack_sleep_ms(BEFORE_MS);
	attack_put_link(target, link_name);
	if (type == SOCK_STREAM)
		close(accept(own, NULL, NULL));
	while (type == SOCK_DGRAM && recv(own, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		;
	return NULL;
}

static struct sockaddr_un set_up(int kind)
{
	char path[ATTACK_PATH];
	type = kind;
	unlink("work/own");
	own = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = network_path(attack_at(path, "work/own"));
	attack_require(own >= 0 && bind(own, (struct sockaddr *)&address, sizeof(address)) == 0, "bind a socket");
	attack_at(link_name, "work/link");
	attack_put_link("own", link_name);
	return network_path(link_name);
}

static bool stream_waits(void)
{
	char barred[ATTACK_PATH];
	pthread_t thread;
	struct sockaddr_un address = set_up(SOCK_STREAM);
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
	const struct timeval patience = { .tv_usec = 300000 };
	setsockopt(second, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)); /* our own end never answers */
	attack_require(listen(own, 0) == 0, "listen");
	attack_require(connect(first, (struct sockaddr *)&address, sizeof(address)) == 0, "fill the backlog");
	pthread_create(&thread, NULL, exchange_and_make_room, attack_at(barred, "b/socket"));
	bool connected = connect(second, (struct sockaddr *)&address, sizeof(address)) == 0;
	bool won = connected && attack_is_barred(second);
	pthread_join(thread, NULL);
	return won;
}

/* A datagram that goes to the barred socket is answered there. */
static bool datagram_waits(void)
{
	char barred[ATTACK_PATH], back[ATTACK_PATH], bytes[BIG] = "";
	pthread_t thread;
	struct sockaddr_un address = set_up(SOCK_DGRAM), name = network_path(attack_at(back, "work/back"));
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	unlink(back);
	attack_require(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0 && chmod(back, 0777) == 0, "bind the sender");
	while (sendto(fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&address, sizeof(address)) > 0)
		;
	const struct timeval patience = { .tv_usec = 300000 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	pthread_create(&thread, NULL, exchange_and_make_room, attack_at(barred, "b/datagram"));
	bool sent = sendto(fd, bytes, BIG / 2, 0, (struct sockaddr *)&address, sizeof(address)) > 0;
	pthread_join(thread, NULL);
	return sent && attack_is_barred(fd);
}

static char barred_socket[ATTACK_PATH];

static void burn(unsigned count)
{
	(void)count;
}

static void swap(unsigned count)
{
	attack_put_link(count % 2 ? barred_socket : "own", link_name);
	attack_sleep_ms(1);
}

static bool connects_to_barred(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
		attack_sleep_ms(1);
		return attack_is_barred(fd);
	}
	close(fd);
	return false;
}

/* A thread that hardly ever gets the processor is slow on its way through the path. */
static bool slow_thread(void)
{
	enum { BURNERS = 4, BACKLOG = 4096, SECONDS = 1 };
	struct attack_helper burners[BURNERS], swapper;
	const struct sched_param idle = { .sched_priority = 0 };
	struct sockaddr_un address = set_up(SOCK_STREAM);
	attack_at(barred_socket, "b/socket");
	attack_require(listen(own, BACKLOG) == 0, "listen");
	for (int i = 0; i < BURNERS; i++)
		attack_start_process(&burners[i], burn);
	attack_start_process(&swapper, swap);
	attack_require(sched_setscheduler(0, SCHED_IDLE, &idle) == 0, "be idle");
	time_t end = time(NULL) + SECONDS;
	bool won = false;
	while (!won && time(NULL) < end)
		won = connects_to_barred(&address);
	for (int i = 0; i < BURNERS; i++)
		attack_stop_process(&burners[i]);
	attack_stop_process(&swapper);
	return won;
}

static const struct attack_way ways[] = {
	{ "connect waits for the backlog", stream_waits, false },
	{ "a datagram waits for the send buffer", datagram_waits, false },
	{ "a slow thread", slow_thread, false },
};

int main(int argc, char **argv)
{
	attack_begin("unix_wait", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
