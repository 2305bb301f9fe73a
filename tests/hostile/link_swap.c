/* A folder on the way is a link that another process makes lead elsewhere while the name is being opened. With MORE the program
 * has a seccomp filter of its own. */
#include "filter.h"

static char link_name[ATTACK_PATH], targets[2][ATTACK_PATH];

static void swap(unsigned count)
{
	attack_put_link(targets[count % 2], link_name);
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	char name[ATTACK_PATH];
	attack_begin("link_swap", argc, argv);
	if (argc > 5)
		filter_add(SYS_getpid, SECCOMP_RET_ALLOW, 0);
	attack_at(link_name, "work/link");
	attack_at(targets[0], "a");
	attack_at(targets[1], "b");
	attack_at(name, "work/link/file");
	swap(0);
	attack_start_process(&helper, swap);
	while (attack_goes_on())
		attack_count(attack_is_barred(open(name, O_RDONLY)));
	attack_stop_process(&helper);
	return attack_end();
}
