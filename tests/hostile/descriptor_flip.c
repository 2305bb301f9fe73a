/* A file that may only be read and one that may be written take turns under one number, which is opened again for both
 * through /proc/self/fd. A win is a writable descriptor of the first. */
#include "attack.h"

static int files[2], flipped;
static ino_t read_only;

static void flip(unsigned count)
{
	dup2(files[count % 2], flipped);
}

static bool is_read_only_file(int fd)
{
	struct stat status;
	bool won = fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == read_only;
	if (fd >= 0)
		close(fd);
	return won;
}

int main(int argc, char **argv)
{
	struct attack_helper helper;
	struct stat status;
	char name[32];
	attack_begin("descriptor_flip", argc, argv);
	files[0] = open("a/file", O_RDONLY);
	files[1] = open("work/file", O_RDWR | O_CREAT, 0600);
	attack_require(files[0] >= 0 && files[1] >= 0 && fstat(files[0], &status) == 0, "open two files");
	read_only = status.st_ino;
	flipped = dup(files[1]);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", flipped);
	attack_start_thread(&helper, flip);
	while (attack_goes_on())
		attack_count(is_read_only_file(open(name, O_RDWR)));
	attack_stop_thread(&helper);
	return attack_end();
}
