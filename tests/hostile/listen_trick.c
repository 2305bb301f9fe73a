/* listen() on a socket that was never bound makes the kernel pick a port on every address of the host: a bind that the policy
 * does not list. It lists the port in MORE, which this program may bind. */
#include "network.h"

static int flipped, sockets[2];


static int bound_socket(bool *bound)
{
	const int yes = 1;
	struct sockaddr_in address = network_address(0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	attack_require(fd >= 0, "make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	*bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	return fd;
}

static bool listens_everywhere(int fd)
{
	struct sockaddr_in name = { .sin_family = AF_UNSPEC };
	socklen_t length = sizeof(name);
	int listening = 0;
	socklen_t size = sizeof(listening);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening &&
	       getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.sin_family == AF_INET && name.sin_port != 0 &&
	       name.sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool plainly(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	return listen(fd, 1) == 0 && listens_everywhere(fd);
}

/* The second bind of one port fails: that socket is not bound, whatever was decided about its bind. */
static bool after_a_failed_bind(void)
{
	bool bound;
	int first = bound_socket(&bound);
	attack_require(bound && listen(first, 1) == 0, "bind and listen");
	int second = bound_socket(&bound);
	attack_require(!bound, "fail to bind a second time");
	return listen(second, 1) == 0 && listens_everywhere(second);
}

static void flip(unsigned count)
{
	dup2(sockets[count % 2], flipped);
}

/* Something else and an unbound socket take turns under one number. */
static bool while_number_changes_from(int other)
{
	enum { TURNS = 3000 };
	struct attack_helper helper;
	bool won = false;
	sockets[0] = other;
	sockets[1] = socket(AF_INET, SOCK_STREAM, 0);
	flipped = dup(other);
	attack_require(other >= 0 && sockets[1] >= 0 && flipped >= 0, "make two descriptors");
	attack_start_thread(&helper, flip);
	for (int i = 0; !won && attack_keeps_trying(i, TURNS); i++) {
		listen(flipped, 1);
		won = listens_everywhere(sockets[1]);
	}
	attack_stop_thread(&helper);
	return won;
}

static bool exchanged_for_bound(void)
{
	bool bound;
	int fd = bound_socket(&bound);
	attack_require(bound, "bind");
	return while_number_changes_from(fd);
}

static bool exchanged_for_file(void)
{
	return while_number_changes_from(open("a/file", O_RDONLY));
}

/* A unix socket's listen is the thread's own, whose name a peer is told. */
static bool exchanged_for_unix(void)
{
	struct sockaddr_un nowhere = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	attack_require(bind(fd, (struct sockaddr *)&nowhere, sizeof(sa_family_t)) == 0, "bind a unix socket");
	return while_number_changes_from(fd);
}

/* Bound once, and dissolved again: it has no port any more. */
static bool after_dissolving(void)
{
	bool bound;
	int fd = bound_socket(&bound);
	attack_require(bound, "bind");
	struct sockaddr_in self = network_address(0);
	const struct sockaddr nothing = { .sa_family = AF_UNSPEC };
	if (connect(fd, (struct sockaddr *)&self, sizeof(self)) != 0)
		errno = 0; /* nobody listens there: what counts is that it was tried */
	connect(fd, &nothing, sizeof(nothing));
	return listen(fd, 1) == 0 && listens_everywhere(fd);
}

static const struct attack_way ways[] = {
	{ "listening unbound", plainly, false },
	{ "a bind that failed", after_a_failed_bind, false },
	{ "exchanging it for a bound one", exchanged_for_bound, false },
	{ "exchanging it for a file", exchanged_for_file, false },
	{ "exchanging it for a unix one", exchanged_for_unix, false },
	{ "dissolving the association", after_dissolving, true },
};

int main(int argc, char **argv)
{
	attack_begin("listen_trick", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
