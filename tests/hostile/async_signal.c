/* Signals that asynchronous input and output, leases, folder notifications and timers send: to the supervisor. A win under
 * bailiff is a descriptor whose owner is the supervisor; alone, the stand-in must really be killed. */
#include "attack.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

static int ends[2];

static pid_t owner_of(int fd)
{
	struct f_owner_ex owner = { .pid = 0 };
	return fcntl(fd, F_GETOWN_EX, &owner) == 0 ? owner.pid : 0;
}

/* Makes the descriptor send SIGKILL when it can be read, and lets that happen. */
static bool hits(pid_t victim)
{
	if (!attack.alone)
		return owner_of(ends[0]) == victim;
	fcntl(ends[0], F_SETSIG, SIGKILL);
	fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	attack_require(write(ends[1], "x", 1) == 1, "write to a socket");
	return attack_victim_is_hit(victim);
}

static pid_t begin(void)
{
	attack_require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "make a pair of sockets");
	return attack_victim();
}

static bool set_owner(void)
{
	pid_t victim = begin();
	return fcntl(ends[0], F_SETOWN, victim) == 0 && hits(victim);
}

static bool set_owner_with_stray_bits(void)
{
	pid_t victim = begin();
	const unsigned long high = 1UL << 40;
	return syscall(SYS_fcntl, ends[0], high | F_SETOWN, high | (unsigned)victim) == 0 && hits(victim);
}

static bool set_owner_ex(void)
{
	pid_t victim = begin();
	struct f_owner_ex owner = { .type = F_OWNER_PID, .pid = victim };
	return fcntl(ends[0], F_SETOWN_EX, &owner) == 0 && hits(victim);
}

static bool set_owner_thread(void)
{
	pid_t victim = begin();
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = victim };
	return fcntl(ends[0], F_SETOWN_EX, &owner) == 0 && hits(victim);
}

/* A group: of the supervisor, or of the stand-in, which gets one of its own. */
static bool set_owner_group(void)
{
	pid_t victim = begin();
	if (attack.alone)
		setpgid(victim, victim);
	struct f_owner_ex owner = { .type = F_OWNER_PGRP, .pid = getpgid(victim) };
	bool set = fcntl(ends[0], F_SETOWN, -getpgid(victim)) == 0 || fcntl(ends[0], F_SETOWN_EX, &owner) == 0;
	return set && (!attack.alone || hits(victim));
}

static bool ioctl_owner(void)
{
	enum { SET_OWNER = 0x8901 };
	pid_t victim = begin();
	return ioctl(ends[0], SET_OWNER, &victim) == 0 && hits(victim);
}

static bool ioctl_group(void)
{
	enum { SET_GROUP = 0x8902 };
	pid_t victim = begin();
	return ioctl(ends[0], SET_GROUP, &victim) == 0 && hits(victim);
}

/* ---- the number lies in memory, where a thread changes it --------------------------------------------------------- */

static struct f_owner_ex flipped = { .type = F_OWNER_PID };
static pid_t aims[2];

static void flip(unsigned count)
{
	__atomic_store_n(&flipped.pid, aims[count % 2], __ATOMIC_SEQ_CST);
}

static bool flip_wins(bool by_ioctl)
{
	enum { TURNS = 2000, SET_OWNER = 0x8901 };
	struct attack_helper helper;
	bool won = false;
	aims[1] = begin();
	aims[0] = getpid();
	attack_start_thread(&helper, flip);
	for (int i = 0; !won && attack_keeps_trying(i, TURNS); i++) {
		int failed = by_ioctl ? ioctl(ends[0], SET_OWNER, &flipped.pid) : fcntl(ends[0], F_SETOWN_EX, &flipped);
		won = failed == 0 && owner_of(ends[0]) == aims[1];
	}
	attack_stop_thread(&helper);
	return won && hits(aims[1]);
}

static bool flip_owner_ex(void)
{
	return flip_wins(false);
}

static bool flip_ioctl(void)
{
	return flip_wins(true);
}

/* ---- other senders ------------------------------------------------------------------------------------------------ */

static bool folder_notification(void)
{
	pid_t victim = attack_victim();
	int folder = open("work", O_RDONLY | O_DIRECTORY);
	attack_require(folder >= 0, "open a folder");
	if (fcntl(folder, F_SETOWN, victim) != 0 || fcntl(folder, F_SETSIG, SIGKILL) != 0 || fcntl(folder, F_NOTIFY, DN_CREATE) != 0)
		return false;
	unlink("work/created");
	close(open("work/created", O_CREAT | O_WRONLY, 0600));
	return attack_victim_is_hit(victim);
}

static bool lease_break(void)
{
	pid_t victim = attack_victim();
	int fd = open("work/leased", O_RDWR | O_CREAT, 0600);
	attack_require(fd >= 0, "make a file");
	if (fcntl(fd, F_SETOWN, victim) != 0 || fcntl(fd, F_SETSIG, SIGKILL) != 0 || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		return false;
	if (fork() == 0)
		_exit(open("work/leased", O_WRONLY | O_NONBLOCK) >= 0);
	return attack_victim_is_hit(victim);
}

static bool timer(void)
{
	timer_t id;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGKILL };
	event._sigev_un._tid = attack_victim();
	return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0;
}

static const struct attack_way ways[] = {
	{ "F_SETOWN", set_owner, false },
	{ "F_SETOWN with stray bits", set_owner_with_stray_bits, false },
	{ "F_SETOWN_EX", set_owner_ex, false },
	{ "F_SETOWN_EX of a thread", set_owner_thread, false },
	{ "F_SETOWN of a group", set_owner_group, false },
	{ "FIOSETOWN", ioctl_owner, false },
	{ "SIOCSPGRP", ioctl_group, false },
	{ "F_SETOWN_EX, flipped", flip_owner_ex, false },
	{ "FIOSETOWN, flipped", flip_ioctl, false },
	{ "F_NOTIFY", folder_notification, false },
	{ "F_SETLEASE", lease_break, false },
	{ "a timer", timer, true },
};

int main(int argc, char **argv)
{
	attack_begin("async_signal", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
