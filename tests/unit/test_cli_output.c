/* Where the verdict goes: whole or not at all, early or never. */
#include "tap.h"

#include "base/text.h"
#include "cli/verdict_output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char verdict[] = "{\"schema\":\"bailiff.verdict/1\"}\n";
static const char old_text[] = "old\n";

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		tap_ok(false, "cannot write %s", path);
}

/* Static storage; NULL where it cannot be read. */
static const char *content(const char *path)
{
	static char buffer[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t count = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer) - 1);
	if (fd >= 0)
		close(fd);
	buffer[count < 0 ? 0 : count] = '\0';
	return count < 0 ? NULL : buffer;
}

/* Entries of the current directory, without the two that are always there. */
static int entries(void)
{
	int count = 0;
	DIR *folder = opendir(".");
	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count - 2;
}

static void check_descriptor(int fd, const char *name)
{
	tap_ok(fd > 2 && (fcntl(fd, F_GETFD) & FD_CLOEXEC), "%s: the descriptor is above 2 and close-on-exec", name);
}

static void write_all_of_it(const char *destination, const char *name)
{
	struct verdict_output output;
	struct error error = { 0 };
	if (!tap_number(verdict_output_open(destination, &output, &error), 0, "%s: opens (%s)", name, error.message))
		return;
	check_descriptor(output.kind == VERDICT_OUTPUT_REPLACE ? output.file.fd : output.fd, name);
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), &error), 0, "%s: is written (%s)", name, error.message);
	tap_number(output.kind, VERDICT_OUTPUT_CLOSED, "%s: is closed", name);
	verdict_output_discard(&output);
}

static void refused(const char *destination, int number, const char *message)
{
	struct verdict_output output;
	struct error error = { 0 };
	int before = entries();
	tap_number(verdict_output_open(destination, &output, &error), -number, "%s is refused", destination);
	tap_string(error.message, message, "%s: in these words", destination);
	tap_number(entries(), before, "%s: nothing is left behind", destination);
}

static void test_new_file(void)
{
	struct verdict_output output;
	int before = entries();
	tap_number(verdict_output_open("new.json", &output, NULL), 0, "a new file opens");
	tap_ok(!content("new.json"), "and is not there before it is written");
	verdict_output_discard(&output);
	tap_number(entries(), before, "nor after it was given up");

	umask(027);
	write_all_of_it("new.json", "a new file");
	umask(022);
	struct stat status = { 0 };
	stat("new.json", &status);
	tap_string(content("new.json"), verdict, "a new file holds the verdict");
	tap_number(status.st_mode & 07777, 0640, "with the mode that the umask gives");
	tap_number(entries(), before + 1, "nothing else is left behind");
}

static void test_replaced_file(void)
{
	put("there.json", old_text);
	chmod("there.json", 0604);
	tap_ok(link("there.json", "other-name.json") == 0, "the old file has another name");
	struct verdict_output output;
	tap_number(verdict_output_open("there.json", &output, NULL), 0, "a file that is there opens");
	tap_string(content("there.json"), old_text, "its text stays until the verdict is there");
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), NULL), 0, "it is replaced");
	struct stat status = { 0 };
	stat("there.json", &status);
	tap_string(content("there.json"), verdict, "with the verdict");
	tap_number(status.st_mode & 07777, 0604, "the mode stays");
	tap_string(content("other-name.json"), old_text, "a reader of the old file still has all of it");
}

static void test_links(void)
{
	tap_ok(mkdir("folder", 0777) == 0 && symlink("folder/target.json", "link.json") == 0 &&
	       symlink("link.json", "link-to-link.json") == 0, "a link to a file that is not there, and a link to it");
	write_all_of_it("link-to-link.json", "a link");
	struct stat status = { 0 };
	lstat("link.json", &status);
	tap_ok(S_ISLNK(status.st_mode), "a link stays a link");
	tap_string(content("folder/target.json"), verdict, "what it points to holds the verdict");

	tap_ok(symlink("loop", "loop") == 0, "a link to itself");
	refused("loop", ELOOP, "loop: Too many levels of symbolic links");
}

/* During the run the target may exchange the name for a link to a file of the caller. */
static void test_link_that_appears(void)
{
	put("precious", old_text);
	struct verdict_output output;
	tap_number(verdict_output_open("swapped.json", &output, NULL), 0, "a name opens");
	tap_ok(symlink("precious", "swapped.json") == 0, "and becomes a link during the run");
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), NULL), 0, "the verdict is written");
	tap_string(content("precious"), old_text, "the link is not followed");
	tap_string(content("swapped.json"), verdict, "but replaced");
}

static void test_folder_that_moves(const char *here)
{
	tap_ok(mkdir("moving", 0777) == 0, "a folder");
	struct verdict_output output;
	tap_number(verdict_output_open("moving/v.json", &output, NULL), 0, "a file in it opens");
	tap_ok(rename("moving", "moved") == 0 && chdir("/") == 0, "it moves, and so does bailiff");
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), NULL), 0, "the verdict is written all the same");
	char *path = text_format("%s/moved/v.json", here);
	tap_string(content(path), verdict, "into the folder that was opened");
	free(path);
}

static void test_refusals(void)
{
	refused("nowhere/v.json", ENOENT, "nowhere/v.json: No such file or directory");
	refused("folder", EISDIR, "folder: Is a directory");
	refused("folder/", EISDIR, "folder/: Is a directory");
	refused("new/", EISDIR, "new/: Is a directory");
	refused("there.json/x", ENOTDIR, "there.json/x: Not a directory");
	refused("fd:987", EBADF, "fd:987: Bad file descriptor");
	refused("fd:x", EINVAL, "fd:x: not a descriptor; write fd:N");
	refused("fd:", EINVAL, "fd:: not a descriptor; write fd:N");
}

/* Root may write everywhere, so this is tried as somebody else. */
static void test_permissions(void)
{
	tap_ok(mkdir("closed", 0755) == 0, "a folder");
	put("closed/v.json", old_text);
	chmod("closed/v.json", 0666);
	put("read-only.json", old_text);
	chmod("read-only.json", 0444);
	chmod(".", 0777);
	chmod("closed", 0555);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct verdict_output output;
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(3);
		int in_closed = verdict_output_open("closed/new.json", &output, NULL);
		int over_read_only = verdict_output_open("read-only.json", &output, NULL);
		_exit(in_closed == -EACCES ? over_read_only == -EACCES ? 0 : 2 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	chmod("closed", 0755);
	tap_number(status, 0, "a folder or a file that may not be written is found early");
	tap_string(content("read-only.json"), old_text, "a read-only file stays");
}

static void test_descriptors(void)
{
	int ends[2];
	tap_ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	char *writing = text_format("fd:%d", ends[1]), *named = text_format("/dev/fd/%d", ends[1]), *reading = text_format("fd:%d", ends[0]);
	char *message = text_format("fd:%d is not open for writing", ends[0]), text[200] = "";
	write_all_of_it(writing, "fd:N");
	tap_ok(fcntl(ends[1], F_GETFD) >= 0, "the caller's own descriptor stays open");
	tap_number(read(ends[0], text, sizeof(text)), (long long)strlen(verdict), "fd:N got all of it");
	write_all_of_it(named, "/dev/fd/N");
	tap_number(read(ends[0], text, sizeof(text)), (long long)strlen(verdict), "/dev/fd/N is that descriptor");
	refused(reading, EBADF, message);
	free(message);
	free(reading);
	free(named);
	free(writing);
	close(ends[0]);
	close(ends[1]);
}

/* `-` is standard output, and so is /dev/stdout: the file behind it is written at its offset, not replaced. */
static void test_standard_output(const char *destination)
{
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	int file = open("stdout.txt", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
	dup2(file, STDOUT_FILENO);
	close(file);
	bool before = write(STDOUT_FILENO, "first\n", 6) == 6;
	struct verdict_output output;
	int opened = verdict_output_open(destination, &output, NULL);
	int written = opened == 0 ? verdict_output_write(&output, verdict, strlen(verdict), NULL) : -1;
	bool after = write(STDOUT_FILENO, "last\n", 5) == 5;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	tap_ok(before && after && opened == 0 && written == 0, "%s is written", destination);
	char *expected = text_format("first\n%slast\n", verdict);
	tap_string(content("stdout.txt"), expected, "%s: in its place among the rest", destination);
	free(expected);
}

static void test_reader_gone(void)
{
	int ends[2];
	struct verdict_output output;
	struct error error = { 0 };
	tap_ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	char *writing = text_format("fd:%d", ends[1]);
	tap_number(verdict_output_open(writing, &output, NULL), 0, "its writing end opens");
	close(ends[0]);
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), &error), -EPIPE, "a reader that went away is an error");
	tap_string(error.message, "cannot write the verdict: Broken pipe", "and not a signal");
	struct sigaction action;
	sigaction(SIGPIPE, NULL, &action);
	tap_ok(action.sa_handler == SIG_DFL, "SIGPIPE is as it was");
	free(writing);
	close(ends[1]);
}

/* Reads all of a descriptor or FIFO in a child, after `delay_ms`; the child exits 0 when it got `length` bytes. */
static pid_t start_reader(int fd, const char *path, size_t length, int delay_ms)
{
	fflush(stdout);
	pid_t child = fork();
	if (child != 0)
		return child;
	usleep((useconds_t)delay_ms * 1000);
	if (path)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[8192];
	size_t total = 0;
	ssize_t count;
	while ((count = read(fd, buffer, sizeof(buffer))) > 0)
		total += (size_t)count;
	_exit(total == length ? 0 : 1);
}

static void reader_got_all(pid_t reader, const char *name)
{
	int status = -1;
	waitpid(reader, &status, 0);
	tap_number(status, 0, "%s", name);
}

/* More than a pipe holds, into a descriptor that somebody made non-blocking. */
static void test_large_and_non_blocking(void)
{
	enum { LENGTH = 1000000 };
	int ends[2];
	struct verdict_output output;
	tap_ok(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a non-blocking pipe");
	fcntl(ends[0], F_SETFL, 0);
	char *writing = text_format("fd:%d", ends[1]), *text = memory_zeroed(LENGTH, 1);
	tap_number(verdict_output_open(writing, &output, NULL), 0, "opens");
	pid_t reader = fork();
	if (reader == 0) {
		close(ends[1]);
		close(output.fd);
		char buffer[8192];
		size_t total = 0;
		ssize_t count;
		while ((count = read(ends[0], buffer, sizeof(buffer))) > 0)
			total += (size_t)count;
		_exit(total == LENGTH ? 0 : 1);
	}
	close(ends[1]);
	close(ends[0]);
	tap_number(verdict_output_write(&output, text, LENGTH, NULL), 0, "a large verdict is written in pieces");
	reader_got_all(reader, "and all of it arrives");
	free(text);
	free(writing);
}

static void test_fifo(void)
{
	tap_ok(mkfifo("early", 0666) == 0 && mkfifo("late", 0666) == 0, "two FIFOs");
	pid_t reader = start_reader(-1, "early", strlen(verdict), 0);
	write_all_of_it("early", "a FIFO");
	reader_got_all(reader, "a reader that waits gets all of it");

	struct verdict_output output;
	alarm(20); /* an open that blocks ends the test */
	tap_number(verdict_output_open("late", &output, NULL), 0, "a FIFO that nobody reads yet opens at once");
	check_descriptor(output.fd, "a FIFO that nobody reads yet");
	reader = start_reader(-1, "late", strlen(verdict), 200);
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), NULL), 0, "it is written when a reader comes");
	reader_got_all(reader, "which gets all of it");
	alarm(0);
}

static void test_devices(void)
{
	struct verdict_output output;
	struct error error = { 0 };
	write_all_of_it("/dev/null", "a device");
	tap_number(verdict_output_open("/dev/full", &output, NULL), 0, "a device that is full opens");
	tap_number(verdict_output_write(&output, verdict, strlen(verdict), &error), -ENOSPC, "and does not take the verdict");
	tap_string(error.message, "cannot write the verdict: No space left on device", "which is told");
}

/* A disk that takes only a part: the limit of the file's size stands in for it. */
static void test_part_of_it(void)
{
	put("kept.json", old_text);
	int before = entries();
	struct rlimit unlimited, small;
	struct verdict_output output;
	getrlimit(RLIMIT_FSIZE, &unlimited);
	small = (struct rlimit){ .rlim_cur = 10, .rlim_max = unlimited.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	tap_number(verdict_output_open("kept.json", &output, NULL), 0, "a file opens");
	fflush(stdout);
	setrlimit(RLIMIT_FSIZE, &small);
	int result = verdict_output_write(&output, verdict, strlen(verdict), NULL);
	setrlimit(RLIMIT_FSIZE, &unlimited);
	tap_number(result, -EFBIG, "a verdict that does not fit is an error");
	tap_string(content("kept.json"), old_text, "the old file is untouched");
	tap_number(entries(), before, "and nothing is left of the new one");
}

/* From here on O_TMPFILE fails as it does where the file system has no unnamed files. */
static bool refuse_unnamed_files(void)
{
	const unsigned unnamed = O_TMPFILE & ~O_DIRECTORY;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, unnamed, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child: 0, or the number of the step that went wrong. */
static int without_unnamed_files(void)
{
	struct verdict_output output;
	struct rlimit unlimited, small;
	int before = entries();
	if (!refuse_unnamed_files())
		return 1;
	if (verdict_output_open("named.json", &output, NULL) != 0 || entries() != before + 1 || content("named.json"))
		return 2;
	verdict_output_discard(&output);
	if (entries() != before)
		return 3;
	getrlimit(RLIMIT_FSIZE, &unlimited);
	small = (struct rlimit){ .rlim_cur = 10, .rlim_max = unlimited.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	if (verdict_output_open("named.json", &output, NULL) != 0)
		return 4;
	setrlimit(RLIMIT_FSIZE, &small);
	int result = verdict_output_write(&output, verdict, strlen(verdict), NULL);
	setrlimit(RLIMIT_FSIZE, &unlimited);
	if (result != -EFBIG || entries() != before)
		return 5;
	if (verdict_output_open("named.json", &output, NULL) != 0 || verdict_output_write(&output, verdict, strlen(verdict), NULL) != 0)
		return 6;
	return entries() == before + 1 && strcmp(content("named.json"), verdict) == 0 ? 0 : 7;
}

static void test_without_unnamed_files(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(without_unnamed_files());
	int status = -1;
	waitpid(child, &status, 0);
	tap_number(status, 0, "without unnamed files a dot name is used, and never left behind");
}

static void test_zeroed(void)
{
	struct verdict_output output = { 0 };
	verdict_output_discard(&output);
	tap_ok(fcntl(STDIN_FILENO, F_GETFD) >= 0, "giving up what was never opened closes nothing");
	tap_number(verdict_output_write(&output, "x", 1, NULL), -EBADF, "and writing to it is an error");
}

int main(void)
{
	char folder[] = "/tmp/bailiff-output-XXXXXX";
	signal(SIGPIPE, SIG_DFL);
	if (!mkdtemp(folder) || chdir(folder) != 0)
		return 1;
	test_new_file();
	test_replaced_file();
	test_links();
	test_link_that_appears();
	test_refusals();
	test_permissions();
	test_descriptors();
	test_standard_output("-");
	test_standard_output("/dev/stdout");
	test_reader_gone();
	test_large_and_non_blocking();
	test_fifo();
	test_devices();
	test_part_of_it();
	test_without_unnamed_files();
	test_zeroed();
	test_folder_that_moves(folder);
	char *remove = text_format("rm -rf %s", folder);
	tap_ok(system(remove) == 0, "cleaned up");
	free(remove);
	return tap_done();
}
