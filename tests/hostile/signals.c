/* Signals to the supervisor, by every call that sends one. */
#include "attack.h"

static bool hit(long result, pid_t victim)
{
	return result == 0 && attack_victim_is_hit(victim);
}

static bool by_kill(void)
{
	pid_t victim = attack_victim();
	return hit(kill(victim, SIGKILL), victim);
}

static bool by_stop(void)
{
	pid_t victim = attack_victim();
	return hit(kill(victim, SIGSTOP), victim);
}

static bool by_kill_with_stray_bits(void)
{
	pid_t victim = attack_victim();
	const unsigned long high = 1UL << 40;
	return hit(syscall(SYS_kill, high | (unsigned)victim, high | SIGKILL), victim);
}

static bool by_tkill(void)
{
	pid_t victim = attack_victim();
	return hit(syscall(SYS_tkill, victim, SIGKILL), victim);
}

static bool by_tgkill(void)
{
	pid_t victim = attack_victim();
	return hit(syscall(SYS_tgkill, victim, victim, SIGKILL), victim);
}

static bool by_queue(void)
{
	pid_t victim = attack_victim();
	siginfo_t info = { .si_signo = SIGKILL, .si_code = SI_QUEUE };
	return hit(syscall(SYS_rt_sigqueueinfo, victim, SIGKILL, &info), victim);
}

static bool by_thread_queue(void)
{
	pid_t victim = attack_victim();
	siginfo_t info = { .si_signo = SIGKILL, .si_code = SI_QUEUE };
	return hit(syscall(SYS_rt_tgsigqueueinfo, victim, victim, SIGKILL, &info), victim);
}

static bool by_group(void)
{
	pid_t victim = attack_victim();
	if (attack.alone)
		setpgid(victim, victim);
	pid_t group = getpgid(victim);
	return group > 0 && hit(kill(-group, SIGKILL), victim);
}

static bool by_pidfd(void)
{
	pid_t victim = attack_victim();
	int fd = (int)syscall(SYS_pidfd_open, victim, 0);
	return fd >= 0 && hit(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0), victim);
}

/* The parent of the supervisor: what the caller waits for. */
static bool to_its_parent(void)
{
	char name[64], text[512] = "";
	int parent = 0;
	if (attack.alone)
		return by_kill();
	snprintf(name, sizeof(name), "/proc/%d/stat", attack.supervisor);
	int fd = open(name, O_RDONLY);
	attack_require(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "read about the supervisor");
	close(fd);
	attack_require(sscanf(strrchr(text, ')'), ") %*c %d", &parent) == 1 && parent > 1, "find the supervisor's parent");
	return kill(parent, SIGKILL) == 0;
}

/* ---- a child of ours and the supervisor take turns behind one number ---------------------------------------------- */

static int descriptors[2], flipped;

static void flip(unsigned count)
{
	dup2(descriptors[count % 2], flipped);
}

/* The child ignores what the supervisor would die of. A try that hits the supervisor is the end of the run: then the last line
 * is missing, which run.py takes for a win. */
static bool by_flipped_pidfd(void)
{
	enum { TURNS = 3000 };
	struct attack_helper helper;
	pid_t victim = attack_victim(), child = fork();
	attack_require(child >= 0, "fork");
	if (child == 0) {
		signal(SIGSEGV, SIG_IGN);
		for (;;)
			pause();
	}
	descriptors[0] = (int)syscall(SYS_pidfd_open, child, 0);
	descriptors[1] = (int)syscall(SYS_pidfd_open, victim, 0);
	attack_require(descriptors[0] >= 0 && descriptors[1] >= 0, "open two pidfds");
	flipped = dup(descriptors[0]);
	attack_start_thread(&helper, flip);
	bool won = false;
	for (int i = 0; !won && attack_keeps_trying(i, TURNS); i++) {
		syscall(SYS_pidfd_send_signal, flipped, SIGSEGV, NULL, 0);
		won = attack.alone && waitpid(victim, NULL, WNOHANG) == victim;
	}
	attack_stop_thread(&helper);
	kill(child, SIGKILL);
	return won;
}

static const struct attack_way ways[] = {
	{ "kill", by_kill, false },
	{ "kill with SIGSTOP", by_stop, false },
	{ "kill with stray bits", by_kill_with_stray_bits, false },
	{ "tkill", by_tkill, false },
	{ "tgkill", by_tgkill, false },
	{ "rt_sigqueueinfo", by_queue, false },
	{ "rt_tgsigqueueinfo", by_thread_queue, false },
	{ "kill of a group", by_group, false },
	{ "pidfd_send_signal", by_pidfd, false },
	{ "kill of the supervisor's parent", to_its_parent, false },
	{ "pidfd_send_signal, flipped", by_flipped_pidfd, false },
};

int main(int argc, char **argv)
{
	attack_begin("signals", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
