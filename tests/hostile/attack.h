/* What all attacks share: their arguments, and how they say whether they won.
 *
 *     ATTACK TRIES ENOUGH ARENA under|alone [MORE]...
 *
 * TRIES    how often to try; with ENOUGH above 0 that many wins end it early
 * ARENA    a folder, made by run.py: what lies in a/ is allowed, what lies in b/ is barred, and work/ may be written; each
 *          file there begins with the word "allowed" or "barred"
 * under    bailiff supervises; alone: nobody does, and an attack on the supervisor has a stand-in for its aim
 *
 * The last line is "NAME: wins W of N". Alone, a line "NAME: control of WAY never wins" tells of a way that would prove
 * nothing; under bailiff "NAME: WAY wins" and "NAME: WAY hangs" say more than the number. */
#ifndef HOSTILE_ATTACK_H
#define HOSTILE_ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ATTACK_PATH = 1024, ATTACK_EXIT_USAGE = 64, ATTACK_EXIT_SETUP = 65, ATTACK_EXIT_WON = 77, ATTACK_TRY_SECONDS = 8 };

struct attack {
	const char *name, *arena;
	long tries, enough, tried, wins;
	bool alone;
	pid_t supervisor;
	char **more;
};

static struct attack attack;

static inline void attack_require(bool condition, const char *what)
{
	if (condition)
		return;
	printf("%s: cannot set up: %s: %s\n", attack.name, what, strerror(errno));
	fflush(stdout);
	_exit(ATTACK_EXIT_SETUP);
}

static inline void attack_begin(const char *name, int argc, char **argv)
{
	attack.name = name;
	if (argc < 5) {
		fprintf(stderr, "usage: %s TRIES ENOUGH ARENA under|alone [MORE]...\n", name);
		exit(ATTACK_EXIT_USAGE);
	}
	attack.tries = atol(argv[1]);
	attack.enough = atol(argv[2]);
	attack.arena = argv[3];
	attack.alone = strcmp(argv[4], "alone") == 0;
	attack.more = argv + 5;
	attack.supervisor = getppid();
	attack_require(chdir(attack.arena) == 0, "enter the arena");
}

/* Is there another try? Counts it. */
static inline bool attack_goes_on(void)
{
	if (attack.tried >= attack.tries || (attack.enough && attack.wins >= attack.enough))
		return false;
	attack.tried++;
	return true;
}

static inline void attack_count(bool won)
{
	attack.wins += won;
}

static inline int attack_end(void)
{
	printf("%s: wins %ld of %ld\n", attack.name, attack.wins, attack.tried);
	fflush(stdout);
	return 0;
}

/* ARENA/NAME. */
static inline char *attack_at(char path[static ATTACK_PATH], const char *name)
{
	attack_require(snprintf(path, ATTACK_PATH, "%s/%s", attack.arena, name) < ATTACK_PATH, "make a path");
	return path;
}

/* Does the file behind the descriptor (which is closed) begin with the word for what is barred? */
static inline bool attack_is_barred(int fd)
{
	char word[6] = "";
	if (fd < 0)
		return false;
	ssize_t length = read(fd, word, sizeof(word));
	close(fd);
	return length == sizeof(word) && memcmp(word, "barred", sizeof(word)) == 0;
}

static inline bool attack_reads_barred(const char *path)
{
	return attack_is_barred(open(path, O_RDONLY | O_NONBLOCK));
}

/* ---- somebody who changes things meanwhile ------------------------------------------------------------------------ */

struct attack_helper {
	void (*turn)(unsigned count);
	volatile int stop, turning;
	pthread_t thread;
	pid_t process;
};

static inline void *attack_turn_for_ever(void *data)
{
	struct attack_helper *helper = data;
	for (unsigned count = 0; !helper->stop; count++) {
		helper->turn(count);
		helper->turning = 1;
	}
	return NULL;
}

static inline void attack_sleep_ms(long ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	nanosleep(&time, NULL);
}

/* Returns when it has begun. */
static inline void attack_start_thread(struct attack_helper *helper, void (*turn)(unsigned count))
{
	*helper = (struct attack_helper){ .turn = turn };
	attack_require(pthread_create(&helper->thread, NULL, attack_turn_for_ever, helper) == 0, "start a thread");
	while (!helper->turning)
		attack_sleep_ms(1);
}

static inline void attack_stop_thread(struct attack_helper *helper)
{
	helper->stop = 1;
	pthread_join(helper->thread, NULL);
}

static inline void attack_start_process(struct attack_helper *helper, void (*turn)(unsigned count))
{
	*helper = (struct attack_helper){ .turn = turn };
	fflush(stdout);
	helper->process = fork();
	attack_require(helper->process >= 0, "start a process");
	if (helper->process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		attack_turn_for_ever(helper);
	}
}

static inline void attack_stop_process(struct attack_helper *helper)
{
	kill(helper->process, SIGKILL);
	waitpid(helper->process, NULL, 0);
}

/* Puts a link to `target` in place of `link`, in one step. */
static inline void attack_put_link(const char *target, const char *link)
{
	char next[ATTACK_PATH + 8];
	snprintf(next, sizeof(next), "%s.next", link);
	unlink(next);
	if (symlink(target, next) == 0)
		rename(next, link);
}

/* For a race within one try: `turns` of them; without a supervisor, where nothing takes time, for two seconds at least, and
 * under one for four at most, since it may be busy. */
static inline bool attack_keeps_trying(int turn, int turns)
{
	enum { LEAST_SECONDS = 2, MOST_SECONDS = 4 };
	static time_t begin;
	if (turn == 0)
		begin = time(NULL);
	time_t passed = time(NULL) - begin;
	return attack.alone ? turn < turns || passed < LEAST_SECONDS : turn < turns && passed < MOST_SECONDS;
}

/* ---- attacks that have many ways ---------------------------------------------------------------------------------- */

struct attack_way {
	const char *name;
	bool (*wins)(void);
	bool closed; /* by the kernel itself, everywhere: no control can win it */
};

/* One try in a process of its own, so that it may break whatever it likes. */
static inline bool attack_try(const struct attack_way *way)
{
	int status = 0;
	fflush(stdout);
	pid_t child = fork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		alarm(ATTACK_TRY_SECONDS);
		_exit(way->wins() ? ATTACK_EXIT_WON : 0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && !attack.alone)
		printf("%s: %s hangs\n", attack.name, way->name);
	if (WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_SETUP)
		exit(ATTACK_EXIT_SETUP);
	return WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_EXIT_WON;
}

/* All ways, each once per 300 tries. The exit status of main. */
static inline int attack_ways(const struct attack_way *ways, size_t count)
{
	enum { TRIES_PER_ROUND = 300, MOST_ROUNDS = 20 };
	long rounds = attack.tries / TRIES_PER_ROUND;
	rounds = attack.enough || rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
	for (size_t i = 0; i < count; i++) {
		long before = attack.wins;
		for (long round = 0; round < rounds; round++) {
			attack.tried++;
			attack.wins += attack_try(&ways[i]);
		}
		if (attack.alone && attack.wins == before && !ways[i].closed)
			printf("%s: control of %s never wins\n", attack.name, ways[i].name);
		if (!attack.alone && attack.wins > before)
			printf("%s: %s wins\n", attack.name, ways[i].name);
	}
	return attack_end();
}

/* ---- attacks on the supervisor ------------------------------------------------------------------------------------ */

/* Whom to harm: the supervisor, or alone a child of ours that stands for it. */
static inline pid_t attack_victim(void)
{
	if (!attack.alone)
		return attack.supervisor;
	int ready[2];
	char byte;
	attack_require(pipe(ready) == 0, "make a pipe");
	pid_t victim = fork();
	attack_require(victim >= 0, "fork");
	if (victim == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(0);
		close(ready[0]);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	attack_require(read(ready[0], &byte, 1) == 0, "wait for the stand-in");
	close(ready[0]);
	return victim;
}

/* Has a signal ended or stopped it? The supervisor could not say so any more: there the call that went through is enough. */
static inline bool attack_victim_is_hit(pid_t victim)
{
	enum { LOOKS = 500 };
	int status;
	if (!attack.alone)
		return true;
	for (int i = 0; i < LOOKS; i++) {
		if (waitpid(victim, &status, WNOHANG | WUNTRACED) == victim)
			return true;
		attack_sleep_ms(1);
	}
	return false;
}

#endif
