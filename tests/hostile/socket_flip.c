/* A thread exchanges a UDP and a TCP socket under the number that is being connected: the policy opens the barred port to UDP
 * alone, and the other way round it opens the allowed port to TCP alone. */
#include "network.h"

static int number, sockets[2];

static void flip(unsigned count)
{
	dup2(sockets[count % 2], number);
}

/* Did the socket of the kind that the entry does not name get there? Sockets of both kinds are as new afterwards. */
static bool reaches_with_other_kind(const struct sockaddr_in *address, int other)
{
	const struct sockaddr nothing = { .sa_family = AF_UNSPEC };
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	connect(number, (const struct sockaddr *)address, sizeof(*address));
	bool won = getpeername(other, (struct sockaddr *)&peer, &length) == 0 && peer.sin_port == address->sin_port;
	for (int i = 0; i < 2; i++)
		connect(sockets[i], &nothing, sizeof(nothing));
	return won;
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	attack_begin("socket_flip", argc, argv);
	const struct sockaddr_in only_tcp = network_address(0), only_udp = network_address(1);
	sockets[0] = socket(AF_INET, SOCK_DGRAM, 0);
	sockets[1] = socket(AF_INET, SOCK_STREAM, 0);
	number = dup(sockets[0]);
	attack_require(sockets[0] >= 0 && sockets[1] >= 0 && number >= 0, "make two sockets");
	attack_start_thread(&helper, flip);
	while (attack_goes_on())
		attack_count(attack.tried % 2 ? reaches_with_other_kind(&only_tcp, sockets[0])
					      : reaches_with_other_kind(&only_udp, sockets[1]));
	attack_stop_thread(&helper);
	return attack_end();
}
