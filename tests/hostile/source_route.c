/* A route inside the packet: the address that the call names is the allowed one, and the packet goes to another host first. A
 * win is a datagram that leaves with such an option; here it would go no further than to 127.0.0.2 or ::1. The control of all
 * is the option that records a route, which every user may set. */
#include "network.h"

enum { ROUTE_V6 = 57 };

static const unsigned char record[] = { 7, 7, 4, 0, 0, 0, 0, 0 };
static const unsigned char loose[] = { 131, 7, 4, 127, 0, 0, 2, 0 };
/* A segment routing header with one stop, ::1. */
static const unsigned char segments[24] = { 0, 2, 4, 0, 0, 0, 0, 0, [23] = 1 };

struct option {
	int family, level, type;
	const unsigned char *value;
	size_t length;
};

static const struct option record_v4 = { AF_INET, IPPROTO_IP, IP_OPTIONS, record, sizeof(record) };
static const struct option loose_v4 = { AF_INET, IPPROTO_IP, IP_OPTIONS, loose, sizeof(loose) };
static const struct option route_v6 = { AF_INET6, IPPROTO_IPV6, ROUTE_V6, segments, sizeof(segments) };

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(4) + CMSG_SPACE(sizeof(segments))];
};

static bool sends(const struct option *option, int fd, bool connected, void *control, size_t length)
{
	struct sockaddr_in v4 = network_address(0);
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	void *name = option->family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t name_length = option->family == AF_INET ? sizeof(v4) : sizeof(v6);
	struct iovec data = { (char[]){ 'x' }, 1 };
	struct msghdr message = { .msg_name = connected ? NULL : name, .msg_namelen = connected ? 0 : name_length, .msg_iov = &data,
				  .msg_iovlen = 1, .msg_control = control, .msg_controllen = length };
	return (!connected || connect(fd, name, name_length) == 0) && sendmsg(fd, &message, MSG_DONTWAIT) == 1;
}

static bool by_option(const struct option *option, unsigned long stray)
{
	int fd = socket(option->family, SOCK_DGRAM, 0);
	return syscall(SYS_setsockopt, fd, stray | (unsigned)option->level, stray | (unsigned)option->type, option->value,
		       option->length) == 0 && sends(option, fd, false, NULL, 0);
}

static void put(union control *control, size_t at, int level, int type, const void *value, size_t length)
{
	struct cmsghdr header = { .cmsg_len = CMSG_LEN(length), .cmsg_level = level, .cmsg_type = type };
	memcpy(control->space + at, &header, sizeof(header));
	memcpy(control->space + at + sizeof(header), value, length);
}

/* `behind`: another control message comes first. */
static bool by_control(const struct option *option, bool connected, bool behind)
{
	const int time_to_live = 9;
	union control control;
	size_t at = 0;
	memset(&control, 0, sizeof(control));
	if (behind) {
		put(&control, 0, IPPROTO_IP, IP_TTL, &time_to_live, sizeof(time_to_live));
		at = CMSG_SPACE(sizeof(time_to_live));
	}
	put(&control, at, option->level, option->family == AF_INET ? IP_RETOPTS : option->type, option->value, option->length);
	return sends(option, socket(option->family, SOCK_DGRAM, 0), connected, &control, at + CMSG_SPACE(option->length));
}

static bool record_option(void) { return by_option(&record_v4, 0); }
static bool record_stray(void) { return by_option(&record_v4, 1UL << 40); }
static bool record_control(void) { return by_control(&record_v4, false, false); }
static bool record_connected(void) { return by_control(&record_v4, true, false); }
static bool record_behind(void) { return by_control(&record_v4, false, true); }
static bool loose_option(void) { return by_option(&loose_v4, 0); }
static bool loose_control(void) { return by_control(&loose_v4, false, false); }
static bool route_option(void) { return by_option(&route_v6, 0); }
static bool route_control(void) { return by_control(&route_v6, false, false); }
static bool route_connected(void) { return by_control(&route_v6, true, false); }

/* A thread changes the type of a control message between a harmless one and the route. */
static union control flipped;

static void flip(unsigned count)
{
	__atomic_store_n(&flipped.header.cmsg_type, count % 2 ? IP_RETOPTS : IP_TTL, __ATOMIC_SEQ_CST);
}

static bool control_flipped(void)
{
	enum { TURNS = 1000 };
	struct attack_helper helper;
	bool won = false;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* As a time to live this has a wrong length: EINVAL. Only the route is ever sent. */
	put(&flipped, 0, IPPROTO_IP, IP_TTL, record, sizeof(record));
	attack_start_thread(&helper, flip);
	for (int i = 0; !won && attack_keeps_trying(i, TURNS); i++)
		won = sends(&record_v4, fd, false, &flipped, CMSG_SPACE(sizeof(record)));
	attack_stop_thread(&helper);
	return won;
}

static const struct attack_way ways[] = {
	{ "IP_OPTIONS", record_option, false },
	{ "IP_OPTIONS with stray bits", record_stray, false },
	{ "IP_RETOPTS", record_control, false },
	{ "IP_RETOPTS, connected", record_connected, false },
	{ "IP_RETOPTS behind another", record_behind, false },
	{ "IP_RETOPTS, flipped", control_flipped, false },
	{ "a loose source route", loose_option, true }, /* newer kernels ask for CAP_NET_RAW */
	{ "a loose source route beside the data", loose_control, true },
	{ "IPV6_RTHDR", route_option, true }, /* needs IPv6 */
	{ "IPV6_RTHDR beside the data", route_control, true },
	{ "IPV6_RTHDR beside the data, connected", route_connected, true },
};

int main(int argc, char **argv)
{
	attack_begin("source_route", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
