/* Opens everything that can be opened in every way that comes to mind, and says for each what came of it: the errno, or kind,
 * mode, size, flags, name and content of what is open. tests/scripts/open_family.py compares the lines with and without
 * bailiff; so nothing is printed that differs from run to run.
 *
 *     open_play FOLDER      an empty folder to work in
 *
 * Each case that changes something has a folder of its own with the same things in it (arrange). */
#include "outcome.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { PAGE = 4096, LINKS = 41, TEXT = 2 * PATH_MAX };

static char base[PATH_MAX]; /* of all cases */
static char here[PATH_MAX + 16]; /* of this one */
static int number;

/* ---- what there is ------------------------------------------------------------------------------------------------ */

static void put(const char *name, const char *content, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	outcome_require(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content), name);
	outcome_require(fchmod(fd, mode) == 0, name);
	close(fd);
}

static void lead(const char *name, const char *target)
{
	outcome_require(symlink(target, name) == 0, name);
}

static void arrange_links(void)
{
	char target[PATH_MAX + 32];
	lead("link", "file");
	lead("folderlink", "folder");
	lead("slashlink", "folder/");
	lead("fileslash", "file/");
	lead("dangling", "missing");
	lead("deepdangling", "folder/missing");
	lead("nowhere", "missing/file");
	lead("loop", "loop");
	lead("uplink", "folder/../file");
	snprintf(target, sizeof(target), "%s/file", here);
	lead("absolute", target);
	snprintf(target, sizeof(target), "%s/missing", here);
	lead("absolutedangling", target);
	lead("outlink", "../../outside");
	lead("selflink", "/proc/self/cwd/file");
}

/* A fresh folder with one of each; it becomes the current one. */
static void arrange(void)
{
	umask(0);
	snprintf(here, sizeof(here), "%s/%d", base, number++);
	outcome_require(mkdir(here, 0755) == 0 && chdir(here) == 0, here);
	put("file", "content of the file", 0644);
	put("readonly", "read only", 0444);
	put("closedfile", "closed", 0);
	outcome_require(mkdir("folder", 0755) == 0 && mkdir("closedfolder", 0755) == 0 && mkdir("group", 02775) == 0, "mkdir");
	put("folder/inner", "inner", 0640);
	put("closedfolder/inner", "hidden", 0644);
	outcome_require(chmod("closedfolder", 0) == 0, "chmod");
	outcome_require(mkfifo("fifo", 0622) == 0 && mknod("socket", S_IFSOCK | 0755, 0) == 0, "mknod");
	arrange_links();
}

/* Only where the case before may have changed something; O_TMPFILE and O_TRUNC want to write as well. */
static void arrange_after(uint64_t flags)
{
	static bool used = true;
	if (used)
		arrange();
	umask(0);
	used = flags & (O_ACCMODE | O_CREAT | O_TRUNC);
}

/* ---- what came of it ---------------------------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "folder";
	case S_IFLNK: return "link";
	case S_IFIFO: return "FIFO";
	case S_IFSOCK: return "socket";
	case S_IFCHR: return "device";
	default: return "?";
	}
}

/* The name behind the descriptor, without what differs from run to run. */
static void print_name(int fd)
{
	char link[32], name[PATH_MAX + 64] = "";
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, name, sizeof(name) - 1);
	name[length > 0 ? length : 0] = '\0';
	size_t prefix = strlen(here);
	if (strncmp(name, here, prefix) == 0 && !strstr(name, "/#")) {
		const char *rest = name + prefix;
		printf(strlen(rest) > 80 ? " %.40s... (%zu bytes)" : " %s", *rest ? rest : "/", strlen(rest));
	}
}

static void print_open(int fd)
{
	char content[24] = "";
	struct stat status;
	outcome_require(fstat(fd, &status) == 0, "fstat");
	printf("%s %04o", kind_of(status.st_mode), status.st_mode & 07777);
	if (S_ISREG(status.st_mode))
		printf(" %lld bytes", (long long)status.st_size);
	printf(" flags %o%s", (unsigned)fcntl(fd, F_GETFL), fcntl(fd, F_GETFD) & FD_CLOEXEC ? " cloexec" : "");
	print_name(fd);
	if (S_ISREG(status.st_mode) && status.st_size < PAGE) {
		ssize_t length = pread(fd, content, sizeof(content) - 1, 0);
		printf(length >= 0 ? " \"%s\"" : " cannot be read: %s", length >= 0 ? content : outcome_errno(errno));
		if (write(fd, "W", 1) == 1)
			printf(", written at %lld", (long long)lseek(fd, 0, SEEK_CUR) - 1);
	}
	close(fd);
}

static void show(const char *name, long fd)
{
	int failed = errno;
	printf("%s: ", name);
	if (fd < 0)
		printf("%s", outcome_errno(failed));
	else
		print_open((int)fd);
	printf("\n");
	fflush(stdout);
}

static long open_how(int folder, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .mode = mode, .resolve = resolve };
	return syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* ---- by name and flags -------------------------------------------------------------------------------------------- */

static const struct { const char *name, *path; int flags; mode_t mode, mask; } plain_cases[] = {
	{ "read", "file", O_RDONLY, 0, 0 },
	{ "write", "file", O_WRONLY, 0, 0 },
	{ "both", "file", O_RDWR, 0, 0 },
	{ "access mode 3", "file", O_ACCMODE, 0, 0 },
	{ "append", "file", O_WRONLY | O_APPEND, 0, 0 },
	{ "append both", "file", O_RDWR | O_APPEND | O_CLOEXEC, 0, 0 },
	{ "truncate", "file", O_WRONLY | O_TRUNC, 0, 0 },
	{ "truncate for reading", "file", O_RDONLY | O_TRUNC, 0, 0 },
	{ "synchronous", "file", O_WRONLY | O_SYNC, 0, 0 },
	{ "data synchronous", "file", O_WRONLY | O_DSYNC, 0, 0 },
	{ "no access time", "file", O_RDONLY | O_NOATIME, 0, 0 },
	{ "asynchronous", "file", O_RDONLY | O_ASYNC, 0, 0 },
	{ "no terminal, large, non-blocking", "file", O_RDONLY | O_NOCTTY | 0100000 | O_NONBLOCK, 0, 0 },
	{ "unknown bits", "file", O_RDONLY | 0x8000000 | 0x40000000, 0, 0 },
	{ "mode without create", "file", O_RDONLY, 0777, 0 },
	{ "exclusive without create", "file", O_RDONLY | O_EXCL, 0, 0 },
	{ "read-only file for writing", "readonly", O_WRONLY, 0, 0 },
	{ "read-only file, truncated", "readonly", O_RDONLY | O_TRUNC, 0, 0 },
	{ "closed file", "closedfile", O_RDONLY, 0, 0 },
	{ "closed folder", "closedfolder", O_RDONLY, 0, 0 },
	{ "below a closed folder", "closedfolder/inner", O_RDONLY, 0, 0 },
	{ "missing below a closed folder", "closedfolder/missing", O_RDONLY, 0, 0 },
	{ "missing", "missing", O_RDONLY, 0, 0 },
	{ "below what is missing", "missing/file", O_RDONLY | O_CREAT, 0600, 0 },
	{ "below a file", "file/file", O_RDONLY | O_CREAT, 0600, 0 },
	{ "empty name", "", O_RDONLY, 0, 0 },
	{ "empty name, create", "", O_RDWR | O_CREAT, 0600, 0 },
	{ "this folder", ".", O_RDONLY, 0, 0 },
	{ "this folder for writing", ".", O_WRONLY, 0, 0 },
	{ "folder", "folder", O_RDONLY, 0, 0 },
	{ "folder as folder", "folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0 },
	{ "folder for both", "folder", O_RDWR, 0, 0 },
	{ "folder, truncated", "folder", O_RDONLY | O_TRUNC, 0, 0 },
	{ "folder, created", "folder", O_RDONLY | O_CREAT, 0600, 0 },
	{ "folder, created exclusively", "folder", O_RDONLY | O_CREAT | O_EXCL, 0600, 0 },
	{ "folder with a slash", "folder/", O_RDONLY, 0, 0 },
	{ "folder with slashes", "folder///", O_RDONLY, 0, 0 },
	{ "folder with a dot", "folder/.", O_RDONLY, 0, 0 },
	{ "folder with a dot, created", "folder/.", O_RDONLY | O_CREAT, 0600, 0 },
	{ "folder and back", "folder/..", O_RDONLY, 0, 0 },
	{ "around", "folder/../folder/./inner", O_RDONLY, 0, 0 },
	{ "around what is missing", "missing/../file", O_RDONLY, 0, 0 },
	{ "around a file", "file/../file", O_RDONLY, 0, 0 },
	{ "file as folder", "file", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "file with a slash", "file/", O_RDONLY, 0, 0 },
	{ "file with a slash, created", "file/", O_RDWR | O_CREAT, 0600, 0 },
	{ "file with a dot", "file/.", O_RDONLY, 0, 0 },
	{ "missing with a slash, created", "missing/", O_RDWR | O_CREAT, 0600, 0 },
	{ "missing as folder, created", "missing", O_RDONLY | O_CREAT | O_DIRECTORY, 0700, 0 },
	{ "created", "missing", O_RDWR | O_CREAT, 0640, 0 },
	{ "created with every bit", "missing", O_RDWR | O_CREAT, 07777, 0 },
	{ "created with more than every bit", "missing", O_RDWR | O_CREAT, 0177777, 0 },
	{ "created under a mask", "missing", O_RDWR | O_CREAT, 0666, 027 },
	{ "created under a full mask", "missing", O_WRONLY | O_CREAT, 0777, 0777 },
	{ "created without a mode", "missing", O_RDWR | O_CREAT, 0, 0 },
	{ "created in a group's folder", "group/missing", O_RDWR | O_CREAT, 0664, 02 },
	{ "created exclusively", "missing", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0 },
	{ "created though it is there", "file", O_RDONLY | O_CREAT, 0600, 0 },
	{ "created and truncated", "file", O_RDWR | O_CREAT | O_TRUNC, 0600, 0 },
	{ "created exclusively though it is there", "file", O_RDWR | O_CREAT | O_EXCL, 0600, 0 },
	{ "link", "link", O_RDONLY, 0, 0 },
	{ "link, not followed", "link", O_RDONLY | O_NOFOLLOW, 0, 0 },
	{ "link, created", "link", O_RDWR | O_CREAT, 0600, 0 },
	{ "link, created exclusively", "link", O_RDWR | O_CREAT | O_EXCL, 0600, 0 },
	{ "link with a slash", "link/", O_RDONLY, 0, 0 },
	{ "link as a path", "link", O_PATH, 0, 0 },
	{ "link itself as a path", "link", O_PATH | O_NOFOLLOW, 0, 0 },
	{ "link itself as a folder path", "link", O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, 0 },
	{ "link with an absolute name", "absolute", O_RDONLY, 0, 0 },
	{ "link that goes up", "uplink", O_RDONLY, 0, 0 },
	{ "link to a file with a slash", "fileslash", O_RDONLY, 0, 0 },
	{ "link to a folder", "folderlink", O_RDONLY, 0, 0 },
	{ "link to a folder as folder", "folderlink", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "link to a folder, not followed", "folderlink", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0 },
	{ "link to a folder with a slash, not followed", "folderlink/", O_RDONLY | O_NOFOLLOW, 0, 0 },
	{ "link to a folder with a slash in it", "slashlink", O_RDONLY, 0, 0 },
	{ "through a link to a folder", "folderlink/inner", O_RDONLY | O_NOFOLLOW, 0, 0 },
	{ "through two links, back", "folderlink/../slashlink/../link", O_RDONLY, 0, 0 },
	{ "dangling link", "dangling", O_RDONLY, 0, 0 },
	{ "dangling link, created", "dangling", O_RDWR | O_CREAT, 0640, 0 },
	{ "dangling link, created exclusively", "dangling", O_RDWR | O_CREAT | O_EXCL, 0600, 0 },
	{ "dangling link, not followed, created", "dangling", O_RDWR | O_CREAT | O_NOFOLLOW, 0600, 0 },
	{ "dangling link with an absolute name, created", "absolutedangling", O_RDWR | O_CREAT, 0604, 0 },
	{ "dangling link into a folder, created", "deepdangling", O_RDWR | O_CREAT, 0600, 0 },
	{ "dangling link with a slash, created", "dangling/", O_RDWR | O_CREAT, 0600, 0 },
	{ "dangling link as a path", "dangling", O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, 0 },
	{ "link to nowhere, created", "nowhere", O_RDWR | O_CREAT, 0600, 0 },
	{ "link to itself", "loop", O_RDONLY, 0, 0 },
	{ "link to itself, created", "loop", O_RDWR | O_CREAT, 0600, 0 },
	{ "link to itself as a path", "loop", O_PATH | O_NOFOLLOW, 0, 0 },
	{ "link through /proc", "selflink", O_RDONLY, 0, 0 },
	{ "FIFO for reading, non-blocking", "fifo", O_RDONLY | O_NONBLOCK, 0, 0 },
	{ "FIFO for writing, non-blocking", "fifo", O_WRONLY | O_NONBLOCK, 0, 0 },
	{ "FIFO for both", "fifo", O_RDWR, 0, 0 },
	{ "FIFO as a path", "fifo", O_PATH, 0, 0 },
	{ "FIFO as folder", "fifo", O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, 0 },
	{ "FIFO, created and truncated", "fifo", O_RDWR | O_CREAT | O_TRUNC, 0600, 0 },
	{ "socket", "socket", O_RDWR, 0, 0 },
	{ "socket as a path", "socket", O_PATH, 0, 0 },
	{ "path", "file", O_PATH, 0, 0 },
	{ "path with flags that it drops", "file", O_PATH | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600, 0 },
	{ "path of a folder", "folder", O_PATH | O_DIRECTORY, 0, 0 },
	{ "path of a file as folder", "file", O_PATH | O_DIRECTORY, 0, 0 },
	{ "path of what is missing", "missing", O_PATH | O_CREAT, 0600, 0 },
	{ "path of a closed file", "closedfile", O_PATH, 0, 0 },
	{ "unnamed file", ".", O_TMPFILE | O_RDWR, 0640, 0 },
	{ "unnamed file under a mask", "folder", O_TMPFILE | O_WRONLY | O_EXCL, 0666, 022 },
	{ "unnamed file for reading", ".", O_TMPFILE | O_RDONLY, 0600, 0 },
	{ "unnamed file in a file", "file", O_TMPFILE | O_RDWR, 0600, 0 },
	{ "unnamed file in what is missing", "missing", O_TMPFILE | O_RDWR, 0600, 0 },
	{ "unnamed file through a link", "folderlink", O_TMPFILE | O_RDWR, 0600, 0 },
	{ "unnamed file, created", ".", O_TMPFILE | O_RDWR | O_CREAT, 0600, 0 },
	{ "the null device", "/dev/null", O_RDWR | O_TRUNC, 0, 0 },
	{ "the null device, created", "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0666, 0 },
	{ "the null device as folder", "/dev/null", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "the root", "/", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "above the root", "/../..", O_RDONLY, 0, 0 },
	{ "own status", "/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0 },
	{ "own thread's status", "/proc/thread-self/status", O_RDONLY, 0, 0 },
	{ "own current folder", "/proc/self/cwd", O_RDONLY, 0, 0 },
	{ "through the own current folder", "/proc/self/cwd/folder/inner", O_RDONLY, 0, 0 },
	{ "created through the own current folder", "/proc/self/cwd/missing", O_RDWR | O_CREAT, 0600, 0 },
	{ "own current folder, not followed", "/proc/self/cwd", O_RDONLY | O_NOFOLLOW, 0, 0 },
	{ "own root", "/proc/self/root", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "what is missing in /proc", "/proc/self/nothing", O_RDONLY, 0, 0 },
	{ "an own descriptor that is not there", "/proc/self/fd/999", O_RDONLY, 0, 0 },
};

static void play_plain(void)
{
	for (size_t i = 0; i < sizeof(plain_cases) / sizeof(*plain_cases); i++) {
		arrange_after((unsigned)plain_cases[i].flags);
		umask(plain_cases[i].mask);
		show(plain_cases[i].name, syscall(SYS_openat, AT_FDCWD, plain_cases[i].path, plain_cases[i].flags, plain_cases[i].mode));
	}
}

static void play_chains(void)
{
	char name[32], target[32];
	arrange();
	lead("chain0", "file");
	for (int i = 1; i < LINKS; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(target, sizeof(target), "chain%d", i - 1);
		lead(name, target);
	}
	show("forty links", open("chain39", O_RDONLY));
	show("one link too many", open("chain40", O_RDONLY));
	show("one link too many, the last itself", open("chain40", O_PATH | O_NOFOLLOW));
}

/* ---- names of every length and place ------------------------------------------------------------------------------ */

static char *filled(char *text, size_t length, char with)
{
	memset(text, with, length);
	text[length] = '\0';
	return text;
}

/* "./././file", `length` bytes of it. */
static char *padded(char *text, size_t length)
{
	size_t fill = length - strlen("file");
	memset(text, '/', fill);
	for (size_t i = 0; i + 1 < fill; i += 2)
		text[i] = '.';
	if (fill % 2)
		memcpy(text + fill - 1, "/", 1);
	strcpy(text + fill, "file");
	return text;
}

static void play_lengths(void)
{
	char text[TEXT];
	arrange();
	show("a name of 255 bytes, created", open(filled(text, 255, 'n'), O_RDWR | O_CREAT, 0600));
	show("a name of 255 bytes", open(text, O_RDONLY));
	show("a name of 256 bytes", open(filled(text, 256, 'n'), O_RDWR | O_CREAT, 0600));
	show("a name of 256 bytes as a folder", open(strcat(filled(text, 256, 'n'), "/file"), O_RDONLY));
	show("a path of 4094 bytes", open(padded(text, 4094), O_RDONLY));
	show("a path of 4095 bytes", open(padded(text, 4095), O_RDONLY));
	show("a path of 4096 bytes", open(padded(text, 4096), O_RDONLY));
	show("a path of 5000 bytes, created", open(padded(text, 5000), O_RDWR | O_CREAT, 0600));
	show("a path of slashes", open(filled(text, 4095, '/'), O_RDONLY));
	show("an absolute path", open(strcat(strcpy(text, here), "//./file"), O_RDONLY));
	show("no pointer", syscall(SYS_open, NULL, O_RDONLY));
	show("a pointer to nothing", syscall(SYS_openat, AT_FDCWD, (void *)64, O_RDONLY));
	show("a pointer that is no address", syscall(SYS_open, (void *)UINTPTR_MAX, O_RDONLY | O_CREAT, 0600));
}

static void play_edges(void)
{
	char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	outcome_require(memory != MAP_FAILED && munmap(memory + PAGE, PAGE) == 0, "map memory");
	arrange();
	char *end = memory + PAGE;
	memcpy(end - sizeof("file"), "file", sizeof("file"));
	show("a name up to the end of memory", open(end - sizeof("file"), O_RDONLY));
	memcpy(end - 4, "file", 4);
	show("a name without its end", open(end - 4, O_RDWR | O_CREAT, 0600));
	memset(memory, '/', PAGE);
	show("slashes without an end", open(memory, O_RDONLY));
	*(end - 1) = '\0';
	show("an empty name at the end of memory", open(end - 1, O_RDONLY));
}

/* ---- where it starts from ----------------------------------------------------------------------------------------- */

static void play_folders(void)
{
	arrange();
	int folder = open("folder", O_RDONLY | O_DIRECTORY), path = open("folder", O_PATH), file = open("file", O_RDONLY);
	const long high = 1L << 33;
	show("below a folder's descriptor", openat(folder, "inner", O_RDONLY));
	show("below a path's descriptor", openat(path, "inner", O_RDONLY));
	show("below a descriptor, up", openat(path, "../file", O_RDONLY));
	show("created below a descriptor", openat(path, "missing", O_RDWR | O_CREAT, 0600));
	show("below a file's descriptor", openat(file, "inner", O_RDONLY));
	show("an absolute name below a file's descriptor", openat(file, "/dev/null", O_RDONLY));
	show("below a descriptor that is not there", openat(999, "inner", O_RDONLY));
	show("below a descriptor that is no number", openat(-1, "inner", O_RDONLY));
	show("an absolute name below nothing", openat(-1, "/dev/null", O_WRONLY));
	show("an empty name below a descriptor", openat(folder, "", O_RDONLY));
	show("a dot below a path's descriptor", openat(path, ".", O_RDONLY | O_DIRECTORY));
	show("below a descriptor with stray bits", syscall(SYS_openat, high | path, "inner", high | O_RDONLY, high));
	rename("folder", "renamed");
	show("below a folder that was renamed", openat(folder, "inner", O_RDONLY));
	show("creat", creat("file", 0600));
	show("creat of what is missing", creat("missing", 0751));
	show("creat of a folder", creat("group", 0600));
	show("creat of a dangling link", creat("dangling", 0600));
}

static void play_deleted(void)
{
	arrange();
	int file = open("file", O_RDWR);
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	outcome_require(mkdir("gone", 0700) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0, "remove a folder");
	show("a deleted current folder", open(".", O_RDONLY));
	show("a name in a deleted current folder", open("file", O_RDONLY));
	show("created in a deleted current folder", open("file", O_RDWR | O_CREAT, 0600));
	show("above a deleted current folder", open("../file", O_RDONLY));
	show("an absolute name from a deleted current folder", open("/dev/null", O_RDONLY));
	show("a deleted current folder as folder", openat(AT_FDCWD, "./", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	show("a deleted current folder for writing", open(".", O_WRONLY));
	show("around a deleted current folder", open("./..", O_RDONLY | O_DIRECTORY));
	show("an unnamed file in a deleted current folder", open(".", O_TMPFILE | O_RDWR, 0600));
	outcome_require(chdir(here) == 0 && unlink("file") == 0, "remove a file");
	show("a deleted file by its descriptor", open(name, O_RDWR));
	show("a deleted file by its name", open("file", O_RDONLY));
}

static void play_descriptors(void)
{
	static const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDWR | O_CREAT, O_PATH, O_RDONLY | O_NOFOLLOW,
				     O_PATH | O_NOFOLLOW, O_RDONLY | O_DIRECTORY, O_WRONLY | O_CREAT | O_EXCL, O_RDONLY | O_CLOEXEC | O_NONBLOCK };
	int ends[2];
	char name[32], text[64];
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		arrange();
		int fd = open("file", O_RDWR | O_APPEND);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		snprintf(text, sizeof(text), "an own descriptor with flags %o", (unsigned)flags[i]);
		show(text, open(name, flags[i], 0600));
		close(fd);
	}
	arrange();
	int folder = open("folder", O_RDONLY | O_DIRECTORY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/inner", folder);
	show("below an own descriptor", open(name, O_RDONLY));
	snprintf(name, sizeof(name), "/dev/fd/%d", folder);
	show("an own descriptor by /dev/fd", open(name, O_RDONLY | O_DIRECTORY));
	outcome_require(pipe(ends) == 0, "make a pipe");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
	show("the reading end of a pipe", open(name, O_RDONLY | O_NONBLOCK));
	show("the reading end of a pipe as a path", open(name, O_PATH | O_CLOEXEC));
	show("openat2 of a descriptor as a path", open_how(AT_FDCWD, name, O_PATH, 0, 0));
	umask(027);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", folder);
	show("an unnamed file below an own descriptor", open(name, O_TMPFILE | O_RDWR | O_EXCL, 0666));
	snprintf(name, sizeof(name), "/proc/self/fd/%d/", folder);
	show("an own descriptor with a slash as a path", open(name, O_PATH));
}

/* ---- openat2 ------------------------------------------------------------------------------------------------------ */

static const struct { const char *name, *path; uint64_t flags, mode, resolve; } how_cases[] = {
	{ "openat2", "file", O_RDWR | O_CLOEXEC, 0, 0 },
	{ "openat2, created", "missing", O_RDWR | O_CREAT, 0640, 0 },
	{ "openat2, mode without create", "file", O_RDONLY, 0600, 0 },
	{ "openat2, too much mode", "missing", O_RDWR | O_CREAT, 010777, 0 },
	{ "openat2, unknown flags", "file", O_RDONLY | UINT64_C(0x100000000), 0, 0 },
	{ "openat2, unknown resolve", "file", O_RDONLY, 0, 0x8000 },
	{ "openat2, unnamed file", ".", O_TMPFILE | O_RDWR, 0600, 0 },
	{ "openat2, path with other flags", "file", O_PATH | O_RDWR, 0, 0 },
	{ "openat2, empty name", "", O_RDONLY, 0, 0 },
	{ "beneath", "folder/inner", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, a link", "link", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, around", "folder/../file", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, up", "../0/file", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, absolute", "/dev/null", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, an absolute link", "absolute", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, a link out", "outlink", O_RDONLY, 0, RESOLVE_BENEATH },
	{ "beneath, created", "folder/missing", O_RDWR | O_CREAT, 0600, RESOLVE_BENEATH },
	{ "in root", "/folder/inner", O_RDONLY, 0, RESOLVE_IN_ROOT },
	{ "in root, up", "../../file", O_RDONLY, 0, RESOLVE_IN_ROOT },
	{ "in root, a link out", "outlink", O_RDONLY, 0, RESOLVE_IN_ROOT },
	{ "in root, an absolute link", "absolute", O_RDONLY, 0, RESOLVE_IN_ROOT },
	{ "in root and beneath", "file", O_RDONLY, 0, RESOLVE_IN_ROOT | RESOLVE_BENEATH },
	{ "no links", "folder/inner", O_RDONLY, 0, RESOLVE_NO_SYMLINKS },
	{ "no links, a link", "link", O_RDONLY, 0, RESOLVE_NO_SYMLINKS },
	{ "no links, a link on the way", "folderlink/inner", O_RDONLY, 0, RESOLVE_NO_SYMLINKS },
	{ "no links, a link itself", "link", O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS },
	{ "no magic links, a link", "link", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS },
	{ "no magic links, one", "/proc/self/exe", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS },
	{ "no magic links, one on the way", "/proc/self/cwd/file", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS },
	{ "no other file system", "file", O_RDONLY, 0, RESOLVE_NO_XDEV },
	{ "no other file system, /proc", "/proc/self/status", O_RDONLY, 0, RESOLVE_NO_XDEV },
	{ "no other file system, created", "missing", O_RDWR | O_CREAT, 0600, RESOLVE_NO_XDEV },
	{ "all at once", "folder/inner", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV },
	{ "only what is cached, created", "missing", O_RDWR | O_CREAT, 0600, RESOLVE_CACHED },
};

static void play_how(void)
{
	unsigned char longer[64] = { 0 };
	struct open_how how = { .flags = O_RDONLY };
	arrange();
	for (size_t i = 0; i < sizeof(how_cases) / sizeof(*how_cases); i++) {
		arrange_after(how_cases[i].flags);
		show(how_cases[i].name, open_how(AT_FDCWD, how_cases[i].path, how_cases[i].flags, how_cases[i].mode, how_cases[i].resolve));
	}
	arrange();
	show("openat2, no size", syscall(SYS_openat2, AT_FDCWD, "file", &how, 0));
	show("openat2, too small", syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof(how) - 1));
	show("openat2, larger", syscall(SYS_openat2, AT_FDCWD, "file", longer, sizeof(longer)));
	longer[40] = 1;
	show("openat2, larger with something in it", syscall(SYS_openat2, AT_FDCWD, "file", longer, sizeof(longer)));
	show("openat2, enormous", syscall(SYS_openat2, AT_FDCWD, "file", longer, 1UL << 20));
	show("openat2, no struct", syscall(SYS_openat2, AT_FDCWD, "file", NULL, sizeof(how)));
	show("openat2, no name", syscall(SYS_openat2, AT_FDCWD, NULL, &how, sizeof(how)));
	int folder = open("folder", O_PATH);
	show("openat2 below a descriptor", open_how(folder, "inner", O_RDONLY, 0, RESOLVE_BENEATH));
	show("openat2 below a descriptor, up", open_how(folder, "../file", O_RDONLY, 0, RESOLVE_BENEATH));
	show("openat2, an absolute name beside nothing", open_how(999, "/", O_RDONLY, 0, RESOLVE_NO_SYMLINKS));
	show("openat2, an absolute name below nothing", open_how(999, "/", O_RDONLY, 0, RESOLVE_BENEATH));
	show("in root of nothing", open_how(999, "/", O_RDONLY, 0, RESOLVE_IN_ROOT));
	show("openat2 below nothing", open_how(999, "inner", O_RDONLY, 0, RESOLVE_BENEATH));
}

/* ---- what ends a wait, and a full table --------------------------------------------------------------------------- */

static void on_alarm(int signal_number)
{
	(void)signal_number;
}

static void play_waiting(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 30000 } };
	struct sigaction action = { .sa_handler = on_alarm };
	arrange();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	show("a FIFO until a signal comes", open("fifo", O_RDONLY));
	pid_t child = fork();
	if (child == 0) {
		usleep(60000);
		close(open("fifo", O_WRONLY));
		_exit(0);
	}
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	show("a FIFO beyond a signal", open("fifo", O_RDONLY));
}

static void play_full(void)
{
	struct rlimit limit, none;
	arrange();
	int next = dup(0);
	close(next);
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &none);
	int failed[3];
	const char *const names[] = { "file", "missing", "/proc/self/fd/0" };
	for (int i = 0; i < 3; i++)
		failed[i] = open(names[i], O_RDONLY | (i == 1 ? O_CREAT : 0), 0600) < 0 ? errno : 0;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < 3; i++)
		printf("%s with a full table: %s\n", names[i], outcome_errno(failed[i]));
	show("what a full table has not created", open("missing", O_RDONLY));
}

int main(int argc, char **argv)
{
	if (argc != 2 || strlen(argv[1]) >= sizeof(base))
		return outcome_usage("open_play FOLDER");
	strcpy(base, argv[1]);
	play_plain();
	play_chains();
	play_lengths();
	play_edges();
	play_folders();
	play_deleted();
	play_descriptors();
	play_how();
	play_waiting();
	play_full();
	return OUTCOME_OK;
}
