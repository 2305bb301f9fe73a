/* All durations of a run come from CLOCK_MONOTONIC: a step of the wall clock changes nothing. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

uint64_t clock_now_ns(void);

/* The wall clock, which times of files come from: as exact as can be had, and as most file systems stamp with it, at most a
 * tick (1 to 10 ms) behind. */
struct clock_stamp {
	int64_t exact_ns, tick_ns;
};
struct clock_stamp clock_stamp_now(void);

/* CPU time, user and system, that the process `tgid` (any process of this host) has used so far. Also works on a zombie
 * that nobody has reaped yet, and is then exact. Returns 0, or -ESRCH when it is gone. */
int clock_process_cpu_ns(pid_t tgid, uint64_t *cpu_ns);

#endif
