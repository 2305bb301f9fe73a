/* A listed program names "work/loader" as its PT_INTERP, a link that another process makes lead to the system's loader or to
 * a barred copy of it (b/loader; with MORE another barred one). a/program is this program with that name patched into it: run with the argument "look" it
 * says whether the barred one has loaded it. */
#include "attack.h"

#include <limits.h>

static char loader[ATTACK_PATH], loaders[2][PATH_MAX];

static bool is_loaded_by_barred(void)
{
	char line[ATTACK_PATH + 128];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps))
		found = found || strstr(line, "/b/loader");
	return found;
}

static void swap(unsigned count)
{
	attack_put_link(loaders[count % 2], loader);
}

static bool execute(void)
{
	int status = 0;
	pid_t child = vfork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		execl("a/program", "a/program", "look", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	if (argc == 2)
		return is_loaded_by_barred() ? ATTACK_EXIT_WON : 0;
	attack_begin("interpreter_swap", argc, argv);
	attack_at(loader, "work/loader");
	attack_require(realpath("/lib64/ld-linux-x86-64.so.2", loaders[0]) != NULL, "find the loader");
	attack_at(loaders[1], attack.more[0] ? attack.more[0] : "b/loader");
	attack_start_process(&helper, swap);
	while (attack_goes_on())
		attack_count(execute());
	attack_stop_process(&helper);
	return attack_end();
}
