/* A thread changes the port in the address while it is being connected to, by TCP and by UDP in turns. */
#include "network.h"

static struct sockaddr_in address;
static in_port_t ports[2];

static void flip(unsigned count)
{
	__atomic_store_n(&address.sin_port, ports[count % 2], __ATOMIC_SEQ_CST);
}

static bool reaches_barred(int type)
{
	int fd = socket(AF_INET, type, 0);
	attack_require(fd >= 0, "make a socket");
	bool won = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && network_peer_is_barred(fd);
	close(fd);
	return won;
}

int main(int argc, char **argv)
{
	enum { TCP_EVERY = 8 };
	struct attack_helper helper;
	attack_begin("connect_flip", argc, argv);
	for (int i = 0; i < 2; i++)
		ports[i] = network_address(i).sin_port;
	address = network_address(0);
	attack_start_thread(&helper, flip);
	while (attack_goes_on())
		attack_count(reaches_barred(attack.tried % TCP_EVERY == 0 ? SOCK_STREAM : SOCK_DGRAM));
	attack_stop_thread(&helper);
	return attack_end();
}
