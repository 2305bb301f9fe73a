/* Routes inside packets: the call names an address, and an option of the socket or of the message sends the packet to another
 * host first (loose source routes of IPv4, routing headers of IPv6, which any user may set). The address on the list would be
 * no more than what that host is asked to pass the packet on to. */
#include "engine/handlers.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* linux/in6.h, which cannot be included beside netinet/in.h */
#ifndef IPV6_FLOWLABEL_MGR
#define IPV6_FLOWLABEL_MGR 32
#endif
struct in6_flowlabel_req {
	struct in6_addr destination;
	uint32_t label;
	uint8_t action, share;
	uint16_t flags, expires, linger;
	uint32_t pad;
};

enum { OLD_ROUTE = 5, OLD_OPTIONS = 6 }; /* IPV6_2292RTHDR, IPV6_2292PKTOPTIONS (linux/in6.h) */

static const struct {
	int level, option; /* of setsockopt */
	int control;       /* type of a control message of this level; 0 for none */
	const char *name;
} routes[] = {
	{ IPPROTO_IP, IP_OPTIONS, IP_RETOPTS, "IP_OPTIONS" },
	{ IPPROTO_IPV6, IPV6_RTHDR, IPV6_RTHDR, "IPV6_RTHDR" },
	{ IPPROTO_IPV6, OLD_ROUTE, OLD_ROUTE, "IPV6_2292RTHDR" },
	{ IPPROTO_IPV6, OLD_OPTIONS, 0, "IPV6_2292PKTOPTIONS" },
};

enum { ROUTE_COUNT = sizeof(routes) / sizeof(*routes) };

struct resume handle_setsockopt(struct stop *stop)
{
	int level = (int)stop->call.args[1], option = (int)stop->call.args[2], length = (int)stop->call.args[4];
	/* Without a value the option is taken away again. */
	/* Behind the struct there may be options of the label's packets, a route among them. */
	if (level == IPPROTO_IPV6 && option == IPV6_FLOWLABEL_MGR && (unsigned)length > sizeof(struct in6_flowlabel_req))
		return blocked_call(stop, "a route of its own for packets", "IPV6_FLOWLABEL_MGR with options");
	for (size_t i = 0; i < ROUTE_COUNT && length != 0; i++)
		if (routes[i].level == level && routes[i].option == option)
			return blocked_call(stop, "a route of its own for packets", routes[i].name);
	return resume_run();
}

/* Walks as the kernel does (linux/socket.h, CMSG_OK and __cmsg_nxthdr); what it could not walk it refuses. */
const char *control_route(const void *control, size_t length)
{
	struct cmsghdr header;
	for (size_t at = 0; length - at >= sizeof(header); at += CMSG_ALIGN(header.cmsg_len)) {
		memcpy(&header, (const char *)control + at, sizeof(header));
		if (header.cmsg_len < sizeof(header) || header.cmsg_len > length - at)
			return NULL;
		for (size_t i = 0; i < ROUTE_COUNT; i++)
			if (routes[i].control && routes[i].level == header.cmsg_level && routes[i].control == header.cmsg_type)
				return routes[i].name;
		if (CMSG_ALIGN(header.cmsg_len) > length - at)
			return NULL;
	}
	return NULL;
}
