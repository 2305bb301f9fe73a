#include "engine/placement.h"

#include "base/clock.h"
#include "base/text.h"
#include "tracee/tasks.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	MOVED_MAX = 64,
	OFTEN_NS = 500 * 1000,       /* so soon after the last stop ... */
	OFTEN_STOPS = 3,             /* ... this many times */
	QUIET_NS = 4 * 1000 * 1000,  /* and no more for so long */
};

#define NOWHERE SIZE_MAX

/* A thread that was moved. `tid` is 0 in a free one; written under the lock. */
struct moved {
	_Atomic pid_t tid;
	_Atomic uint64_t last_stop_ns;
	cpu_set_t processors; /* its own */
};

struct placement {
	pthread_mutex_t lock;
	pthread_cond_t somebody_is_moved;
	pthread_t watcher;
	bool watching;
	pid_t tracer;
	size_t processor;        /* where they are moved to; NOWHERE before the first */
	cpu_set_t processors;    /* the tracer's own */
	unsigned count;
	struct moved moved[MOVED_MAX];
};

struct placement *placement_new(void)
{
	cpu_set_t processors;
	if (sched_getaffinity(0, sizeof(processors), &processors) != 0 || CPU_COUNT(&processors) < 2)
		return NULL;
	struct placement *placement = memory_zeroed(1, sizeof(*placement));
	pthread_mutex_init(&placement->lock, NULL);
	pthread_cond_init(&placement->somebody_is_moved, NULL);
	placement->tracer = gettid();
	placement->processors = processors;
	placement->processor = NOWHERE;
	return placement;
}

/* The watcher goes on until the process ends, which is next. */
void placement_free(struct placement *placement)
{
	if (placement && !placement->watching)
		free(placement);
}

static struct moved *find(struct placement *placement, pid_t tid)
{
	for (size_t i = 0; i < MOVED_MAX; i++)
		if (atomic_load_explicit(&placement->moved[i].tid, memory_order_relaxed) == tid)
			return &placement->moved[i];
	return NULL;
}

/* With the lock. */
static void release(struct placement *placement, struct moved *moved)
{
	atomic_store(&moved->tid, 0);
	if (--placement->count == 0)
		sched_setaffinity(placement->tracer, sizeof(placement->processors), &placement->processors);
}

static void give_back(struct placement *placement, struct moved *moved)
{
	sched_setaffinity(moved->tid, sizeof(moved->processors), &moved->processors);
	release(placement, moved);
}

/* A thread of its own, so that the tracer's calls are never interrupted by a clock. */
static void *watch(void *data)
{
	struct placement *placement = data;
	const struct timespec pause = { .tv_nsec = QUIET_NS };
	for (;;) {
		pthread_mutex_lock(&placement->lock);
		while (placement->count == 0)
			pthread_cond_wait(&placement->somebody_is_moved, &placement->lock);
		uint64_t now_ns = clock_now_ns();
		for (size_t i = 0; i < MOVED_MAX; i++) {
			struct moved *moved = &placement->moved[i];
			if (moved->tid && now_ns > moved->last_stop_ns + QUIET_NS)
				give_back(placement, moved);
		}
		pthread_mutex_unlock(&placement->lock);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static bool begin_watching(struct placement *placement)
{
	sigset_t all, before;
	if (placement->watching)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	placement->watching = pthread_create(&placement->watcher, NULL, watch, placement) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return placement->watching;
}

/* The tracer stays where it is while somebody is moved to it. */
static bool settle_tracer(struct placement *placement)
{
	cpu_set_t one;
	if (placement->count > 0)
		return true;
	int processor = sched_getcpu();
	if (processor < 0 || processor >= CPU_SETSIZE)
		return false;
	placement->processor = (size_t)processor;
	CPU_ZERO(&one);
	CPU_SET(placement->processor, &one);
	return sched_setaffinity(placement->tracer, sizeof(one), &one) == 0;
}

static void move(struct placement *placement, struct moved *moved, pid_t tid, uint64_t now_ns)
{
	cpu_set_t one;
	if (sched_getaffinity(tid, sizeof(moved->processors), &moved->processors) != 0 || !settle_tracer(placement))
		return;
	CPU_ZERO(&one);
	CPU_SET(placement->processor, &one);
	bool can = CPU_COUNT(&moved->processors) > 1 && CPU_ISSET(placement->processor, &moved->processors) &&
		   sched_setaffinity(tid, sizeof(one), &one) == 0;
	placement->count++;
	atomic_store(&moved->last_stop_ns, now_ns);
	atomic_store(&moved->tid, tid);
	if (can)
		pthread_cond_signal(&placement->somebody_is_moved);
	else
		release(placement, moved);
}

void placement_note_stop(struct placement *placement, struct task *task)
{
	if (!placement)
		return;
	uint64_t now_ns = clock_now_ns();
	task->stops_in_a_row = now_ns - task->last_stop_ns < OFTEN_NS ? task->stops_in_a_row + 1 : 0;
	task->last_stop_ns = now_ns;
	if (task->stops_in_a_row < OFTEN_STOPS)
		return;
	struct moved *moved = &placement->moved[task->moved_index];
	if (atomic_load_explicit(&moved->tid, memory_order_relaxed) == task->tid) {
		atomic_store_explicit(&moved->last_stop_ns, now_ns, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&placement->lock);
	moved = find(placement, 0);
	if (moved && begin_watching(placement)) {
		task->moved_index = (unsigned)(moved - placement->moved);
		move(placement, moved, task->tid, now_ns);
	}
	pthread_mutex_unlock(&placement->lock);
}

void placement_undo(struct placement *placement, pid_t tid)
{
	if (!placement)
		return;
	pthread_mutex_lock(&placement->lock);
	struct moved *moved = find(placement, tid);
	if (moved)
		give_back(placement, moved);
	pthread_mutex_unlock(&placement->lock);
}

/* The parent may have got its own back meanwhile. */
void placement_inherited(struct placement *placement, pid_t parent, pid_t child)
{
	cpu_set_t processors;
	if (!placement || placement->processor == NOWHERE || sched_getaffinity(child, sizeof(processors), &processors) != 0 ||
	    CPU_COUNT(&processors) != 1 || !CPU_ISSET(placement->processor, &processors))
		return;
	pthread_mutex_lock(&placement->lock);
	const struct moved *moved = find(placement, parent);
	if (moved)
		sched_setaffinity(child, sizeof(moved->processors), &moved->processors);
	else if (sched_getaffinity(parent, sizeof(processors), &processors) == 0)
		sched_setaffinity(child, sizeof(processors), &processors);
	pthread_mutex_unlock(&placement->lock);
}

void placement_forget(struct placement *placement, pid_t tid, pid_t to)
{
	if (!placement)
		return;
	pthread_mutex_lock(&placement->lock);
	struct moved *moved = find(placement, tid);
	if (moved && to)
		atomic_store(&moved->tid, to);
	else if (moved)
		release(placement, moved);
	pthread_mutex_unlock(&placement->lock);
}
