/* Reaches files by descriptors instead of names.
 *
 *     descriptor_play read N            reads a line from the inherited descriptor N
 *     descriptor_play write N           writes to the inherited descriptor N
 *     descriptor_play list              which descriptors are open
 *     descriptor_play unlinked PATH     makes PATH, unlinks it, opens it again for reading by /proc/self/fd
 *     descriptor_play reopen PATH FLAG  opens PATH read-only, opens it again by /proc/self/fd with r, w or t (truncate)
 *     descriptor_play devfd PATH        opens PATH, reads it by /dev/fd/N
 *     descriptor_play below DIR NAME    opens DIR with O_PATH, then /proc/self/fd/N/NAME
 *     descriptor_play opath PATH        opens PATH with O_PATH, then opens that by /proc/self/fd for reading
 *     descriptor_play execfd PATH       opens PATH with O_PATH and runs it with execveat(fd, "", AT_EMPTY_PATH)
 *     descriptor_play procexec PATH     opens PATH and runs /proc/self/fd/N
 *     descriptor_play memfd PATH        copies PATH into a memfd and runs that
 *     descriptor_play fstat PATH        opens PATH, then newfstatat(fd, "", AT_EMPTY_PATH) */
#include "outcome.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static const char usage_text[] = "descriptor_play WAY ARGUMENT [ARGUMENT]";

static char *arguments_of_program[] = {(char *)"program", (char *)"child", NULL};

static int open_required(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		exit(outcome_report("first open", -1));
	return fd;
}

static const char *link_of(int fd)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static int report_line(const char *name, int fd)
{
	char line[80] = "";
	ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	int code = outcome_report(name, length);

	if (length > 0)
		printf("content: %.*s\n", (int)strcspn(line, "\n"), line);
	return code;
}

static int play_read(char **words)
{
	return report_line("read", atoi(words[0]));
}

static int play_write(char **words)
{
	return outcome_report("write", write(atoi(words[0]), "written\n", 8));
}

static int play_list(char **words)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char open_ones[64] = "";

	(void)words;
	if (!folder)
		return outcome_report("opendir", -1);
	while ((entry = readdir(folder))) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < 40)
			open_ones[fd] = 'x';
	}
	printf("open:");
	for (int fd = 0; fd < 40; fd++)
		if (open_ones[fd])
			printf(" %d", fd);
	printf("\n");
	return OUTCOME_OK;
}

static int play_unlinked(char **words)
{
	int fd = open_required(words[0], O_RDWR | O_CREAT | O_EXCL);

	outcome_require(write(fd, "still here\n", 11) == 11 && unlink(words[0]) == 0, "write and unlink");
	return report_line("reopen", open(link_of(fd), O_RDONLY));
}

static int play_reopen(char **words)
{
	int fd = open_required(words[0], O_RDONLY);
	int flags = words[1][0] == 'w' ? O_WRONLY : words[1][0] == 't' ? O_RDONLY | O_TRUNC : O_RDONLY;

	return outcome_report("reopen", open(link_of(fd), flags));
}

static int play_devfd(char **words)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/fd/%d", open_required(words[0], O_RDONLY));
	return report_line("open", open(path, O_RDONLY));
}

static int play_below(char **words)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", link_of(open_required(words[0], O_PATH)), words[1]);
	return report_line("open", open(path, O_RDONLY));
}

static int play_opath(char **words)
{
	return report_line("reopen", open(link_of(open_required(words[0], O_PATH)), O_RDONLY));
}

static int play_execfd(char **words)
{
	int fd = open_required(words[0], O_PATH);

	return outcome_report("execveat", syscall(SYS_execveat, fd, "", arguments_of_program, environ, AT_EMPTY_PATH));
}

static int play_procexec(char **words)
{
	int fd = open_required(words[0], O_RDONLY);

	return outcome_report("execve", execve(link_of(fd), arguments_of_program, environ));
}

static int play_memfd(char **words)
{
	int source = open_required(words[0], O_RDONLY), fd = memfd_create("program", MFD_CLOEXEC);
	char block[65536];
	ssize_t length;

	if (fd < 0)
		return outcome_report("memfd_create", -1);
	while ((length = read(source, block, sizeof(block))) > 0)
		outcome_require(write(fd, block, (size_t)length) == length, "copy");
	return outcome_report("execveat", syscall(SYS_execveat, fd, "", arguments_of_program, environ, AT_EMPTY_PATH));
}

static int play_fstat(char **words)
{
	struct stat status;
	int fd = open_required(words[0], O_RDONLY);

	return outcome_report("newfstatat", syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH));
}

static const struct play_row {
	const char *name;
	int words;
	int (*play)(char **words);
} play_rows[] = {
	{"read", 1, play_read},     {"write", 1, play_write},       {"list", 0, play_list},
	{"unlinked", 1, play_unlinked}, {"reopen", 2, play_reopen}, {"devfd", 1, play_devfd},
	{"below", 2, play_below},   {"opath", 1, play_opath},       {"execfd", 1, play_execfd},
	{"procexec", 1, play_procexec}, {"memfd", 1, play_memfd},   {"fstat", 1, play_fstat},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(play_rows) / sizeof(play_rows[0]); i++)
		if (strcmp(play_rows[i].name, argv[1]) == 0 && argc - 2 == play_rows[i].words)
			return play_rows[i].play(argv + 2);
	return outcome_usage(usage_text);
}
