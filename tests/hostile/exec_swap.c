/* Another process exchanges the program between the moment in which it is judged and the moment in which it is loaded:
 *     exec_swap … link     work/program is a link to either program
 *     exec_swap … rename   a copy of either program is renamed over work/program, and the policy names the hash of the first;
 *                          a copy, since what was there before the run may get no name under which it may be executed
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

/* The copy takes the place of the name. */
static void copy_program(const char *from, char path[static ATTACK_PATH], const char *name)
{
	char block[4096];
	ssize_t length;
	attack_at(path, name);
	int in = open(from, O_RDONLY), out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	attack_require(in >= 0 && out >= 0 && fchmod(out, 0755) == 0, "copy a program");
	while ((length = read(in, block, sizeof(block))) > 0)
		attack_require(write(out, block, (size_t)length) == length, "write the copy");
	close(in);
	close(out);
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
	if (by_link) {
		attack_at(sources[0], "a/program");
		attack_at(sources[1], "b/program");
	} else {
		copy_program("work/good", sources[0], "work/copy-good");
		copy_program("work/bad", sources[1], "work/copy-bad");
	}
	attack_start_process(&helper, by_link ? swap_link : swap_file);
	while (attack_goes_on()) {
		execute();
		attack.wins = times_marked();
	}
	attack_stop_process(&helper);
	return attack_end();
}
