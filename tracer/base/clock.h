/* All times of a run come from CLOCK_MONOTONIC: a step of the wall clock changes nothing. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

uint64_t clock_now_ns(void);

/* CPU time, user and system, that the process `tgid` (any process of this host) has used so far. Also works on a zombie
 * that nobody has reaped yet, and is then exact. Returns 0, or -ESRCH when it is gone. */
int clock_process_cpu_ns(pid_t tgid, uint64_t *cpu_ns);

#endif
