#include "engine/sockets.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE_BYTES = 512, TCP_LISTEN_STATE = 0x0A, MPTCP = 262 };

static int option(int fd, int name)
{
	int value = -1;
	socklen_t length = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static bool local_port_is_set(int fd)
{
	union { struct sockaddr any; struct sockaddr_in ipv4; struct sockaddr_in6 ipv6; } address = { .any.sa_family = AF_UNSPEC };
	socklen_t length = sizeof(address);
	if (getsockname(fd, &address.any, &length) != 0)
		return false;
	return (address.any.sa_family == AF_INET && address.ipv4.sin_port) || (address.any.sa_family == AF_INET6 && address.ipv6.sin6_port);
}

/* A thread may have a descriptor table of its own (clone without CLONE_FILES), and pidfd_open() names the process: the
 * inode must be the one that the calling thread's number leads to. */
static bool is_same_socket(const struct task *task, int descriptor, int fd)
{
	struct stat status;
	return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == proc_socket_inode(task->tid, descriptor);
}

void socket_look(const struct task *task, int descriptor, struct socket_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	auto_fd int process = (int)syscall(SYS_pidfd_open, task->process->tgid, 0);
	if (process < 0)
		return;
	auto_fd int fd = (int)syscall(SYS_pidfd_getfd, process, descriptor, 0);
	if (fd < 0 || !is_same_socket(task, descriptor, fd))
		return;
	facts->known = true;
	facts->domain = option(fd, SO_DOMAIN);
	facts->type = option(fd, SO_TYPE);
	facts->protocol = option(fd, SO_PROTOCOL);
	facts->has_local_port = local_port_is_set(fd);
}

enum transport socket_transport(const struct socket_facts *facts)
{
	if (facts->known && facts->type == SOCK_STREAM && (facts->protocol == IPPROTO_TCP || facts->protocol == MPTCP))
		return TRANSPORT_TCP;
	if (facts->known && facts->type == SOCK_DGRAM && facts->protocol == IPPROTO_UDP)
		return TRANSPORT_UDP;
	return TRANSPORT_ANY;
}

void socket_remember(struct supervisor *supervisor, uint64_t inode, const char *unix_path)
{
	if (inode == 0)
		return;
	if (!supervisor->bound_sockets)
		supervisor->bound_sockets = memory_zeroed(BOUND_SOCKET_MAX, sizeof(struct bound_socket));
	struct bound_socket *bound = &supervisor->bound_sockets[supervisor->bound_socket_next];
	bound->inode = inode;
	/* A path too long to be remembered is only not recognised later: that is a refusal. */
	if (!text_copy(bound->unix_path, sizeof(bound->unix_path), unix_path ? unix_path : ""))
		bound->unix_path[0] = '\0';
	supervisor->bound_socket_next = (supervisor->bound_socket_next + 1) % BOUND_SOCKET_MAX;
	if (supervisor->bound_socket_count < BOUND_SOCKET_MAX)
		supervisor->bound_socket_count++;
}

static const struct bound_socket *find_bound(const struct supervisor *supervisor, uint64_t inode)
{
	for (size_t i = 0; i < supervisor->bound_socket_count; i++)
		if (supervisor->bound_sockets[i].inode == inode)
			return &supervisor->bound_sockets[i];
	return NULL;
}

bool socket_was_bound(const struct supervisor *supervisor, uint64_t inode)
{
	return inode != 0 && find_bound(supervisor, inode) != NULL;
}

/* The kernel prints an address as 32-bit words in the machine's own byte order. */
static bool parse_address(const char *text, size_t words, uint8_t bytes[16])
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word;
		if (sscanf(text + 8 * i, "%8" SCNx32, &word) != 1)
			return false;
		memcpy(bytes + 4 * i, &word, sizeof(word));
	}
	return true;
}

static bool same_place(const struct address *address, const uint8_t *local, size_t words)
{
	static const uint8_t zero[16], mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };
	size_t length = 4 * words;
	if (memcmp(local, zero, length) == 0)
		return true; /* bound to every address of this host */
	if (address->kind == ADDRESS_IPV6)
		return words == 4 && memcmp(local, address->bytes, 16) == 0;
	if (words == 4)
		return memcmp(local, mapped_prefix, 12) == 0 && memcmp(local + 12, address->bytes, 4) == 0;
	return memcmp(local, address->bytes, 4) == 0;
}

/* One line of /proc/net/tcp, udp and their siblings. */
static bool inet_line_is_own(const struct supervisor *supervisor, const char *line, const struct address *address, size_t words,
			     bool stream)
{
	char local[33];
	unsigned port, state;
	uint64_t inode;
	uint8_t bytes[16];
	if (sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %" SCNu64, local, &port, &state, &inode) != 4)
		return false;
	return port == address->port && (!stream || state == TCP_LISTEN_STATE) && strlen(local) == 8 * words &&
	       parse_address(local, words, bytes) && same_place(address, bytes, words) && find_bound(supervisor, inode);
}

static bool inet_table_has_own(const struct supervisor *supervisor, const char *table, const struct address *address, size_t words,
			       bool stream)
{
	char line[LINE_BYTES];
	auto_file FILE *file = fopen(table, "re");
	while (file && fgets(line, sizeof(line), file))
		if (inet_line_is_own(supervisor, line, address, words, stream))
			return true;
	return false;
}

static bool inet_is_own(const struct supervisor *supervisor, const struct address *address)
{
	bool tcp = address->transport == TRANSPORT_ANY || address->transport == TRANSPORT_TCP;
	bool udp = address->transport == TRANSPORT_ANY || address->transport == TRANSPORT_UDP;
	return (tcp && (inet_table_has_own(supervisor, "/proc/self/net/tcp", address, 1, true) ||
			inet_table_has_own(supervisor, "/proc/self/net/tcp6", address, 4, true))) ||
	       (udp && (inet_table_has_own(supervisor, "/proc/self/net/udp", address, 1, false) ||
			inet_table_has_own(supervisor, "/proc/self/net/udp6", address, 4, false)));
}

/* A bound path is remembered canonically; the table only tells that the socket is still there. */
static bool unix_line_is_own(const struct supervisor *supervisor, const char *line, const struct address *address)
{
	uint64_t inode;
	int end = 0;
	if (sscanf(line, "%*[0-9a-fA-F]: %*x %*x %*x %*x %*x %" SCNu64 " %n", &inode, &end) != 1 || end == 0)
		return false;
	const struct bound_socket *bound = find_bound(supervisor, inode);
	if (!bound)
		return false;
	if (address->kind == ADDRESS_UNIX_PATH)
		return strcmp(bound->unix_path, address->path) == 0 && *bound->unix_path;
	/* An abstract name is printed with `@` for its leading NUL (and for any other: then it is not recognised). */
	size_t length = strcspn(line + end, "\n");
	return line[end] == '@' && length == address->path_length + 1 && memcmp(line + end + 1, address->path, address->path_length) == 0;
}

static bool unix_is_own(const struct supervisor *supervisor, const struct address *address)
{
	char line[LINE_BYTES];
	auto_file FILE *file = fopen("/proc/self/net/unix", "re");
	while (file && fgets(line, sizeof(line), file))
		if (unix_line_is_own(supervisor, line, address))
			return true;
	return false;
}

bool socket_is_own(const struct supervisor *supervisor, const struct address *address)
{
	if (supervisor->bound_socket_count == 0)
		return false;
	switch (address->kind) {
	case ADDRESS_IPV4:
	case ADDRESS_IPV6: return inet_is_own(supervisor, address);
	case ADDRESS_UNIX_PATH:
	case ADDRESS_UNIX_ABSTRACT: return unix_is_own(supervisor, address);
	default: return false;
	}
}
