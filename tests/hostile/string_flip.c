/* A thread changes the name in the buffer while it is being opened. With MORE the program has a seccomp filter of its own. */
#include "filter.h"

#include <linux/openat2.h>

static char name[ATTACK_PATH];
static size_t place; /* of the letter in which the two names differ */

static void flip(unsigned count)
{
	__atomic_store_n(&name[place], count % 2 ? 'b' : 'a', __ATOMIC_SEQ_CST);
}

static int open_somehow(long turn)
{
	struct open_how how = { .flags = O_RDONLY };
	switch (turn % 3) {
	case 0: return (int)syscall(SYS_open, name, O_RDONLY);
	case 1: return (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
	default: return (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how));
	}
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	attack_begin("string_flip", argc, argv);
	if (argc > 5)
		filter_add(SYS_getpid, SECCOMP_RET_ALLOW, 0);
	attack_at(name, "a/file");
	place = strlen(attack.arena) + 1;
	attack_start_thread(&helper, flip);
	while (attack_goes_on())
		attack_count(attack_is_barred(open_somehow(attack.tried)));
	attack_stop_thread(&helper);
	return attack_end();
}
