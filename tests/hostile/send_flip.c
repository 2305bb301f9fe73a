/* A thread changes where a datagram goes while it is being sent: the bytes of the address, the pointer to it in a message
 * header, or the same in a batch. run.py counts what arrives at the barred port: only the receiver knows.
 *     send_flip … ALLOWED BARRED sendto|sendmsg|sendmmsg */
#include "network.h"

static struct sockaddr_in addresses[2], address;
static struct mmsghdr batch[1];

static void flip(unsigned count)
{
	__atomic_store_n(&address.sin_port, addresses[count % 2].sin_port, __ATOMIC_SEQ_CST);
	__atomic_store_n(&batch[0].msg_hdr.msg_name, &addresses[count % 2], __ATOMIC_SEQ_CST);
}

static void send_somehow(int fd, const char *call)
{
	ssize_t sent;
	if (strcmp(call, "sendto") == 0)
		sent = sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof(address));
	else if (strcmp(call, "sendmsg") == 0)
		sent = sendmsg(fd, &batch[0].msg_hdr, MSG_DONTWAIT);
	else
		sent = sendmmsg(fd, batch, 1, MSG_DONTWAIT);
	if (sent < 0)
		errno = 0; /* refused: the next try */
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	struct iovec data = { (char[]){ 'x' }, 1 };
	attack_begin("send_flip", argc, argv);
	attack_require(argc > 7, "which call is meant");
	for (int i = 0; i < 2; i++)
		addresses[i] = network_address(i);
	address = addresses[0];
	batch[0].msg_hdr = (struct msghdr){ .msg_name = &addresses[0], .msg_namelen = sizeof(address), .msg_iov = &data, .msg_iovlen = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	attack_require(fd >= 0, "make a socket");
	attack_start_thread(&helper, flip);
	while (attack_goes_on())
		send_somehow(fd, attack.more[2]);
	attack_stop_thread(&helper);
	return attack_end();
}
