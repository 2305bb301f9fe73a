/* A server outside the run, for cases whose target must find something to talk to.
 *
 *     net_serve DIR
 *
 * Listens on 127.0.0.1 and, where there is IPv6, ::1 (TCP and UDP, one port for all), on DIR/stream and DIR/dgram, and
 * on an abstract name. Writes DIR/port and DIR/abstract, then leaves a child behind that appends one line to DIR/got for
 * each connection or datagram, and that ends after 20 seconds or when DIR is gone. */
#include "outcome.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LIFE_SECONDS = 20, SOCKET_MAX = 8, PORT_TRIES = 50 };

struct server {
	struct pollfd sockets[SOCKET_MAX];
	const char *names[SOCKET_MAX];
	int types[SOCKET_MAX];
	int count;
};

static int server_add(struct server *server, const char *name, int type, const void *address, socklen_t length)
{
	const struct sockaddr *any = address;
	int one = 1, fd = socket(any->sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (any->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, any, length) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0)) {
		close(fd);
		return -1;
	}
	server->sockets[server->count] = (struct pollfd){.fd = fd, .events = POLLIN};
	server->names[server->count] = name;
	server->types[server->count++] = type;
	return fd;
}

static void server_clear(struct server *server)
{
	while (server->count > 0)
		close(server->sockets[--server->count].fd);
}

/* One port that is free for all: the kernel chooses it for the first socket, the others must get the same. */
static int server_add_inet(struct server *server)
{
	struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 inet6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t length = sizeof(inet);
	int have_inet6 = access("/proc/net/if_inet6", R_OK) == 0, fd;

	fd = server_add(server, "tcp", SOCK_STREAM, &inet, sizeof(inet));
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&inet, &length) < 0)
		return -1;
	inet6.sin6_port = inet.sin_port;
	if (server_add(server, "udp", SOCK_DGRAM, &inet, sizeof(inet)) < 0)
		return -1;
	if (have_inet6 && server_add(server, "tcp6", SOCK_STREAM, &inet6, sizeof(inet6)) < 0 && errno == EADDRINUSE)
		return -1;
	if (have_inet6 && server_add(server, "udp6", SOCK_DGRAM, &inet6, sizeof(inet6)) < 0 && errno == EADDRINUSE)
		return -1;
	return ntohs(inet.sin_port);
}

static void server_add_unix(struct server *server, const char *name, int type, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	int fd;

	outcome_require(length < sizeof(address.sun_path), path);
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	else
		length++;
	length += offsetof(struct sockaddr_un, sun_path);
	fd = server_add(server, name, type, &address, (socklen_t)length);
	outcome_require(fd >= 0, path);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	outcome_require(file && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

static void server_note(const struct server *server, int index, const char *log_path)
{
	char buffer[256];
	int fd = server->sockets[index].fd, log;

	/* A connection stays open until this server ends, so that a client may go on to send. */
	if (server->types[index] == SOCK_STREAM)
		accept(fd, NULL, NULL);
	else if (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) < 0)
		return;
	log = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (log < 0)
		return;
	dprintf(log, "%s\n", server->names[index]);
	close(log);
}

static void server_loop(struct server *server, const char *folder, const char *log_path)
{
	time_t end = time(NULL) + LIFE_SECONDS;

	while (time(NULL) < end && access(folder, F_OK) == 0) {
		if (poll(server->sockets, (nfds_t)server->count, 200) <= 0)
			continue;
		for (int i = 0; i < server->count; i++)
			if (server->sockets[i].revents)
				server_note(server, i, log_path);
	}
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	outcome_require(chdir("/") == 0, "leave the folder");
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
}

int main(int argc, char **argv)
{
	struct server server = {0};
	char path[256], text[64];
	int port = -1;

	if (argc != 2)
		return outcome_usage("net_serve DIR");
	for (int i = 0; port < 0 && i < PORT_TRIES; i++) {
		server_clear(&server);
		port = server_add_inet(&server);
	}
	outcome_require(port > 0, "find a port");
	snprintf(path, sizeof(path), "%s/stream", argv[1]);
	server_add_unix(&server, "stream", SOCK_STREAM, path);
	snprintf(path, sizeof(path), "%s/dgram", argv[1]);
	server_add_unix(&server, "dgram", SOCK_DGRAM, path);
	snprintf(text, sizeof(text), "@bailiff-test-%d", port);
	server_add_unix(&server, "abstract", SOCK_STREAM, text);
	snprintf(path, sizeof(path), "%s/abstract", argv[1]);
	write_text(path, text);
	snprintf(text, sizeof(text), "%d\n", port);
	snprintf(path, sizeof(path), "%s/port", argv[1]);
	write_text(path, text);
	snprintf(path, sizeof(path), "%s/got", argv[1]);
	if (fork() == 0) {
		leave_terminal();
		server_loop(&server, argv[1], path);
	}
	return 0;
}
