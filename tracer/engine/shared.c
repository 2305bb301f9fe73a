#include "engine/shared.h"

#include "base/clock.h"
#include "engine/run.h"

#include <stddef.h>
#include <sys/mman.h>

_Static_assert(offsetof(struct shared, record) == 0, "the record is the beginning of the shared mapping");

struct run_record *engine_record_new(void)
{
	struct shared *shared =
		mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	shared->record.exit_code = -1;
	return &shared->record;
}

static uint64_t sum_once(struct shared *shared)
{
	uint64_t total = atomic_load(&shared->dead_cpu_ns);
	int high = atomic_load(&shared->process_high);
	for (int i = 0; i < high; i++) {
		uint64_t used;
		pid_t tgid = atomic_load_explicit(&shared->processes[i], memory_order_relaxed);
		if (tgid > 0 && clock_process_cpu_ns(tgid, &used) == 0)
			total += used;
	}
	return total;
}

/* A few tries: a tree that forks all the time may change under each look; the next sample comes soon. */
uint64_t shared_cpu_ns(struct shared *shared)
{
	enum { TRIES = 8 };
	uint64_t lowest = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		unsigned before = atomic_load(&shared->generation);
		uint64_t total = sum_once(shared);
		if (total < lowest)
			lowest = total;
		if (before % 2 == 0 && atomic_load(&shared->generation) == before)
			return total;
	}
	return lowest; /* never an overestimate through a double count */
}
