#include "base/clock.h"

#include "base/bug.h"

#include <errno.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

uint64_t clock_now_ns(void)
{
	struct timespec now;
	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		bug("no monotonic clock");
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int64_t realtime_ns(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now) != 0)
		bug("no wall clock");
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct clock_stamp clock_stamp_now(void)
{
	int64_t tick_ns = realtime_ns(CLOCK_REALTIME_COARSE);
	return (struct clock_stamp){ .exact_ns = realtime_ns(CLOCK_REALTIME), .tick_ns = tick_ns };
}

/* The clock id of another process: the kernel's MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED), which is ABI
 * (include/linux/posix-timers.h). clock_getcpuclockid() builds the same, after one more system call. */
int clock_process_cpu_ns(pid_t tgid, uint64_t *cpu_ns)
{
	enum { CPUCLOCK_SCHED = 2 };
	clockid_t clock = (clockid_t)((~(unsigned)tgid << 3) | CPUCLOCK_SCHED);
	struct timespec used;
	if (clock_gettime(clock, &used) != 0)
		return -ESRCH;
	*cpu_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
	return 0;
}
