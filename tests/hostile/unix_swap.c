/* work/link leads to the socket a/socket or b/socket, behind which run.py answers "allowed" or "barred"; another process
 * exchanges it while it is being connected to. */
#include "network.h"

static char link_name[ATTACK_PATH], targets[2][ATTACK_PATH];

static void swap(unsigned count)
{
	attack_put_link(targets[count % 2], link_name);
}

static bool reaches_barred(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	attack_require(fd >= 0, "make a socket");
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return attack_is_barred(fd);
	close(fd);
	return false;
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	attack_begin("unix_swap", argc, argv);
	attack_at(targets[0], "a/socket");
	attack_at(targets[1], "b/socket");
	struct sockaddr_un address = network_path(attack_at(link_name, "work/link"));
	swap(0);
	attack_start_process(&helper, swap);
	while (attack_goes_on())
		attack_count(reaches_barred(&address));
	attack_stop_process(&helper);
	return attack_end();
}
