/* What can be learned about a tracee's socket, and which sockets the tree has bound itself. */
#ifndef ENGINE_SOCKETS_H
#define ENGINE_SOCKETS_H

#include "engine/supervisor.h"

struct socket_facts {
	bool known;          /* the host let us look (pidfd_getfd); some container profiles do not */
	int domain, type, protocol;
	bool has_local_port; /* an AF_INET(6) socket that is bound already */
};

/* A copy of the descriptor by pidfd_getfd, only to ask about it. Where that is refused `known` stays false, and a decision
 * must then hold for TCP and for UDP. */
void socket_look(const struct task *task, int descriptor, struct socket_facts *facts);

/* TRANSPORT_ANY where the type is not known. */
enum transport socket_transport(const struct socket_facts *facts);

/* Remembers a socket at its allowed bind. `unix_path` is NULL for others. */
void socket_remember(struct supervisor *supervisor, uint64_t inode, const char *unix_path);
bool socket_was_bound(const struct supervisor *supervisor, uint64_t inode);

/* Does the destination belong to a socket that the tree has bound and still holds? By the kernel's own tables. */
bool socket_is_own(const struct supervisor *supervisor, const struct address *address);

#endif
