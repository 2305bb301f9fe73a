/* Some hundred processes that want to stay: each has a session of its own, ignores what can be ignored, opens a file again and
 * again, and forks once more. The parent ends when all are there. run.py counts who is left. */
#include "attack.h"

static volatile unsigned *alive; /* shared by all */

static void live_on(int generations)
{
	for (int i = 0; i <= generations; i++) {
		setsid();
		__atomic_add_fetch(alive, 1, __ATOMIC_SEQ_CST);
		if (i == generations || fork() != 0)
			break;
	}
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	for (;;) {
		attack_is_barred(open("a/file", O_RDONLY));
		attack_sleep_ms(20);
	}
}

int main(int argc, char **argv)
{
	enum { GENERATIONS = 4, MOST = 300, WAIT_MS = 10000 };
	attack_begin("fork_bomb", argc, argv);
	if (attack.tries > MOST)
		attack.tries = MOST;
	alive = mmap(NULL, sizeof(*alive), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	attack_require(alive != MAP_FAILED, "map shared memory");
	unsigned wanted = 0;
	while (attack.tried + GENERATIONS < attack.tries) {
		pid_t child = fork();
		if (child == 0)
			live_on(GENERATIONS);
		attack_require(child > 0, "fork");
		wanted += GENERATIONS + 1;
		attack.tried += GENERATIONS + 1;
	}
	for (int waited = 0; *alive < wanted && waited < WAIT_MS; waited++)
		attack_sleep_ms(1);
	attack_require(*alive == wanted, "start all of them");
	return attack_end();
}
