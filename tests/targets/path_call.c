/* Makes one system call that names a file, by its raw number, and says how it went.
 *
 *     path_call [-d DIR] [-D DIR2] [-c DIR] [-f FLAG,FLAG] [-m OCTAL] [-s] CALL PATH [PATH2]
 *
 * -d, -D  the folders that the descriptors of an *at call stand for     -c  change to this folder first
 * -f      flags by name, see flag_words                                  -s  print mode and size of PATH afterwards
 *
 * A path may also be one of
 *     @null  @bad       no pointer, and one that is never mapped
 *     @edge:PATH        the last byte of the string is the last byte before an unmapped page
 *     @fill:PATH:N      PATH, then `/` and `x` up to N bytes in all
 *     @escape:PATH      \xHH stands for one byte
 *     @pid:PATH         PATH with %d replaced by the caller's process id */
#include "outcome.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static const char usage_text[] = "path_call [-d DIR] [-D DIR2] [-c DIR] [-f FLAGS] [-m OCTAL] [-s] CALL PATH [PATH2]";

/* One letter per argument; prepare_values says what each letter means. */
struct call_row {
	const char *name;
	long number;
	const char *arguments;
	unsigned since_major, since_minor; /* the kernel that brought it; 0: every kernel that we run on */
};

static const struct call_row call_rows[] = {
	{"open", 2, "pfm", 0, 0},
	{"creat", 85, "pm", 0, 0},
	{"openat", 257, "dpfm", 0, 0},
	{"openat2", 437, "dphH", 0, 0},
	{"mkdir", 83, "pm", 0, 0},
	{"mkdirat", 258, "dpm", 0, 0},
	{"mknod", 133, "pn0", 0, 0},
	{"mknodat", 259, "dpn0", 0, 0},
	{"rmdir", 84, "p", 0, 0},
	{"unlink", 87, "p", 0, 0},
	{"unlinkat", 263, "dpf", 0, 0},
	{"rename", 82, "pP", 0, 0},
	{"renameat", 264, "dpDP", 0, 0},
	{"renameat2", 316, "dpDPf", 0, 0},
	{"link", 86, "pP", 0, 0},
	{"linkat", 265, "dpDPf", 0, 0},
	{"symlink", 88, "pP", 0, 0},
	{"symlinkat", 266, "pDP", 0, 0},
	{"chmod", 90, "pm", 0, 0},
	{"fchmod", 91, "Fm", 0, 0},
	{"fchmodat", 268, "dpm", 0, 0},
	{"fchmodat2", 452, "dpmf", 6, 6},
	{"chown", 92, "pug", 0, 0},
	{"lchown", 94, "pug", 0, 0},
	{"fchown", 93, "Fug", 0, 0},
	{"fchownat", 260, "dpugf", 0, 0},
	{"utime", 132, "p0", 0, 0},
	{"utimes", 235, "p0", 0, 0},
	{"futimesat", 261, "dp0", 0, 0},
	{"utimensat", 280, "dp0f", 0, 0},
	{"futimens", 280, "F000", 0, 0},
	{"truncate", 76, "pT", 0, 0},
	{"setxattr", 188, "pxvV0", 0, 0},
	{"lsetxattr", 189, "pxvV0", 0, 0},
	{"fsetxattr", 190, "FxvV0", 0, 0},
	{"setxattrat", 463, "dpfxjJ", 6, 13},
	{"removexattr", 197, "px", 0, 0},
	{"lremovexattr", 198, "px", 0, 0},
	{"fremovexattr", 199, "Fx", 0, 0},
	{"removexattrat", 466, "dpfx", 6, 13},
	{"FS_IOC_SETFLAGS", 16, "Fkq", 0, 0},
	{"FS_IOC_GETFLAGS", 16, "FLq", 0, 0},
	{"BTRFS_IOC_SUBVOL_CREATE", 16, "FSq", 0, 0},
	{"file_setattr", 469, "dpaAf", 6, 17},
	{"stat", 4, "pb", 0, 0},
	{"lstat", 6, "pb", 0, 0},
	{"newfstatat", 262, "dpbf", 0, 0},
	{"statx", 332, "dpfMb", 0, 0},
	{"access", 21, "pr", 0, 0},
	{"faccessat", 269, "dpr", 0, 0},
	{"faccessat2", 439, "dprf", 0, 0},
	{"readlink", 89, "pbB", 0, 0},
	{"readlinkat", 267, "dpbB", 0, 0},
	{"statfs", 137, "pb", 0, 0},
	{"getxattr", 191, "pxbB", 0, 0},
	{"lgetxattr", 192, "pxbB", 0, 0},
	{"getxattrat", 464, "dpfxyJ", 6, 13},
	{"listxattr", 194, "pbB", 0, 0},
	{"llistxattr", 195, "pbB", 0, 0},
	{"listxattrat", 465, "dpfbB", 6, 13},
	{"inotify_add_watch", 254, "ipw", 0, 0},
	{"file_getattr", 468, "dpbAf", 6, 17},
	{"chdir", 80, "p", 0, 0},
	{"chroot", 161, "p", 0, 0},
	{"pivot_root", 155, "pP", 0, 0},
	{"execve", 59, "pge", 0, 0},
	{"execveat", 322, "dpgef", 0, 0},
};

static const struct flag_word {
	const char *name;
	long value;
} flag_words[] = {
	{"RDONLY", O_RDONLY},       {"WRONLY", O_WRONLY},         {"RDWR", O_RDWR},
	{"CREAT", O_CREAT},         {"EXCL", O_EXCL},             {"TRUNC", O_TRUNC},
	{"APPEND", O_APPEND},       {"NOFOLLOW", O_NOFOLLOW},     {"DIRECTORY", O_DIRECTORY},
	{"PATH", O_PATH},           {"TMPFILE", O_TMPFILE},       {"NONBLOCK", O_NONBLOCK},
	{"CLOEXEC", O_CLOEXEC},     {"ACCMODE3", 3},
	{"REMOVEDIR", AT_REMOVEDIR}, {"EMPTY_PATH", AT_EMPTY_PATH}, {"SYMLINK_NOFOLLOW", AT_SYMLINK_NOFOLLOW},
	{"SYMLINK_FOLLOW", AT_SYMLINK_FOLLOW},
	{"NOREPLACE", 1 << 0},      {"EXCHANGE", 1 << 1},
};

struct request {
	const struct call_row *row;
	const char *path, *path2;
	long dirfd, dirfd2;
	long flags, mode;
	int mode_given, show_status;
};

/* The kernel's shapes that installed headers may not know yet. */
struct how {
	uint64_t flags, mode, resolve;
};
struct attribute_value {
	uint64_t value;
	uint32_t size, flags;
};

static char answer[65536] __attribute__((aligned(16)));
static struct how how;
static struct attribute_value attribute_set, attribute_get;
static int inode_flags;

static const struct call_row *row_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(call_rows[0]); i++)
		if (strcmp(call_rows[i].name, name) == 0)
			return &call_rows[i];
	return NULL;
}

static long flags_parse(const char *words)
{
	char copy[256];
	long flags = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok(copy, ","); word; word = strtok(NULL, ",")) {
		size_t i = 0, count = sizeof(flag_words) / sizeof(flag_words[0]);
		while (i < count && strcmp(flag_words[i].name, word) != 0)
			i++;
		if (i == count)
			exit(outcome_usage(usage_text));
		flags |= flag_words[i].value;
	}
	return flags;
}

static const char *path_at_edge(const char *path)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length = strlen(path) + 1;
	size_t pages = (length + page - 1) / page;
	char *area = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	outcome_require(area != MAP_FAILED && munmap(area + pages * page, page) == 0, "map an edge");
	return memcpy(area + pages * page - length, path, length);
}

static const char *path_filled(const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t wanted = (size_t)atoi(colon + 1), length = (size_t)(colon - text);
	char *path = malloc(wanted + 1);

	outcome_require(path && length < wanted, "fill a path");
	memcpy(path, text, length);
	for (size_t i = length; i < wanted; i++)
		path[i] = (i - length) % 200 == 0 ? '/' : 'x';
	path[wanted] = '\0';
	return path;
}

static const char *path_escaped(const char *text)
{
	char *path = malloc(strlen(text) + 1), *out = path;

	outcome_require(path != NULL, "escape a path");
	while (*text) {
		unsigned byte;
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*out++ = (char)byte;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
	return path;
}

static const char *path_with_pid(const char *text)
{
	const char *mark = strstr(text, "%d");
	char *path = malloc(strlen(text) + 32);

	outcome_require(path && mark, "insert a process id");
	sprintf(path, "%.*s%d%s", (int)(mark - text), text, getpid(), mark + 2);
	return path;
}

static const char *path_parse(const char *text)
{
	if (!text || text[0] != '@')
		return text;
	if (strcmp(text, "@null") == 0)
		return NULL;
	if (strcmp(text, "@bad") == 0)
		return (const char *)8;
	if (strncmp(text, "@edge:", 6) == 0)
		return path_at_edge(text + 6);
	if (strncmp(text, "@fill:", 6) == 0)
		return path_filled(text + 6);
	if (strncmp(text, "@escape:", 8) == 0)
		return path_escaped(text + 8);
	if (strncmp(text, "@pid:", 5) == 0)
		return path_with_pid(text + 5);
	return text;
}

static int wants(const struct request *request, char letter)
{
	return strchr(request->row->arguments, letter) != NULL;
}

/* What needs a call of its own before the call that is tested. */
static void prepare_objects(const struct request *request, long values[128])
{
	if (wants(request, 'F')) {
		values['F'] = open(request->path, O_RDONLY | O_CLOEXEC);
		outcome_require(values['F'] >= 0, "open for reading");
	}
	if (wants(request, 'q'))
		outcome_require(ioctl((int)values['F'], FS_IOC_GETFLAGS, &inode_flags) == 0, "read the inode's flags");
	if (wants(request, 'i')) {
		values['i'] = inotify_init1(IN_CLOEXEC);
		outcome_require(values['i'] >= 0, "inotify_init1");
	}
	if (wants(request, 'a'))
		outcome_require(syscall(468, request->dirfd, request->path, answer, 24, 0) == 0 || errno == ENOSYS,
				"file_getattr");
}

static void prepare_values(const struct request *request, long values[128])
{
	static char *argument_list[3] = {(char *)"program", (char *)"child", NULL};

	how = (struct how){(uint64_t)request->flags, request->flags & O_CREAT ? (uint64_t)request->mode : 0, 0};
	attribute_set = (struct attribute_value){(uint64_t)(uintptr_t)"value", 5, 0};
	attribute_get = (struct attribute_value){(uint64_t)(uintptr_t)answer, 4096, 0};
	values['0'] = 0;
	values['d'] = request->dirfd;
	values['D'] = request->dirfd2;
	values['p'] = (long)request->path;
	values['P'] = (long)request->path2;
	values['f'] = request->flags;
	values['m'] = request->mode;
	values['n'] = request->mode_given ? request->mode : S_IFIFO | 0600;
	values['r'] = request->mode_given ? request->mode : R_OK;
	values['h'] = (long)&how;
	values['H'] = sizeof(how);
	values['u'] = (long)getuid();
	values['g'] = wants(request, 'e') ? (long)argument_list : (long)getgid();
	values['e'] = (long)environ;
	values['T'] = 3;
	values['x'] = (long)"user.bailiff";
	values['v'] = (long)"value";
	values['V'] = 5;
	values['j'] = (long)&attribute_set;
	values['y'] = (long)&attribute_get;
	values['J'] = sizeof(attribute_set);
	values['k'] = (long)FS_IOC_SETFLAGS;
	values['L'] = (long)FS_IOC_GETFLAGS;
	values['S'] = 0x5000940e; /* BTRFS_IOC_SUBVOL_CREATE */
	values['q'] = (long)&inode_flags;
	values['a'] = values['b'] = (long)answer;
	values['A'] = 24;
	values['B'] = 4096;
	values['M'] = STATX_BASIC_STATS;
	values['w'] = IN_MODIFY;
}

static long request_perform(const struct request *request)
{
	long values[128] = {0}, arguments[6] = {0};

	prepare_values(request, values);
	prepare_objects(request, values);
	for (size_t i = 0; request->row->arguments[i]; i++)
		arguments[i] = values[(unsigned char)request->row->arguments[i]];
	return syscall(request->row->number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		       arguments[5]);
}

static int row_is_open(const struct call_row *row)
{
	return row->number == 2 || row->number == 85 || row->number == 257 || row->number == 437;
}

/* Which object an open got shows only in what can be read from it. */
static void print_first_line(int fd)
{
	char line[80];
	ssize_t length = read(fd, line, sizeof(line) - 1);

	if (length <= 0)
		return;
	line[length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	printf("content: %s\n", line);
}

static void print_status(const char *path)
{
	struct stat status;

	if (lstat(path, &status) == 0)
		printf("mode %o size %lld\n", status.st_mode, (long long)status.st_size);
	else
		printf("status: %s\n", outcome_errno(errno));
}

static int request_report(const struct request *request, long result)
{
	const struct call_row *row = request->row;
	int code;

	if (result < 0 && errno == ENOSYS && row->since_major &&
	    !outcome_kernel_at_least(row->since_major, row->since_minor)) {
		printf("%s: ok\n", row->name);
		return OUTCOME_OK;
	}
	code = outcome_report(row->name, result);
	if (result >= 0 && row_is_open(row))
		print_first_line((int)result);
	if (result >= 0 && (row->number == 89 || row->number == 267))
		printf("link: %.*s\n", (int)result, answer);
	if (request->show_status)
		print_status(request->path);
	return code;
}

static int directory_open(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	outcome_require(fd >= 0, "open the folder");
	return fd;
}

static void options_parse(int argc, char **argv, struct request *request)
{
	int option;

	while ((option = getopt(argc, argv, "+d:D:c:f:m:s")) != -1) {
		if (option == 'd')
			request->dirfd = directory_open(path_parse(optarg));
		else if (option == 'D')
			request->dirfd2 = directory_open(path_parse(optarg));
		else if (option == 'c')
			outcome_require(chdir(optarg) == 0, "chdir");
		else if (option == 'f')
			request->flags = flags_parse(optarg);
		else if (option == 's')
			request->show_status = 1;
		else if (option == 'm') {
			request->mode = strtol(optarg, NULL, 8);
			request->mode_given = 1;
		} else
			exit(outcome_usage(usage_text));
	}
}

int main(int argc, char **argv)
{
	struct request request = {.dirfd = AT_FDCWD, .dirfd2 = AT_FDCWD, .mode = 0755};

	options_parse(argc, argv, &request);
	if (argc - optind < 2)
		return outcome_usage(usage_text);
	request.row = row_by_name(argv[optind]);
	if (!request.row)
		return outcome_usage(usage_text);
	request.path = path_parse(argv[optind + 1]);
	request.path2 = path_parse(argv[optind + 2]);
	return request_report(&request, request_perform(&request));
}
