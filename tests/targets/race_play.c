/* Tries to change what a call names between the moment in which it is judged and the moment in which it takes effect.
 *
 *     race_play string CALL INSIDE OUTSIDE TRIES        a thread writes either name into the buffer that CALL is given
 *     race_play link   CALL INSIDE OUTSIDE TRIES LINK   a thread makes LINK lead to either folder; CALL gets LINK/object
 *     race_play exec   GOOD BAD TRIES DIR               a child renames GOOD or BAD over DIR/program, which is executed
 *
 * CALL: mkdir, chmod, unlink, truncate. INSIDE and OUTSIDE of `string` have one length and differ in one byte, so that
 * a half-written name is one or the other. Whether a try took effect outside is for the caller to see afterwards. */
#include "outcome.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage_text[] = 
	"race_play string|link CALL INSIDE OUTSIDE TRIES [LINK], race_play exec GOOD BAD TRIES DIR";

enum { PATH_BYTES = 512, FLIPS_LEAST = 200, TRIES_MORE = 100 };

static const char *inside, *outside, *link_path;
static char shared[PATH_BYTES];
static volatile int stopping;
static volatile long flips;

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

static long call_perform(const char *call, const char *path)
{
	if (strcmp(call, "mkdir") == 0)
		return syscall(SYS_mkdir, path, 0700);
	if (strcmp(call, "chmod") == 0)
		return syscall(SYS_chmod, path, 0711);
	if (strcmp(call, "unlink") == 0)
		return syscall(SYS_unlink, path);
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
	printf("race: %s answered ok: %d\n", call, answered > 0);
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

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "exec") == 0)
		return race_exec(argv[2], argv[3], atol(argv[4]), argv[5]);
	if (argc != 6 && argc != 7)
		return outcome_usage(usage_text);
	inside = argv[3];
	outside = argv[4];
	link_path = argv[6];
	return race_path(argv[2], atol(argv[5]));
}
