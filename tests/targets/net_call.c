/* Makes one socket call that names an address, and says how it went.
 *
 *     net_call [-S|-C] [-c] [-f FASTOPEN] CALL TYPE ADDRESS [PORT] [ADDRESS PORT]...
 *
 * CALL     connect, bind, listen, sendto, sendmsg, sendmmsg, write
 * TYPE     tcp, udp (IPv6 where the address has a colon), unix, unix-dgram
 * ADDRESS  numeric, a path, or @NAME for an abstract name; `-` for none; @file:PATH takes a PORT or NAME from a file
 *
 * -S  a server of this very process stands at ADDRESS first, on a port that the kernel chooses
 * -C  the same, but the server is a child
 * -c  connect the socket first and make the call without an address
 * More than one ADDRESS PORT: one message each, for sendmmsg. */
#include "outcome.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage_text[] = "net_call [-S|-C] [-c] [-f FASTOPEN] CALL TYPE ADDRESS [PORT]...";

enum { PEER_MAX = 4 };

struct peer {
	union {
		struct sockaddr any;
		struct sockaddr_in inet;
		struct sockaddr_in6 inet6;
		struct sockaddr_un path;
	} address;
	socklen_t length; /* 0: no address */
};

struct plan {
	const char *call;
	int type; /* SOCK_STREAM or SOCK_DGRAM */
	int is_unix;
	int send_flags;
	int connect_first;
	struct peer peers[PEER_MAX];
	int peer_count;
	int fd;
};

static const char *text_from_file(const char *text)
{
	static char line[128];
	FILE *file;

	if (strncmp(text, "@file:", 6) != 0)
		return text;
	file = fopen(text + 6, "re");
	outcome_require(file && fgets(line, sizeof(line), file), text);
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void peer_from_path(struct peer *peer, const char *text)
{
	struct sockaddr_un *path = &peer->address.path;
	size_t length = strlen(text);

	outcome_require(length < sizeof(path->sun_path), "unix name");
	path->sun_family = AF_UNIX;
	memcpy(path->sun_path, text, length);
	if (text[0] == '@')
		path->sun_path[0] = '\0';
	else
		length++;
	peer->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static void peer_from_inet(struct peer *peer, const char *text, const char *port)
{
	struct sockaddr_in *inet = &peer->address.inet;
	struct sockaddr_in6 *inet6 = &peer->address.inet6;
	uint16_t number = htons((uint16_t)atoi(text_from_file(port)));

	if (strchr(text, ':')) {
		inet6->sin6_family = AF_INET6;
		inet6->sin6_port = number;
		outcome_require(inet_pton(AF_INET6, text, &inet6->sin6_addr) == 1, text);
		peer->length = sizeof(*inet6);
	} else {
		inet->sin_family = AF_INET;
		inet->sin_port = number;
		outcome_require(inet_pton(AF_INET, text, &inet->sin_addr) == 1, text);
		peer->length = sizeof(*inet);
	}
}

static void peers_parse(struct plan *plan, int count, char **words)
{
	int at = 0;

	while (at < count && plan->peer_count < PEER_MAX) {
		struct peer *peer = &plan->peers[plan->peer_count++];
		if (strcmp(words[at], "-") == 0) {
			at++;
		} else if (plan->is_unix) {
			peer_from_path(peer, text_from_file(words[at++]));
		} else {
			peer_from_inet(peer, words[at], at + 1 < count ? words[at + 1] : "0");
			at += 2;
		}
	}
}

static int socket_new(const struct plan *plan, const struct peer *peer)
{
	int family = peer->length ? peer->address.any.sa_family : AF_INET;
	int fd = socket(family, plan->type, 0);

	outcome_require(fd >= 0, "socket");
	return fd;
}

static int server_socket(const struct plan *plan, struct peer *peer)
{
	int fd = socket_new(plan, peer);

	if (bind(fd, &peer->address.any, peer->length) < 0)
		exit(outcome_report("bind", -1));
	if (plan->type == SOCK_STREAM && listen(fd, 8) < 0)
		exit(outcome_report("listen", -1));
	outcome_require(getsockname(fd, &peer->address.any, &peer->length) == 0, "getsockname");
	return fd;
}

/* The child tells its address through a pipe and lives until its parent has ended. */
static void server_child(const struct plan *plan, struct peer *peer)
{
	int ends[2];
	pid_t child;

	outcome_require(pipe(ends) == 0, "pipe");
	child = fork();
	outcome_require(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server_socket(plan, peer);
		outcome_require(write(ends[1], peer, sizeof(*peer)) == (ssize_t)sizeof(*peer), "tell the address");
		pause();
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], peer, sizeof(*peer)) != (ssize_t)sizeof(*peer)) {
		int status = 0;
		waitpid(child, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : OUTCOME_SETUP);
	}
}

static struct msghdr message_to(struct peer *peer, struct iovec *text)
{
	struct msghdr message = {.msg_iov = text, .msg_iovlen = 1};

	if (peer->length) {
		message.msg_name = &peer->address;
		message.msg_namelen = peer->length;
	}
	return message;
}

static long call_connect(struct plan *plan)
{
	return connect(plan->fd, &plan->peers[0].address.any, plan->peers[0].length);
}

static long call_bind(struct plan *plan)
{
	return bind(plan->fd, &plan->peers[0].address.any, plan->peers[0].length);
}

static long call_listen(struct plan *plan)
{
	if (plan->peers[0].length && call_bind(plan) < 0)
		return -1;
	return listen(plan->fd, 8);
}

static long call_sendto(struct plan *plan)
{
	struct peer *peer = &plan->peers[0];

	return sendto(plan->fd, "message", 7, MSG_NOSIGNAL | plan->send_flags, peer->length ? &peer->address.any : NULL,
		      peer->length);
}

static long call_sendmsg(struct plan *plan)
{
	struct iovec text = {(char *)"message", 7};
	struct msghdr message = message_to(&plan->peers[0], &text);

	return sendmsg(plan->fd, &message, MSG_NOSIGNAL | plan->send_flags);
}

/* A kernel may take fewer messages than it was given: a caller then sends the rest, as this one does. */
static long call_sendmmsg(struct plan *plan)
{
	struct iovec text = {(char *)"message", 7};
	struct mmsghdr messages[PEER_MAX] = {0};
	unsigned count = plan->peer_count ? (unsigned)plan->peer_count : 1, sent = 0;

	for (unsigned i = 0; i < count; i++)
		messages[i].msg_hdr = message_to(&plan->peers[i], &text);
	while (sent < count) {
		int more = sendmmsg(plan->fd, messages + sent, count - sent, MSG_NOSIGNAL);
		if (more <= 0) {
			printf("sent %u\n", sent);
			return -1;
		}
		sent += (unsigned)more;
	}
	printf("sent %u, lengths %u %u\n", sent, messages[0].msg_len, messages[count - 1].msg_len);
	return 0;
}

static long call_write(struct plan *plan)
{
	return write(plan->fd, "message", 7);
}

static const struct call_row {
	const char *name;
	long (*perform)(struct plan *plan);
} call_rows[] = {
	{"connect", call_connect}, {"bind", call_bind},         {"listen", call_listen}, {"sendto", call_sendto},
	{"sendmsg", call_sendmsg}, {"sendmmsg", call_sendmmsg}, {"write", call_write},
};

static const struct call_row *row_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(call_rows[0]); i++)
		if (strcmp(call_rows[i].name, name) == 0)
			return &call_rows[i];
	return NULL;
}

static int type_parse(struct plan *plan, const char *name)
{
	plan->is_unix = strncmp(name, "unix", 4) == 0;
	if (strcmp(name, "tcp") == 0 || strcmp(name, "unix") == 0)
		plan->type = SOCK_STREAM;
	else if (strcmp(name, "udp") == 0 || strcmp(name, "unix-dgram") == 0)
		plan->type = SOCK_DGRAM;
	else
		return -1;
	return 0;
}

static int plan_perform(struct plan *plan, const struct call_row *row)
{
	plan->fd = socket_new(plan, &plan->peers[0]);
	if (plan->connect_first) {
		if (call_connect(plan) < 0)
			return outcome_report("connect", -1);
		memset(plan->peers, 0, sizeof(plan->peers));
	}
	return outcome_report(row->name, row->perform(plan));
}

int main(int argc, char **argv)
{
	struct plan plan = {0};
	const struct call_row *row;
	int option, server = 0;

	while ((option = getopt(argc, argv, "+SCcf:")) != -1) {
		if (option == 'S' || option == 'C')
			server = option;
		else if (option == 'c')
			plan.connect_first = 1;
		else if (option == 'f' && strcmp(optarg, "FASTOPEN") == 0)
			plan.send_flags = MSG_FASTOPEN;
		else
			return outcome_usage(usage_text);
	}
	if (argc - optind < 3 || !(row = row_by_name(argv[optind])) || type_parse(&plan, argv[optind + 1]))
		return outcome_usage(usage_text);
	peers_parse(&plan, argc - optind - 2, argv + optind + 2);
	if (server == 'S')
		server_socket(&plan, &plan.peers[0]);
	else if (server == 'C')
		server_child(&plan, &plan.peers[0]);
	return plan_perform(&plan, row);
}
