/* What a relative name starts from is exchanged while it is being opened:
 *     folder_flip … descriptor   a thread puts another folder under the number of the directory descriptor
 *     folder_flip … current      a process that shares the current folder (CLONE_FS) changes it */
#include "attack.h"

#include <sched.h>

static int folders[2], flipped;

static void flip_descriptor(unsigned count)
{
	dup2(folders[count % 2], flipped);
}

static int change_for_ever(void *unused)
{
	(void)unused;
	for (unsigned count = 0;; count++)
		if (fchdir(folders[count % 2]) != 0)
			_exit(1);
}

static void race_descriptor(void)
{
	struct attack_helper helper;
	flipped = dup(folders[0]);
	attack_start_thread(&helper, flip_descriptor);
	while (attack_goes_on())
		attack_count(attack_is_barred(openat(flipped, "file", O_RDONLY)));
	attack_stop_thread(&helper);
}

static void race_current(void)
{
	enum { STACK = 65536 };
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	attack_require(stack != MAP_FAILED, "map a stack");
	pid_t peer = clone(change_for_ever, stack + STACK, CLONE_FS | SIGCHLD, NULL);
	attack_require(peer > 0, "clone with CLONE_FS");
	while (attack_goes_on())
		attack_count(attack_is_barred(open("file", O_RDONLY)));
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
}

int main(int argc, char **argv)
{
	attack_begin("folder_flip", argc, argv);
	folders[0] = open("a", O_RDONLY | O_DIRECTORY);
	folders[1] = open("b", O_PATH | O_DIRECTORY);
	attack_require(folders[0] >= 0 && folders[1] >= 0, "open two folders");
	if (argc > 5 && strcmp(argv[5], "current") == 0)
		race_current();
	else
		race_descriptor();
	return attack_end();
}
