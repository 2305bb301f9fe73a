/* Kills its children at every moment: while they stop, are decided, sleep in a call that was rewritten, start a program, make
 * threads, or wait for each other. Nothing can be won but the supervisor's standstill or end: then the last line is missing. */
#include "network.h"

static volatile unsigned sink;

static void opens(void)
{
	for (;;)
		close(open("a/file", O_RDONLY));
}

static void opens_again(void)
{
	char name[32];
	int fd = open("a/file", O_RDONLY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	for (;;)
		close(open(name, O_RDONLY));
}

static void executes(void)
{
	for (;;) {
		pid_t child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

static void executes_itself(void)
{
	attack_sleep_ms(1);
	execl("/bin/sh", "sh", "-c", "exec /bin/sh -c 'exec /bin/true'", (char *)NULL);
}

static void *open_in_thread(void *unused)
{
	close(open("a/file", O_RDONLY));
	return unused;
}

static void makes_threads(void)
{
	for (;;) {
		pthread_t threads[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, open_in_thread, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
}

static void *open_for_ever(void *unused)
{
	opens();
	return unused;
}

/* An execve ends all other threads, wherever they are. */
static void executes_beside_threads(void)
{
	pthread_t thread;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, open_for_ever, NULL);
	attack_sleep_ms(1);
	execl("/bin/true", "true", (char *)NULL);
}

static void waits_for_fifo(void)
{
	char name[64];
	snprintf(name, sizeof(name), "work/fifo-%d", getpid());
	mkfifo(name, 0600);
	for (;;)
		close(open(name, O_RDONLY));
}

static void changes_names(void)
{
	char name[64];
	snprintf(name, sizeof(name), "work/folder-%d", getpid());
	for (;;) {
		mkdir(name, 0700);
		rmdir(name);
	}
}

static void connects(void)
{
	char path[ATTACK_PATH];
	struct sockaddr_un address = network_path(attack_at(path, "a/socket"));
	for (;;) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
			sink++;
		close(fd);
	}
}

static void stops_itself(void)
{
	for (;;) {
		pid_t child = fork();
		if (child == 0)
			opens();
		kill(child, SIGSTOP);
		kill(child, SIGCONT);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

static void (*const doings[])(void) = { opens, opens_again, executes, executes_itself, makes_threads, executes_beside_threads,
					waits_for_fifo, changes_names, connects, stops_itself };

int main(int argc, char **argv)
{
	enum { LONGEST_US = 4000, AT_ONCE = 4 };
	unsigned seed = 1;
	attack_begin("kill_race", argc, argv);
	while (attack_goes_on()) {
		pid_t children[AT_ONCE];
		for (int i = 0; i < AT_ONCE; i++) {
			children[i] = fork();
			attack_require(children[i] >= 0, "fork");
			if (children[i] == 0) {
				setpgid(0, 0);
				doings[(attack.tried + i) % (long)(sizeof(doings) / sizeof(*doings))]();
				_exit(0);
			}
		}
		for (int i = 0; i < AT_ONCE; i++) {
			usleep((useconds_t)(rand_r(&seed) % LONGEST_US / AT_ONCE));
			kill(children[i], SIGKILL);
		}
		/* The group first: once its leader is waited for, the number may be somebody else's. */
		for (int i = 0; i < AT_ONCE; i++) {
			kill(-children[i], SIGKILL);
			waitpid(children[i], NULL, 0);
		}
	}
	return attack_end();
}
