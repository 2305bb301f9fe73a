#include "engine/sockets.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
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

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

/* The thread itself where that can be said: it may have a descriptor table of its own (clone without CLONE_FILES), and the
 * first thread of its process may have ended. */
static int open_pidfd(const struct task *task)
{
	int fd = (int)syscall(SYS_pidfd_open, task->tid, PIDFD_THREAD);
	return fd >= 0 ? fd : (int)syscall(SYS_pidfd_open, task->process->tgid, 0);
}

/* A copy of the socket with this inode, which was behind the number. -EBADF where the number means something else by now:
 * another thread may change that at any time. Another -errno where the host gives no copies. */
static int copy_of(const struct task *task, int descriptor, uint64_t inode)
{
	char state;
	struct stat status;
	auto_fd int process = open_pidfd(task);
	if (process < 0)
		return -errno;
	int fd = (int)syscall(SYS_pidfd_getfd, process, descriptor, 0);
	if (fd < 0 && errno == EBADF && proc_read_state(task->process->tgid, &state) == 0 && state == 'Z')
		return -ESRCH; /* a first thread that has ended has no descriptors, on a kernel without PIDFD_THREAD */
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != inode) {
		close(fd);
		return -EBADF;
	}
	return fd;
}

/* The name of the protocol is an attribute of every socket, which needs no copy of it (net/socket.c, sockfs_xattr_get). */
static bool is_unix_socket(int held)
{
	char path[32], name[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	return getxattr(path, "system.sockprotoname", name, sizeof(name)) >= 4 && memcmp(name, "UNIX", 4) == 0;
}

void socket_look(const struct task *task, int descriptor, struct socket_facts *facts)
{
	char entry[32];
	struct stat status;
	memset(facts, 0, sizeof(*facts));
	snprintf(entry, sizeof(entry), "fd/%d", descriptor);
	auto_fd int held = proc_open(task->tid, entry, O_PATH);
	if (held < 0 || fstat(held, &status) != 0 || !S_ISSOCK(status.st_mode))
		return;
	facts->inode = status.st_ino;
	facts->is_unix = is_unix_socket(held);
	auto_fd int fd = copy_of(task, descriptor, facts->inode);
	if (fd < 0)
		return;
	facts->known = true;
	facts->domain = option(fd, SO_DOMAIN);
	facts->type = option(fd, SO_TYPE);
	facts->protocol = option(fd, SO_PROTOCOL);
	facts->has_local_port = local_port_is_set(fd);
}

int socket_listen(const struct task *task, int descriptor, const struct socket_facts *facts, int backlog)
{
	auto_fd int fd = copy_of(task, descriptor, facts->inode);
	if (fd < 0)
		return fd == -EBADF ? fd : 1;
	return listen(fd, backlog) == 0 ? 0 : -errno;
}

enum transport socket_transport(const struct socket_facts *facts)
{
	if (facts->known && facts->type == SOCK_STREAM && (facts->protocol == IPPROTO_TCP || facts->protocol == MPTCP))
		return TRANSPORT_TCP;
	if (facts->known && facts->type == SOCK_DGRAM && (facts->protocol == IPPROTO_UDP || facts->protocol == IPPROTO_UDPLITE))
		return TRANSPORT_UDP;
	return TRANSPORT_ANY;
}

static bool is_unix_address(const struct address *address)
{
	return address->kind == ADDRESS_UNIX_PATH || address->kind == ADDRESS_UNIX_ABSTRACT;
}

void socket_remember(struct supervisor *supervisor, const struct socket_facts *facts, const struct address *address)
{
	struct bound_socket entry = { .inode = facts->inode, .is_unix = is_unix_address(address),
				      .is_abstract = address->kind == ADDRESS_UNIX_ABSTRACT, .type = facts->known ? facts->type : -1 };
	if (entry.inode == 0 || entry.is_unix != facts->is_unix)
		return;
	/* A name too long to be remembered is only not recognised later: that is a refusal. */
	if (entry.is_abstract && address->path_length > 0 && address->path_length <= sizeof(entry.name)) {
		entry.name_length = address->path_length;
		memcpy(entry.name, address->path, entry.name_length);
	}
	if (!supervisor->bound_sockets)
		supervisor->bound_sockets = memory_zeroed(BOUND_SOCKET_MAX, sizeof(struct bound_socket));
	supervisor->bound_sockets[supervisor->bound_socket_next] = entry;
	supervisor->bound_socket_next = (supervisor->bound_socket_next + 1) % BOUND_SOCKET_MAX;
	if (supervisor->bound_socket_count < BOUND_SOCKET_MAX)
		supervisor->bound_socket_count++;
}

static struct bound_socket *find_bound(const struct supervisor *supervisor, uint64_t inode, bool is_unix)
{
	for (size_t i = 0; i < supervisor->bound_socket_count; i++)
		if (supervisor->bound_sockets[i].inode == inode && supervisor->bound_sockets[i].is_unix == is_unix)
			return &supervisor->bound_sockets[i];
	return NULL;
}

void socket_has_file(struct supervisor *supervisor, uint64_t inode, const char *path)
{
	struct stat status;
	struct bound_socket *bound = find_bound(supervisor, inode, true);
	if (!bound || bound->is_abstract || lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return;
	bound->device = status.st_dev;
	bound->file = status.st_ino;
}

/* An allowed bind may have failed in the kernel: the socket itself knows better, where it can be asked. */
bool socket_was_bound(const struct supervisor *supervisor, const struct socket_facts *facts)
{
	return find_bound(supervisor, facts->inode, false) && (!facts->known || facts->has_local_port);
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

/* 127.0.0.0/8, ::1, or an address that an interface has: what a socket bound to every address is reached by. */
static bool is_of_this_host(const struct address *address)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	if (address->kind == ADDRESS_IPV4 ? address->bytes[0] == 127 : memcmp(address->bytes, loopback, 16) == 0)
		return true;
	struct ifaddrs *list;
	bool found = false;
	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *entry = list; entry && !found; entry = entry->ifa_next) {
		const struct sockaddr *any = entry->ifa_addr;
		if (any && any->sa_family == AF_INET && address->kind == ADDRESS_IPV4)
			found = memcmp(&((const struct sockaddr_in *)any)->sin_addr, address->bytes, 4) == 0;
		else if (any && any->sa_family == AF_INET6 && address->kind == ADDRESS_IPV6)
			found = memcmp(&((const struct sockaddr_in6 *)any)->sin6_addr, address->bytes, 16) == 0;
	}
	freeifaddrs(list);
	return found;
}

/* Could a socket with this local address be reached by `address`? */
static bool same_place(const struct address *address, const uint8_t *local, size_t words)
{
	static const uint8_t zero[16], mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };
	if (memcmp(local, zero, 4 * words) == 0)
		return true; /* bound to every address of this host */
	if (address->kind == ADDRESS_IPV6)
		return words == 4 && memcmp(local, address->bytes, 16) == 0;
	if (words == 4)
		return memcmp(local, mapped_prefix, 12) == 0 && memcmp(local + 12, address->bytes, 4) == 0;
	return memcmp(local, address->bytes, 4) == 0;
}

/* Who stands at a destination: by one line of /proc/net/tcp, udp and their siblings, and by all of them. */
struct standing {
	bool own, foreign;
};

static void look_at_line(const struct supervisor *supervisor, const char *line, const struct address *address, size_t words,
			 bool stream, struct standing *standing)
{
	char local[33];
	unsigned port, state;
	uint64_t inode;
	uint8_t bytes[16];
	if (sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %" SCNu64, local, &port, &state, &inode) != 4)
		return;
	if (port != address->port || (stream && state != TCP_LISTEN_STATE) || strlen(local) != 8 * words ||
	    !parse_address(local, words, bytes) || !same_place(address, bytes, words))
		return;
	bool own = find_bound(supervisor, inode, false) != NULL;
	standing->own = standing->own || own;
	standing->foreign = standing->foreign || !own;
}

static void look_at_table(const struct supervisor *supervisor, const char *table, const struct address *address, size_t words,
			  bool stream, struct standing *standing)
{
	char line[LINE_BYTES];
	auto_file FILE *file = fopen(table, "re");
	while (file && fgets(line, sizeof(line), file))
		look_at_line(supervisor, line, address, words, stream, standing);
}

/* The tree's own only where nobody else stands at that port of this host as well: a socket bound to one address is preferred
 * to one bound to all, and several may share a port. */
static bool inet_is_own(const struct supervisor *supervisor, const struct address *address)
{
	struct standing tcp = { .own = false }, udp = { .own = false }, udp_lite = { .own = false };
	look_at_table(supervisor, "/proc/self/net/tcp", address, 1, true, &tcp);
	look_at_table(supervisor, "/proc/self/net/tcp6", address, 4, true, &tcp);
	look_at_table(supervisor, "/proc/self/net/udp", address, 1, false, &udp);
	look_at_table(supervisor, "/proc/self/net/udp6", address, 4, false, &udp);
	/* UDP-Lite has ports of its own, and counts as UDP here: who stands there is never the tree itself. */
	look_at_table(supervisor, "/proc/self/net/udplite", address, 1, false, &udp_lite);
	look_at_table(supervisor, "/proc/self/net/udplite6", address, 4, false, &udp_lite);
	udp.foreign = udp.foreign || udp_lite.own || udp_lite.foreign;
	bool by_tcp = tcp.own && !tcp.foreign, by_udp = udp.own && !udp.foreign;
	bool own = address->transport == TRANSPORT_TCP   ? by_tcp
		   : address->transport == TRANSPORT_UDP ? by_udp
							 : (by_tcp || by_udp) && !tcp.foreign && !udp.foreign;
	return own && is_of_this_host(address);
}

/* Where a connect would end: at a file, or at an abstract name among the sockets of one type. */
struct place {
	const struct address *address;
	const struct socket_facts *from;
	struct stat file;
};

static bool is_at(const struct bound_socket *bound, const struct place *place)
{
	const struct address *address = place->address;
	if (address->kind == ADDRESS_UNIX_PATH)
		return !bound->is_abstract && bound->file != 0 && bound->file == place->file.st_ino && bound->device == place->file.st_dev;
	return bound->is_abstract && place->from && place->from->known && place->from->type == bound->type && bound->name_length > 0 &&
	       bound->name_length == address->path_length && memcmp(bound->name, address->path, bound->name_length) == 0;
}

/* What a socket was bound as is remembered; the table only tells that it is still there. The name in the table proves nothing:
 * it is printed as it is, and a name with a line break in it prints a line of its own choice (bind refuses those). */
static bool unix_line_is_own(const struct supervisor *supervisor, const char *line, const struct place *place)
{
	uint64_t inode;
	int end = 0;
	if (sscanf(line, "%*[0-9a-fA-F]: %*x %*x %*x %*x %*x %" SCNu64 " %n", &inode, &end) != 1 || end == 0)
		return false;
	const struct bound_socket *bound = find_bound(supervisor, inode, true);
	return bound && is_at(bound, place);
}

static bool unix_is_own(const struct supervisor *supervisor, const struct address *address, const struct socket_facts *from)
{
	char line[LINE_BYTES];
	struct place place = { .address = address, .from = from };
	if (address->kind == ADDRESS_UNIX_PATH && lstat(address->path, &place.file) != 0)
		return false;
	auto_file FILE *file = fopen("/proc/self/net/unix", "re");
	while (file && fgets(line, sizeof(line), file))
		if (unix_line_is_own(supervisor, line, &place))
			return true;
	return false;
}

bool socket_is_own(const struct supervisor *supervisor, const struct address *address, const struct socket_facts *from)
{
	if (supervisor->bound_socket_count == 0)
		return false;
	switch (address->kind) {
	case ADDRESS_IPV4:
	case ADDRESS_IPV6: return inet_is_own(supervisor, address);
	case ADDRESS_UNIX_PATH:
	case ADDRESS_UNIX_ABSTRACT: return unix_is_own(supervisor, address, from);
	default: return false;
	}
}
