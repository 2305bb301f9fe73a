/* A stopped process as an interpreter's reader sees it. */
#ifndef WHY_PROCESS_H
#define WHY_PROCESS_H

#include "tracee/registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The budget is wall time: a walk takes well under 1 ms, but a busy host may put it off. */
enum { WHY_MAP_MAX = 1024, WHY_BUDGET_US = 25000, WHY_ATTEMPT_MAX = 8 };

struct why_map {
	uint64_t start, end, offset;
	bool readable, writable, executable;
	char path[256]; /* "" for an anonymous mapping; cut names end in "..." */
};

struct why_process {
	pid_t tid;
	uint64_t fs_base;       /* pthread_self() of the stopped thread */
	uint64_t instruction_pointer, stack_pointer, frame_pointer;
	uint64_t deadline_ns;   /* no reader goes on after this (clock_now_ns) */
	size_t map_count;
	struct why_map maps[WHY_MAP_MAX];
	char executable[4096];  /* /proc/TID/exe, "" unknown */
};

/* Reads registers and maps. 0 or -errno. */
int why_process_read(pid_t tid, struct why_process *process);

/* As above, for a thread that is in no stop and whose registers are known from an earlier one. */
int why_process_read_at(pid_t tid, const struct registers_all *registers, struct why_process *process);

/* All return true when exactly that was read; false for any unreadable byte, or when the time is over. */
bool why_read(const struct why_process *process, uint64_t address, void *to, size_t length);
bool why_read_u64(const struct why_process *process, uint64_t address, uint64_t *value);
bool why_read_u32(const struct why_process *process, uint64_t address, uint32_t *value);
/* At most capacity - 1 bytes and a NUL; false when no NUL is found. */
bool why_read_string(const struct why_process *process, uint64_t address, char *to, size_t capacity);

bool why_time_is_over(const struct why_process *process);

/* The first mapping (offset 0) of a file whose last path component begins with `prefix`, from map *index on; advances
 * *index behind it. NULL when there is none. */
const struct why_map *why_module(const struct why_process *process, const char *prefix, size_t *index);

/* The address of a symbol in the module that is mapped at `module`, found in the target's own memory through PT_DYNAMIC and
 * DT_GNU_HASH (20-70 us; deleted files and other mount namespaces do not matter). 0 where it has none. `size` may be NULL. */
uint64_t why_symbol(const struct why_process *process, const struct why_map *module, const char *name, uint64_t *size);

#endif
