/* Calls that wait: on a lease, a FIFO, a full queue. A supervisor that made them itself, or waited for them, would stand still,
 * and everybody with it: under bailiff another process looks how long a simple open takes meanwhile. Alone it is the caller
 * who stands still, as a supervisor would that called so. */
#include "network.h"

enum { LOOK_MS = 60, TOO_LONG_MS = 800 };

static long now_ms(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static long longest_open_ms(void)
{
	long longest = 0, end = now_ms() + LOOK_MS;
	while (now_ms() < end) {
		long start = now_ms();
		attack_is_barred(open("a/file", O_RDONLY));
		long took = now_ms() - start;
		longest = took > longest ? took : longest;
		attack_sleep_ms(2);
	}
	return longest;
}

static bool stalls(void (*waits)(void))
{
	int status;
	pid_t child = fork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		waits();
		_exit(0);
	}
	long longest = attack.alone ? 0 : longest_open_ms();
	if (attack.alone)
		attack_sleep_ms(LOOK_MS);
	bool busy = waitpid(child, &status, WNOHANG) == 0;
	kill(-child, SIGKILL);
	if (busy)
		waitpid(child, NULL, 0);
	return attack.alone ? busy : longest > TOO_LONG_MS;
}

/* ---- leases ------------------------------------------------------------------------------------------------------- */

/* Takes a lease that nobody gives up, and lets a child of its own make the call. */
static void under_lease(const char *file, int flags, void (*call)(const char *file))
{
	int fd = open(file, flags | O_CREAT, 0700);
	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		close(fd);
		call(file);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void call_truncate(const char *file)
{
	if (truncate(file, 0) != 0)
		_exit(1);
}

static void call_open(const char *file)
{
	close(open(file, O_WRONLY));
}

static void call_open_again(const char *file)
{
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", open(file, O_PATH));
	close(open(name, O_WRONLY));
}

static void call_execute(const char *file)
{
	execl(file, file, (char *)NULL);
}

static void truncates_leased(void)
{
	under_lease("work/leased", O_RDWR, call_truncate);
}

static void opens_leased(void)
{
	under_lease("work/leased", O_RDWR, call_open);
}

static void opens_leased_again(void)
{
	under_lease("work/leased", O_RDWR, call_open_again);
}

static void executes_leased(void)
{
	under_lease("work/good", O_RDONLY, call_execute);
}

/* ---- FIFOs and queues --------------------------------------------------------------------------------------------- */

static const char *fifo(void)
{
	unlink("work/fifo");
	attack_require(mkfifo("work/fifo", 0700) == 0, "make a FIFO");
	return "work/fifo";
}

static void opens_fifo(void)
{
	close(open(fifo(), O_RDONLY));
}

static void opens_fifo_again(void)
{
	call_open_again(fifo());
}

static void executes_fifo(void)
{
	call_execute(fifo());
}

static void truncates_fifo(void)
{
	call_truncate(fifo());
}

static void connects_to_full(void)
{
	char path[ATTACK_PATH];
	unlink("work/full");
	struct sockaddr_un address = network_path(attack_at(path, "work/full"));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	attack_require(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 0) == 0, "listen");
	for (int i = 0; i < 2; i++)
		if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address)) != 0)
			return;
}

static void sends_to_full(void)
{
	static char bytes[60000];
	char path[ATTACK_PATH];
	unlink("work/full");
	struct sockaddr_un address = network_path(attack_at(path, "work/full"));
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), sender = socket(AF_UNIX, SOCK_DGRAM, 0);
	attack_require(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	while (sendto(sender, bytes, sizeof(bytes), 0, (struct sockaddr *)&address, sizeof(address)) > 0)
		;
}

#define WAY(name) static bool while_##name(void) { return stalls(name); }
WAY(truncates_leased)
WAY(opens_leased)
WAY(opens_leased_again)
WAY(executes_leased)
WAY(opens_fifo)
WAY(opens_fifo_again)
WAY(executes_fifo)
WAY(truncates_fifo)
WAY(connects_to_full)
WAY(sends_to_full)

static const struct attack_way ways[] = {
	{ "truncating a leased file", while_truncates_leased, false },
	{ "opening a leased file", while_opens_leased, false },
	{ "opening a leased file again", while_opens_leased_again, false },
	{ "executing a leased file", while_executes_leased, false },
	{ "opening a FIFO", while_opens_fifo, false },
	{ "opening a FIFO again", while_opens_fifo_again, false },
	{ "executing a FIFO", while_executes_fifo, true },
	{ "truncating a FIFO", while_truncates_fifo, true },
	{ "connecting to a full backlog", while_connects_to_full, false },
	{ "sending into a full queue", while_sends_to_full, false },
};

int main(int argc, char **argv)
{
	attack_begin("hang", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
