/* Addresses of 127.0.0.1, and a port that a thread changes. MORE: the allowed port, the barred port. */
#ifndef HOSTILE_NETWORK_H
#define HOSTILE_NETWORK_H

#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static inline struct sockaddr_in network_address(int which)
{
	attack_require(attack.more[0] && attack.more[1], "two ports are needed");
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(attack.more[which])),
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static inline struct sockaddr_un network_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	attack_require(strlen(path) < sizeof(address.sun_path), "fit a path into an address");
	strcpy(address.sun_path, path);
	return address;
}

/* Is this socket's other end the barred port? */
static inline bool network_peer_is_barred(int fd)
{
	struct sockaddr_in peer, barred = network_address(1);
	socklen_t length = sizeof(peer);
	return getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sin_port == barred.sin_port;
}

#endif
