/* Reaches for more than its sockets were allowed: what the tree bound itself needs no entry, so it pretends to have.
 *
 *     socket_play foreign DIR             gives a TCP socket the address DIR/name of a unix socket, and listens on it
 *     socket_play taken                   binds a TCP socket where another one stands already, and listens on it
 *     socket_play line DIR FILE           binds a name whose line break puts a line of its own into /proc/net/unix, and connects to
 *                                         the abstract name that FILE holds
 *     socket_play zero NAME               binds the abstract NAME with a NUL for each `@` in it, and connects to NAME
 *     socket_play wildcard ADDRESS        binds some UDP port of every address, and connects to that port of ADDRESS */
#include "outcome.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char usage_text[] = "socket_play foreign|taken|line|zero|wildcard [ARGUMENT]...";

static int open_socket(int family, int type)
{
	int fd = socket(family, type, 0);

	outcome_require(fd >= 0, "make a socket");
	return fd;
}

/* `length` bytes of name, a leading NUL for an abstract one among them. */
static long name_call(int (*call)(int, const struct sockaddr *, socklen_t), int fd, const char *name, size_t length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	outcome_require(length <= sizeof(address.sun_path), "name is short enough");
	memcpy(address.sun_path, name, length);
	return call(fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

static int play_foreign(const char *folder)
{
	char path[108];
	int fd = open_socket(AF_INET, SOCK_STREAM);

	snprintf(path, sizeof(path), "%s/name", folder);
	outcome_require(name_call(bind, fd, path, strlen(path)) < 0, "be refused the address of another family");
	return outcome_report("listen", listen(fd, 1));
}

/* Binds to a port that the kernel chooses, which `address` holds afterwards. */
static void bind_somewhere(int fd, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);

	outcome_require(bind(fd, (struct sockaddr *)address, length) == 0, "bind");
	outcome_require(getsockname(fd, (struct sockaddr *)address, &length) == 0, "ask for the port");
}

static int play_taken(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int second = open_socket(AF_INET, SOCK_STREAM);

	bind_somewhere(open_socket(AF_INET, SOCK_STREAM), &address);
	outcome_require(bind(second, (struct sockaddr *)&address, sizeof(address)) < 0, "find the port taken");
	return outcome_report("listen", listen(second, 1));
}

static int play_line(const char *folder, const char *file_name)
{
	char text[108], wanted[64] = "";
	struct stat status;
	FILE *file = fopen(file_name, "re");
	int own = open_socket(AF_UNIX, SOCK_STREAM), liar = open_socket(AF_UNIX, SOCK_STREAM);

	outcome_require(file && fgets(wanted, sizeof(wanted), file), file_name);
	wanted[strcspn(wanted, "\n")] = '\0';
	outcome_require(chdir(folder) == 0 && fstat(own, &status) == 0, "enter the folder");
	outcome_require(name_call(bind, own, "a", 1) == 0, "bind a name of its own");
	snprintf(text, sizeof(text), "b\n0: 2 0 1 1 1 %lu %s", (unsigned long)status.st_ino, wanted);
	name_call(bind, liar, text, strlen(text));
	wanted[0] = '\0'; /* the `@` */
	return outcome_report("connect", name_call(connect, open_socket(AF_UNIX, SOCK_STREAM), wanted, 1 + strlen(wanted + 1)));
}

static int play_zero(const char *name)
{
	char bound[64], wanted[64];
	size_t length = strlen(name) + 1;
	int server = open_socket(AF_UNIX, SOCK_STREAM), other = open_socket(AF_UNIX, SOCK_STREAM);

	outcome_require(length <= sizeof(wanted), "name is short enough");
	wanted[0] = '\0';
	memcpy(wanted + 1, name, length - 1);
	for (size_t i = 0; i < length; i++)
		bound[i] = (char)(wanted[i] == '@' ? '\0' : wanted[i]);
	outcome_require(name_call(bind, server, bound, length) == 0 && listen(server, 1) == 0, "bind the other name");
	return outcome_report("connect", name_call(connect, other, wanted, length));
}

static int play_wildcard(const char *host)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	bind_somewhere(open_socket(AF_INET, SOCK_DGRAM), &address);
	outcome_require(inet_pton(AF_INET, host, &address.sin_addr) == 1, host);
	return outcome_report("connect", connect(open_socket(AF_INET, SOCK_DGRAM), (struct sockaddr *)&address, sizeof(address)));
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (argc == 3 && strcmp(way, "foreign") == 0)
		return play_foreign(argv[2]);
	if (argc == 2 && strcmp(way, "taken") == 0)
		return play_taken();
	if (argc == 4 && strcmp(way, "line") == 0)
		return play_line(argv[2], argv[3]);
	if (argc == 3 && strcmp(way, "zero") == 0)
		return play_zero(argv[2]);
	if (argc == 3 && strcmp(way, "wildcard") == 0)
		return play_wildcard(argv[2]);
	return outcome_usage(usage_text);
}
