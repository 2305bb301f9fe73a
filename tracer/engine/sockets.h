/* What can be learned about a tracee's socket, and which sockets the tree has bound itself. */
#ifndef ENGINE_SOCKETS_H
#define ENGINE_SOCKETS_H

#include "engine/supervisor.h"

struct socket_facts {
	uint64_t inode;      /* what every other fact is about; 0 for no socket */
	bool is_unix;
	bool known;          /* the host let us look further (pidfd_getfd); some container profiles do not */
	int domain, type, protocol;
	bool has_local_port; /* an AF_INET(6) socket that is bound already */
};

/* Looks at the socket behind a number once. Where a copy of it by pidfd_getfd is refused `known` stays false, and a decision
 * must then hold for TCP and for UDP. */
void socket_look(const struct task *task, int descriptor, struct socket_facts *facts);

/* TRANSPORT_ANY where the type is not known. */
enum transport socket_transport(const struct socket_facts *facts);

/* Remembers a socket at its allowed bind to `address`. Nothing where the address is of another family than the socket: the
 * kernel refuses that bind. */
void socket_remember(struct supervisor *supervisor, const struct socket_facts *facts, const struct address *address);

/* Was the IPv4 or IPv6 socket bound by an allowed bind, and is it still, as far as the host lets us look? */
bool socket_was_bound(const struct supervisor *supervisor, const struct socket_facts *facts);

/* listen() on the very socket that the facts are about, done by the supervisor: in the thread's own call the number may mean
 * another one by then (-EBADF). 1 where the host does not give us the socket, else 0 or -errno. */
int socket_listen(const struct task *task, int descriptor, const struct socket_facts *facts, int backlog);

/* The bind of the unix socket `inode` to the canonical path `path` has succeeded, and nobody in the tree has touched the name
 * since. */
void socket_has_file(struct supervisor *supervisor, uint64_t inode, const char *path);

/* Does the destination belong to a socket that the tree has bound and still holds? By the kernel's own tables. `from` is the
 * socket that is to reach it; NULL asks whether any socket would. */
bool socket_is_own(const struct supervisor *supervisor, const struct address *address, const struct socket_facts *from);

#endif
