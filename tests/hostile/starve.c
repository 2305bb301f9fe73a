/* The same user may starve, slow or limit a process without any signal: the supervisor, or alone a stand-in. */
#include "attack.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>

static bool limit(int resource, rlim_t value)
{
	pid_t victim = attack_victim();
	struct rlimit wanted = { value, value };
	return syscall(SYS_prlimit64, victim, resource, &wanted, NULL) == 0;
}

static bool limit_processor(void)
{
	return limit(RLIMIT_CPU, 1);
}

static bool limit_files(void)
{
	return limit(RLIMIT_NOFILE, 3);
}

static bool limit_memory(void)
{
	return limit(RLIMIT_AS, 4096);
}

static bool limit_with_stray_bits(void)
{
	pid_t victim = attack_victim();
	const unsigned long high = 1UL << 40;
	struct rlimit wanted = { 3, 3 };
	return syscall(SYS_prlimit64, high | (unsigned)victim, high | RLIMIT_NOFILE, &wanted, NULL) == 0;
}

static bool affinity(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	return sched_setaffinity(attack_victim(), sizeof(one), &one) == 0;
}

static bool scheduler_idle(void)
{
	const struct sched_param none = { .sched_priority = 0 };
	return sched_setscheduler(attack_victim(), SCHED_IDLE, &none) == 0;
}

static bool parameters(void)
{
	const struct sched_param none = { .sched_priority = 0 };
	return sched_setparam(attack_victim(), &none) == 0;
}

/* As in linux/sched/types.h, which cannot be included beside sched.h: size, policy, flags, nice, priority, three times. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static bool set_attributes(void)
{
	struct attributes attributes = { .size = sizeof(attributes), .policy = SCHED_BATCH, .nice = 19 };
	return syscall(SYS_sched_setattr, attack_victim(), &attributes, 0) == 0;
}

static bool nice_process(void)
{
	return setpriority(PRIO_PROCESS, (id_t)attack_victim(), 19) == 0;
}

static bool nice_group(void)
{
	pid_t victim = attack_victim();
	if (attack.alone)
		setpgid(victim, victim);
	pid_t group = getpgid(victim);
	return group > 0 && setpriority(PRIO_PGRP, (id_t)group, 19) == 0;
}

/* Alone this would touch every process of the user. */
static bool nice_user(void)
{
	return !attack.alone && setpriority(PRIO_USER, getuid(), 19) == 0;
}

static bool io_process(void)
{
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, attack_victim(), IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) == 0;
}

static bool io_group(void)
{
	pid_t victim = attack_victim();
	if (attack.alone)
		setpgid(victim, victim);
	pid_t group = getpgid(victim);
	return group > 0 && syscall(SYS_ioprio_set, IOPRIO_WHO_PGRP, group, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) == 0;
}

static bool io_user(void)
{
	return !attack.alone && syscall(SYS_ioprio_set, IOPRIO_WHO_USER, getuid(), IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) == 0;
}

/* ---- by name ------------------------------------------------------------------------------------------------------ */

static bool write_file(const char *file, const char *text)
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/%s", attack_victim(), file);
	int fd = open(name, O_WRONLY);
	bool written = fd >= 0 && write(fd, text, strlen(text)) > 0;
	if (fd >= 0)
		close(fd);
	return written;
}

static bool first_to_be_killed(void)
{
	return write_file("oom_score_adj", "1000");
}

/* What a process has open, its root and its current folder, are links that lead around every name. */
static bool through_link(const char *link)
{
	char name[2 * ATTACK_PATH];
	snprintf(name, sizeof(name), "/proc/%d/%s%s/b/file", attack_victim(), link, attack.arena);
	return attack_reads_barred(name);
}

static bool through_root(void)
{
	return through_link("root");
}

static bool through_thread_root(void)
{
	char link[64];
	pid_t victim = attack_victim();
	snprintf(link, sizeof(link), "/proc/%d/task/%d/root", victim, victim);
	char name[2 * ATTACK_PATH];
	snprintf(name, sizeof(name), "%s%s/b/file", link, attack.arena);
	return attack_reads_barred(name);
}

static bool through_current_folder(void)
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/cwd/b/file", attack_victim());
	return attack_reads_barred(name);
}

static bool environment(void)
{
	char name[64], byte;
	snprintf(name, sizeof(name), "/proc/%d/environ", attack_victim());
	int fd = open(name, O_RDONLY);
	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static bool memory(void)
{
	char name[64], byte;
	static const char mark = 'x';
	snprintf(name, sizeof(name), "/proc/%d/mem", attack_victim());
	int fd = open(name, O_RDWR);
	return fd >= 0 && (!attack.alone || pread(fd, &byte, 1, (off_t)(uintptr_t)&mark) == 1);
}

static const struct attack_way ways[] = {
	{ "RLIMIT_CPU", limit_processor, false },
	{ "RLIMIT_NOFILE", limit_files, false },
	{ "RLIMIT_AS", limit_memory, false },
	{ "prlimit with stray bits", limit_with_stray_bits, false },
	{ "sched_setaffinity", affinity, false },
	{ "sched_setscheduler", scheduler_idle, false },
	{ "sched_setparam", parameters, false },
	{ "sched_setattr", set_attributes, false },
	{ "setpriority", nice_process, false },
	{ "setpriority of a group", nice_group, false },
	{ "setpriority of the user", nice_user, true },
	{ "ioprio_set", io_process, false },
	{ "ioprio_set of a group", io_group, false },
	{ "ioprio_set of the user", io_user, true },
	{ "oom_score_adj", first_to_be_killed, false },
	{ "its root", through_root, false },
	{ "its thread's root", through_thread_root, false },
	{ "its current folder", through_current_folder, false },
	{ "its environment", environment, false },
	{ "its memory", memory, false },
};

int main(int argc, char **argv)
{
	attack_begin("starve", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
