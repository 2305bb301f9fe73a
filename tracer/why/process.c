/* Everything here comes from a process that may be hostile: whatever is read is held against the file of mappings or a bound
 * before it is used, and all loops end. */
#include "why/process.h"

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "tracee/memory.h"
#include "tracee/proc.h"
#include "tracee/registers.h"
#include "why/maps.h"

#include <string.h>

enum { MAPS_BYTES = 256 * 1024 };

static void set_position(struct why_process *process, const struct registers_all *registers)
{
	struct registers_position position;
	registers_position(registers, &position);
	process->instruction_pointer = position.instruction_pointer;
	process->stack_pointer = position.stack_pointer;
	process->frame_pointer = position.frame_pointer;
	process->fs_base = position.fs_base;
}

int why_process_read(pid_t tid, struct why_process *process)
{
	struct registers_all registers;
	int failed = registers_read_all(tid, &registers);
	return failed ? failed : why_process_read_at(tid, &registers, process);
}

int why_process_read_at(pid_t tid, const struct registers_all *registers, struct why_process *process)
{
	process->tid = tid;
	process->map_count = 0;
	process->executable[0] = '\0';
	set_position(process, registers);
	if (proc_read_link(tid, "exe", process->executable, sizeof(process->executable)) < 0)
		process->executable[0] = '\0';

	auto_free char *text = memory_zeroed(1, MAPS_BYTES + 1);
	ssize_t length = proc_read_file(tid, "maps", text, MAPS_BYTES);
	if (length < 0)
		return (int)length;
	process->map_count = maps_parse(text, (size_t)length, process->maps, WHY_MAP_MAX);
	return 0;
}

bool why_time_is_over(const struct why_process *process)
{
	return clock_now_ns() >= process->deadline_ns;
}

bool why_read(const struct why_process *process, uint64_t address, void *to, size_t length)
{
	if (why_time_is_over(process))
		return false;
	return memory_read(process->tid, tracee_address_of(address), to, length) == 0;
}

bool why_read_u64(const struct why_process *process, uint64_t address, uint64_t *value)
{
	return why_read(process, address, value, sizeof(*value));
}

bool why_read_u32(const struct why_process *process, uint64_t address, uint32_t *value)
{
	return why_read(process, address, value, sizeof(*value));
}

bool why_read_string(const struct why_process *process, uint64_t address, char *to, size_t capacity)
{
	if (why_time_is_over(process))
		return false;
	return memory_read_string(process->tid, tracee_address_of(address), to, capacity) >= 0;
}

const struct why_map *why_module(const struct why_process *process, const char *prefix, size_t *index)
{
	for (; *index < process->map_count; ++*index) {
		const struct why_map *map = &process->maps[*index];
		const char *slash = strrchr(map->path, '/');
		if (map->offset != 0 || !slash || strncmp(slash + 1, prefix, strlen(prefix)) != 0)
			continue;
		++*index;
		return map;
	}
	return NULL;
}
