/* Another process, which shares the memory but nothing else, changes the name while it is being opened. */
#include "attack.h"

static char *name;
static size_t place;

static void flip(unsigned count)
{
	__atomic_store_n(&name[place], count % 2 ? 'b' : 'a', __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	attack_begin("shared_flip", argc, argv);
	name = mmap(NULL, ATTACK_PATH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	attack_require(name != MAP_FAILED, "map shared memory");
	attack_at(name, "a/file");
	place = strlen(attack.arena) + 1;
	attack_start_process(&helper, flip);
	while (attack_goes_on())
		attack_count(attack_is_barred(open(name, O_RDONLY)));
	attack_stop_process(&helper);
	return attack_end();
}
