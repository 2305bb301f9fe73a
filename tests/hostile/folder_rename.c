/* A file that a "deny" entry names, in a folder that may otherwise be changed: move the folder, or the file, or give it
 * another name, and read it there. Every way has a folder of its own, tree/N/deep/secret, of which run.py makes enough. */
#include "attack.h"

#include <linux/fs.h>

static bool after(int moved, const char *name)
{
	return moved == 0 && attack_reads_barred(name);
}

static bool rename_folder(void)
{
	return after(rename("tree/1/deep", "tree/1/other"), "tree/1/other/secret");
}

static bool rename_parent(void)
{
	return after(rename("tree/2", "tree/moved"), "tree/moved/deep/secret") || attack_reads_barred("tree/moved/up/deep/secret");
}

static bool exchange_folders(void)
{
	return after((int)syscall(SYS_renameat2, AT_FDCWD, "tree/3/deep", AT_FDCWD, "tree/3/plain", RENAME_EXCHANGE), "tree/3/plain/secret");
}

static bool exchange_from_the_other_side(void)
{
	return after((int)syscall(SYS_renameat2, AT_FDCWD, "tree/4/plain", AT_FDCWD, "tree/4/deep", RENAME_EXCHANGE), "tree/4/plain/secret");
}

static bool move_below(void)
{
	return after(rename("tree/5/deep", "tree/5/plain/deep"), "tree/5/plain/deep/secret");
}

static bool link_file(void)
{
	return after(link("tree/6/deep/secret", "tree/6/plain/copy"), "tree/6/plain/copy");
}

static bool rename_file(void)
{
	return after(rename("tree/7/deep/secret", "tree/7/plain/moved"), "tree/7/plain/moved");
}

static bool by_descriptor(void)
{
	int folder = open("tree/8", O_RDONLY | O_DIRECTORY);
	return after(renameat(folder, "deep/.", folder, "other"), "tree/8/other/secret") ||
	       after(renameat(folder, "deep", folder, "other"), "tree/8/other/secret");
}

static bool through_link(void)
{
	return after(symlink("../deep", "tree/9/plain/link"), "tree/9/plain/link/secret");
}

static void exchange(unsigned count)
{
	(void)count;
	syscall(SYS_renameat2, AT_FDCWD, "tree/10/deep", AT_FDCWD, "tree/10/plain", RENAME_EXCHANGE);
}

static bool exchange_while_opened(void)
{
	enum { TURNS = 400 };
	struct attack_helper helper;
	bool won = false;
	attack_start_thread(&helper, exchange);
	for (int i = 0; !won && attack_keeps_trying(i, TURNS); i++)
		won = attack_reads_barred("tree/10/plain/secret") || attack_reads_barred("tree/10/plain/../plain/secret");
	attack_stop_thread(&helper);
	return won;
}

static const struct attack_way ways[] = {
	{ "renaming the folder", rename_folder, false },
	{ "renaming the folder above", rename_parent, false },
	{ "exchanging two folders", exchange_folders, false },
	{ "exchanging them from the other side", exchange_from_the_other_side, false },
	{ "moving the folder below another", move_below, false },
	{ "a hard link", link_file, false },
	{ "renaming the file", rename_file, false },
	{ "renaming by descriptor", by_descriptor, false },
	{ "a link to the folder", through_link, false },
	{ "exchanging while it is opened", exchange_while_opened, false },
};

int main(int argc, char **argv)
{
	attack_begin("folder_rename", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
