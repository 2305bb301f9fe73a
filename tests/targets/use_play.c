/* Uses up time or output, or leaves something running.
 *
 *     use_play burn MS WHERE          burns MS of CPU time in: self, child, thread, orphan (waited for), unwaited, many
 *     use_play sleep MS               sleeps
 *     use_play flood BYTES STREAM     writes BYTES bytes to descriptor STREAM (0: for ever)
 *     use_play chunk BYTES STREAM     the same in one write
 *     use_play holder                 leaves a child behind that holds standard output
 *     use_play writer PATH            leaves a process in a session of its own behind that writes to PATH every 20 ms
 *     use_play ignore                 ignores every signal that can be ignored, says so, and waits
 *     use_play say_then_sleep TEXT MS prints TEXT without a newline, then sleeps
 *     use_play deep COUNT PATH        COUNT calls deep, opens PATH
 *     use_play nostack PATH           opens PATH while the stack pointer is 0
 *     use_play wildstack PATH         opens PATH while the stack pointer is no address
 *     use_play made PATH              opens PATH from code that was made in memory
 *     use_play unlinked SELF PATH     removes its own program SELF, then opens PATH
 *     use_play vfork                  its vfork child neither executes nor ends */
#include "outcome.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage_text[] = "use_play WAY ARGUMENT [ARGUMENT]";

static void burn(long duration_ms, clockid_t clock)
{
	struct timespec now, begin;

	clock_gettime(clock, &begin);
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(clock, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < duration_ms);
}

static void sleep_ms(long duration_ms)
{
	struct timespec left = {duration_ms / 1000, duration_ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static pid_t burn_in_child(long duration_ms)
{
	pid_t child = fork();

	outcome_require(child >= 0, "fork");
	if (child == 0) {
		burn(duration_ms, CLOCK_THREAD_CPUTIME_ID);
		_exit(0);
	}
	return child;
}

static void *burn_in_thread(void *duration_ms)
{
	burn((long)duration_ms, CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* The grandchild's parent ends at once; a pipe says when the grandchild has ended. */
static void burn_in_orphan(long duration_ms)
{
	int ends[2];
	char byte;

	outcome_require(pipe(ends) == 0, "pipe");
	if (fork() == 0) {
		burn_in_child(duration_ms);
		_exit(0);
	}
	close(ends[1]);
	wait(NULL);
	outcome_require(read(ends[0], &byte, 1) == 0, "wait for the orphan");
}

/* Short ones, one after the other: a clock that is only sampled would miss them. */
static void burn_in_many(long duration_ms)
{
	for (long spent = 0; spent < duration_ms; spent += 5)
		waitpid(burn_in_child(5), NULL, 0);
}

static int play_burn(char **words)
{
	long duration_ms = atol(words[0]);
	const char *where = words[1];
	pthread_t thread;

	if (strcmp(where, "child") == 0) {
		waitpid(burn_in_child(duration_ms), NULL, 0);
	} else if (strcmp(where, "thread") == 0) {
		outcome_require(pthread_create(&thread, NULL, burn_in_thread, (void *)duration_ms) == 0, "start a thread");
		pthread_join(thread, NULL);
	} else if (strcmp(where, "orphan") == 0) {
		burn_in_orphan(duration_ms);
	} else if (strcmp(where, "unwaited") == 0) {
		signal(SIGCHLD, SIG_IGN);
		burn_in_child(duration_ms);
		while (wait(NULL) > 0)
			;
	} else if (strcmp(where, "many") == 0) {
		burn_in_many(duration_ms);
	} else {
		burn(duration_ms, CLOCK_THREAD_CPUTIME_ID);
	}
	printf("burned\n");
	return OUTCOME_OK;
}

static int play_sleep(char **words)
{
	sleep_ms(atol(words[0]));
	printf("slept\n");
	return OUTCOME_OK;
}

static int play_flood(char **words)
{
	static char block[4000];
	long left = atol(words[0]), forever = left == 0;
	int fd = atoi(words[1]);

	memset(block, 'x', sizeof(block));
	block[sizeof(block) - 1] = '\n';
	while (forever || left > 0) {
		size_t wanted = forever || left > (long)sizeof(block) ? sizeof(block) : (size_t)left;
		ssize_t written = write(fd, block, wanted);
		if (written < 0)
			return OUTCOME_REFUSED;
		left -= forever ? 0 : (long)written;
	}
	return OUTCOME_OK;
}

static int play_chunk(char **words)
{
	size_t wanted = (size_t)atol(words[0]);
	char *block = malloc(wanted);
	ssize_t written;

	outcome_require(block != NULL, "memory");
	memset(block, 'y', wanted);
	written = write(atoi(words[1]), block, wanted);
	return written == (ssize_t)wanted ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_holder(char **words)
{
	(void)words;
	if (fork() == 0) {
		sleep_ms(30000);
		_exit(0);
	}
	printf("done\n");
	return OUTCOME_OK;
}

static int play_writer(char **words)
{
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		for (int i = 0; i < 1000; i++) {
			int fd = open(words[0], O_WRONLY | O_CREAT | O_APPEND, 0600);
			outcome_require(fd >= 0 && write(fd, "x", 1) == 1, words[0]);
			close(fd);
			sleep_ms(20);
		}
		_exit(0);
	}
	while (access(words[0], F_OK) < 0)
		sleep_ms(5);
	printf("writer runs\n");
	return OUTCOME_OK;
}

static int play_ignore(char **words)
{
	(void)words;
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	printf("ignoring\n");
	fflush(stdout);
	sleep_ms(30000);
	return OUTCOME_OK;
}

static int play_say_then_sleep(char **words)
{
	printf("%s", words[0]);
	fflush(stdout);
	sleep_ms(atol(words[1]));
	return OUTCOME_OK;
}

static int deeper(long count, const char *path)
{
	volatile char block[8];
	int result;

	block[0] = (char)count;
	if (count == 0)
		return outcome_report("open", open(path, O_RDONLY));
	result = deeper(count - 1, path);
	return block[0] == (char)count ? result : OUTCOME_SETUP;
}

static int play_deep(char **words)
{
	return deeper(atol(words[0]), words[1]);
}

static int open_with_stack(const char *path, unsigned long stack)
{
	long result;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %[stack], %%rsp\n\t"
			 "syscall\n\t"
			 "mov %%r12, %%rsp"
			 : "=a"(result)
			 : "a"((long)SYS_open), "D"(path), "S"((long)O_RDONLY), [stack] "r"(stack)
			 : "rcx", "r11", "r12", "memory");
	errno = result < 0 ? (int)-result : 0;
	return outcome_report("open", result);
}

static int play_nostack(char **words)
{
	return open_with_stack(words[0], 0);
}

static int play_wildstack(char **words)
{
	return open_with_stack(words[0], 0xdead0000dead0000);
}

static int play_made(char **words)
{
	/* mov $SYS_open, %eax; xor %esi, %esi; syscall; ret */
	static const unsigned char code[] = {0xb8, SYS_open, 0, 0, 0, 0x31, 0xf6, 0x0f, 0x05, 0xc3};
	void *page = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*opens)(const char *path);

	outcome_require(page != MAP_FAILED, "mmap");
	memcpy(page, code, sizeof(code));
	outcome_require(mprotect(page, sizeof(code), PROT_READ | PROT_EXEC) == 0, "mprotect");
	memcpy(&opens, &page, sizeof(opens));
	long result = opens(words[0]);
	errno = result < 0 ? (int)-result : 0;
	return outcome_report("open", result);
}

static int play_unlinked(char **words)
{
	outcome_require(unlink(words[0]) == 0, words[0]);
	return outcome_report("open", open(words[1], O_RDONLY));
}

static int play_vfork(char **words)
{
	(void)words;
	printf("waiting\n");
	fflush(stdout);
	if (vfork() == 0)
		for (;;)
			pause();
	return OUTCOME_OK;
}

static const struct play_row {
	const char *name;
	int words;
	int (*play)(char **words);
} play_rows[] = {
	{"burn", 2, play_burn},
	{"sleep", 1, play_sleep},
	{"flood", 2, play_flood},
	{"chunk", 2, play_chunk},
	{"holder", 0, play_holder},
	{"writer", 1, play_writer},
	{"ignore", 0, play_ignore},
	{"say_then_sleep", 2, play_say_then_sleep},
	{"deep", 2, play_deep},
	{"nostack", 1, play_nostack},
	{"wildstack", 1, play_wildstack},
	{"made", 1, play_made},
	{"unlinked", 2, play_unlinked},
	{"vfork", 0, play_vfork},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(play_rows) / sizeof(play_rows[0]); i++)
		if (strcmp(play_rows[i].name, argv[1]) == 0 && argc - 2 == play_rows[i].words)
			return play_rows[i].play(argv + 2);
	return outcome_usage(usage_text);
}
