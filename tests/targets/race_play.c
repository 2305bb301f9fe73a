/* Tries to change what a call names between the moment in which it is judged and the moment in which it takes effect.
 *
 *     race_play string CALL INSIDE OUTSIDE TRIES        a thread writes either name into the buffer that CALL is given
 *     race_play link   CALL INSIDE OUTSIDE TRIES LINK   a thread makes LINK lead to either folder; CALL gets LINK/object
 *     race_play exec   GOOD BAD TRIES DIR               a child renames GOOD or BAD over DIR/program, which is executed
 *     race_play owner  fcntl|ioctl TRIES                a thread writes this process' number or its parent's where the owner
 *                                                       of a descriptor is set from; says whether the parent became it
 *     race_play pidfd  VICTIM TRIES                    a thread puts the pidfd of a child or of VICTIM under the number by
 *                                                     which SIGTERM is sent
 *     race_play number INSIDE OUTSIDE NEW TRIES         a thread puts either file under one descriptor number, which is linked
 *
 * CALL: mkdir, chmod, unlink, truncate, open (which reads: "out" is what the file outside says). INSIDE and OUTSIDE of
 * `string` have one length and differ in one byte, so that a half-written name is one or the other. Whether another call
 * than open took effect outside is for the caller to see afterwards. */
#include "outcome.h"

#include <asm/sockios.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage_text[] = 
	"race_play string|link CALL INSIDE OUTSIDE TRIES [LINK], race_play exec GOOD BAD TRIES DIR, race_play owner CALL TRIES, "
	"race_play number INSIDE OUTSIDE NEW TRIES, race_play pidfd VICTIM TRIES";

enum { PATH_BYTES = 512, FLIPS_LEAST = 200, TRIES_MORE = 100 };

static const char *inside, *outside, *link_path;
static char shared[PATH_BYTES];
static volatile int stopping;
static volatile long flips;
static int read_outside;

static void *flip_string(void *unused)
{
	size_t at = 0;

	while (inside[at] == outside[at])
		at++;
	while (!stopping) {
		__atomic_store_n(&shared[at], outside[at], __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared[at], inside[at], __ATOMIC_SEQ_CST);
		flips++;
	}
	return unused;
}

static void *flip_link(void *unused)
{
	char next[PATH_BYTES];

	snprintf(next, sizeof(next), "%s.next", link_path);
	for (int turn = 0; !stopping; turn++) {
		unlink(next);
		if (symlink(turn % 2 ? outside : inside, next) == 0 && rename(next, link_path) == 0)
			flips++;
	}
	return unused;
}

static long call_open(const char *path)
{
	char text[4] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	outcome_require(read(fd, text, 3) == 3, "read");
	close(fd);
	read_outside |= strcmp(text, "out") == 0;
	return 0;
}

static long call_perform(const char *call, const char *path)
{
	if (strcmp(call, "mkdir") == 0)
		return syscall(SYS_mkdir, path, 0700);
	if (strcmp(call, "chmod") == 0)
		return syscall(SYS_chmod, path, 0711);
	if (strcmp(call, "unlink") == 0)
		return syscall(SYS_unlink, path);
	if (strcmp(call, "open") == 0)
		return call_open(path);
	return syscall(SYS_truncate, path, 1);
}

/* So that the next try finds what the call needs. */
static void object_restore(const char *call, const char *path)
{
	if (strcmp(call, "mkdir") == 0)
		rmdir(path);
	else if (strcmp(call, "unlink") == 0)
		close(open(path, O_WRONLY | O_CREAT, 0600));
}

static int race_path(const char *call, long tries)
{
	char object[PATH_BYTES];
	pthread_t thread;
	long answered = 0;

	snprintf(shared, sizeof(shared), link_path ? "%s/object" : "%s", link_path ? link_path : inside);
	snprintf(object, sizeof(object), link_path ? "%s/object" : "%s", inside);
	outcome_require(pthread_create(&thread, NULL, link_path ? flip_link : flip_string, NULL) == 0, "start a thread");
	/* On a busy machine the other thread may come late: a race in which only one runs shows nothing. */
	for (long i = 0; i < tries || (flips < FLIPS_LEAST && i < tries * TRIES_MORE); i++) {
		answered += call_perform(call, shared) == 0;
		object_restore(call, object);
	}
	stopping = 1;
	pthread_join(thread, NULL);
	printf("race: %s answered ok: %d", call, answered > 0);
	if (strcmp(call, "open") == 0)
		printf(", read outside: %d", read_outside);
	printf("\n");
	return answered > 0 ? OUTCOME_OK : OUTCOME_REFUSED;
}

static void swap_for_ever(const char *good, const char *bad, const char *folder)
{
	char program[PATH_BYTES], next[PATH_BYTES];

	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(next, sizeof(next), "%s/next", folder);
	for (int turn = 0;; turn++) {
		unlink(next);
		if (link(turn % 2 ? bad : good, next) == 0)
			rename(next, program);
	}
}

static int race_exec(const char *good, const char *bad, long tries, const char *folder)
{
	char program[PATH_BYTES];
	long ran[3] = {0};
	pid_t swapper = fork();

	snprintf(program, sizeof(program), "%s/program", folder);
	outcome_require(swapper >= 0, "fork");
	if (swapper == 0)
		swap_for_ever(good, bad, folder);
	for (long i = 0; i < tries; i++) {
		int status = 0;
		pid_t child = fork();
		if (child == 0) {
			execl(program, program, (char *)NULL);
			_exit(2);
		}
		waitpid(child, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) < 3)
			ran[WEXITSTATUS(status)]++;
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	printf("race: good ran: %d, bad ran: %d\n", ran[0] > 0, ran[1] > 0);
	return OUTCOME_OK;
}

static struct f_owner_ex shared_owner = { .type = F_OWNER_PID };

static void *flip_owner(void *unused)
{
	pid_t own = getpid(), outside_pid = getppid();

	while (!stopping) {
		__atomic_store_n(&shared_owner.pid, outside_pid, __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared_owner.pid, own, __ATOMIC_SEQ_CST);
		flips++;
	}
	return unused;
}

static int race_owner(int by_ioctl, long tries)
{
	struct f_owner_ex found;
	pthread_t thread;
	int pair[2], own = 0, foreign = 0;

	outcome_require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "make a socket pair");
	shared_owner.pid = getpid();
	outcome_require(pthread_create(&thread, NULL, flip_owner, NULL) == 0, "start a thread");
	for (long i = 0; i < tries || (flips < FLIPS_LEAST && i < tries * TRIES_MORE); i++) {
		if ((by_ioctl ? ioctl(pair[0], FIOSETOWN, &shared_owner.pid) : fcntl(pair[0], F_SETOWN_EX, &shared_owner)) != 0)
			continue;
		outcome_require(fcntl(pair[0], F_GETOWN_EX, &found) == 0, "ask for the owner");
		own |= found.pid == getpid();
		foreign |= found.pid == getppid();
	}
	stopping = 1;
	pthread_join(thread, NULL);
	printf("race: own: %d, outside: %d\n", own, foreign);
	return OUTCOME_OK;
}

static int held_inside, held_outside, number;

static void *flip_number(void *unused)
{
	while (!stopping) {
		dup2(held_outside, number);
		dup2(held_inside, number);
		flips++;
	}
	return unused;
}

static int race_number(const char *new_name, long tries)
{
	char path[PATH_BYTES];
	struct stat linked, foreign;
	pthread_t thread;
	int own = 0, outside_linked = 0;

	held_inside = open(inside, O_PATH);
	held_outside = open(outside, O_PATH);
	number = dup(held_inside);
	outcome_require(number >= 0 && fstat(held_outside, &foreign) == 0, "hold both files");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
	outcome_require(pthread_create(&thread, NULL, flip_number, NULL) == 0, "start a thread");
	for (long i = 0; i < tries || (flips < FLIPS_LEAST && i < tries * TRIES_MORE); i++) {
		unlink(new_name);
		if (linkat(AT_FDCWD, path, AT_FDCWD, new_name, AT_SYMLINK_FOLLOW) != 0 || stat(new_name, &linked) != 0)
			continue;
		own |= linked.st_ino != foreign.st_ino;
		outside_linked |= linked.st_ino == foreign.st_ino;
	}
	stopping = 1;
	pthread_join(thread, NULL);
	printf("race: inside linked: %d, outside linked: %d\n", own, outside_linked);
	return OUTCOME_OK;
}

static int pidfds[2], flipped_pidfd;

static void *flip_pidfd(void *unused)
{
	while (!stopping) {
		dup2(pidfds[flips % 2], flipped_pidfd);
		flips++;
	}
	return unused;
}

static int race_pidfd(pid_t victim, long tries)
{
	pthread_t thread;
	pid_t child = fork();

	outcome_require(child >= 0, "fork");
	if (child == 0) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	pidfds[0] = (int)syscall(SYS_pidfd_open, child, 0);
	pidfds[1] = (int)syscall(SYS_pidfd_open, victim, 0);
	flipped_pidfd = dup(pidfds[0]);
	outcome_require(pidfds[0] >= 0 && pidfds[1] >= 0 && flipped_pidfd >= 0, "open two pidfds");
	outcome_require(pthread_create(&thread, NULL, flip_pidfd, NULL) == 0, "start a thread");
	while (flips == 0)
		sched_yield();
	for (long i = 0; i < tries || (flips < FLIPS_LEAST && i < tries * TRIES_MORE); i++)
		syscall(SYS_pidfd_send_signal, flipped_pidfd, SIGTERM, NULL, 0);
	stopping = 1;
	pthread_join(thread, NULL);
	kill(child, SIGKILL);
	return OUTCOME_OK;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "pidfd") == 0)
		return race_pidfd((pid_t)atol(argv[2]), atol(argv[3]));
	if (argc == 4 && strcmp(argv[1], "owner") == 0)
		return race_owner(strcmp(argv[2], "ioctl") == 0, atol(argv[3]));
	if (argc == 6 && strcmp(argv[1], "exec") == 0)
		return race_exec(argv[2], argv[3], atol(argv[4]), argv[5]);
	if (argc == 6 && strcmp(argv[1], "number") == 0) {
		inside = argv[2];
		outside = argv[3];
		return race_number(argv[4], atol(argv[5]));
	}
	if (argc != 6 && argc != 7)
		return outcome_usage(usage_text);
	inside = argv[3];
	outside = argv[4];
	link_path = argv[6];
	return race_path(argv[2], atol(argv[5]));
}
