/* Another process exchanges the program between the moment in which it is judged and the moment in which it is loaded:
 *     exec_swap … link     work/program is a link to either program
 *     exec_swap … rename   either program is renamed over work/program, and the policy names the hash of the first
 * The barred program is "mark". */
#include "attack.h"

static char program[ATTACK_PATH], sources[2][ATTACK_PATH];

static void swap_link(unsigned count)
{
	attack_put_link(sources[count % 2], program);
}

static void swap_file(unsigned count)
{
	char next[ATTACK_PATH + 8];
	snprintf(next, sizeof(next), "%s.next", program);
	unlink(next);
	if (link(sources[count % 2], next) == 0)
		rename(next, program);
}

static long times_marked(void)
{
	struct stat status;
	return stat("work/ran", &status) == 0 ? (long)status.st_size : 0;
}

static void execute(void)
{
	pid_t child = vfork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		execl(program, program, (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	attack_begin("exec_swap", argc, argv);
	attack_require(argc > 5, "which way is meant");
	bool by_link = strcmp(argv[5], "link") == 0;
	attack_at(program, "work/program");
	attack_at(sources[0], by_link ? "a/program" : "work/good");
	attack_at(sources[1], by_link ? "b/program" : "work/bad");
	attack_start_process(&helper, by_link ? swap_link : swap_file);
	while (attack_goes_on()) {
		execute();
		attack.wins = times_marked();
	}
	attack_stop_process(&helper);
	return attack_end();
}
