#include "why/capture.h"

#include "base/clock.h"
#include "base/text.h"
#include "tracee/memory.h"
#include "tracee/proc.h"
#include "tracee/registers.h"
#include "why/maps.h"
#include "why/script.h"
#include "why/signal_frame.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NS_PER_US = 1000, NS_PER_S = 1000000000, RED_ZONE_BYTES = 128, PAGE_BYTES = 4096 };

/* ---- script frames ------------------------------------------------------------------------------------------------ */

struct walk {
	struct record_script_frame frames[RECORD_SCRIPT_FRAME_MAX];
	size_t count;
	char reason[sizeof(((struct record_explanation *)0)->script_missing)];
};

static void keep_better(struct record_explanation *explanation, const struct walk *walk)
{
	bool whole = walk->count > 0 && walk->reason[0] == '\0';
	bool first = explanation->script_count == 0 && explanation->script_missing[0] == '\0';
	if (!first && !whole && walk->count <= explanation->script_count)
		return;
	explanation->script_count = (uint32_t)walk->count;
	memcpy(explanation->script, walk->frames, walk->count * sizeof(walk->frames[0]));
	memcpy(explanation->script_missing, walk->reason, sizeof(walk->reason));
}

/* Other threads that share the memory run on while it is read: a walk that failed is tried again, and the one that came
 * furthest is kept. */
static bool try_reader(const struct why_process *process, const struct script_reader *reader, struct walk *walk,
		       struct record_explanation *explanation)
{
	for (int attempt = 0; attempt < WHY_ATTEMPT_MAX && !why_time_is_over(process); attempt++) {
		memset(walk, 0, sizeof(*walk));
		walk->count = reader->frames(process, walk->frames, RECORD_SCRIPT_FRAME_MAX, walk->reason, sizeof(walk->reason));
		if (walk->count > RECORD_SCRIPT_FRAME_MAX)
			walk->count = RECORD_SCRIPT_FRAME_MAX;
		for (size_t i = 0; i < walk->count; i++)
			text_copy(walk->frames[i].language, sizeof(walk->frames[i].language), reader->language);
		keep_better(explanation, walk);
		if (walk->reason[0] == '\0')
			break;
	}
	return explanation->script_count > 0;
}

/* `registers` are NULL for a thread that is in a stop. */
static bool script_frames(pid_t tid, const struct registers_all *registers, struct record_explanation *explanation)
{
	bool found = false;
	struct why_process *process = memory_zeroed(1, sizeof(*process));
	struct walk *walk = memory_zeroed(1, sizeof(*walk));
	process->deadline_ns = clock_now_ns() + (uint64_t)WHY_BUDGET_US * NS_PER_US;
	int failed = registers ? why_process_read_at(tid, registers, process) : why_process_read(tid, process);
	if (failed && script_readers[0])
		snprintf(explanation->script_missing, sizeof(explanation->script_missing), "the process could not be read: %s",
			 strerror(-failed));
	for (size_t i = 0; !failed && !found && script_readers[i]; i++)
		if (script_readers[i]->probe(process))
			found = try_reader(process, script_readers[i], walk, explanation);
	free(walk);
	free(process);
	return found;
}

/* ---- snapshots ---------------------------------------------------------------------------------------------------- */

/* Cut at a line's end, and always with a NUL behind it. */
static int copy_maps(pid_t tid, struct record_snapshot *snapshot)
{
	ssize_t length = proc_read_file(tid, "maps", snapshot->maps, sizeof(snapshot->maps) - 1);
	if (length < 0)
		return (int)length;
	while (length > 0 && snapshot->maps[length - 1] != '\n')
		length--;
	snapshot->maps[length] = '\0';
	snapshot->maps_length = (uint32_t)length;
	return 0;
}

/* The mapping that holds the address, from the copied text: a process may have more of them than an array would hold. */
static bool find_map(const struct record_snapshot *snapshot, uint64_t address, struct why_map *map)
{
	const char *at = snapshot->maps, *end = snapshot->maps + snapshot->maps_length;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return false;
		if (maps_parse_line(at, (size_t)(newline - at), map, NULL) && map->start <= address && address < map->end)
			return true;
		at = newline + 1;
	}
	return false;
}

/* In one read; page by page where that fails, since a mapping may end in pages that cannot be read. */
static uint32_t copy_stack(pid_t tid, uint64_t from, size_t length, unsigned char *to)
{
	if (memory_read(tid, tracee_address_of(from), to, length) == 0)
		return (uint32_t)length;
	size_t done = 0;
	while (done < length) {
		size_t piece = PAGE_BYTES - (size_t)((from + done) % PAGE_BYTES);
		if (piece > length - done)
			piece = length - done;
		if (memory_read(tid, tracee_address_of(from + done), to + done, piece) != 0)
			break;
		done += piece;
	}
	return (uint32_t)done;
}

/* From the red zone below the stack pointer to the end of its mapping, or as much of it as there is room for in `to`. */
static uint32_t copy_stack_at(pid_t tid, const struct record_snapshot *snapshot, uint64_t stack_pointer, unsigned char *to,
			      size_t room, uint64_t *from)
{
	struct why_map map;
	if (!find_map(snapshot, stack_pointer, &map))
		return 0;
	*from = stack_pointer - map.start > RED_ZONE_BYTES ? stack_pointer - RED_ZONE_BYTES : map.start;
	return copy_stack(tid, *from, map.end - *from < room ? (size_t)(map.end - *from) : room, to);
}

/* A handler on an alternate stack: the program's own stack lies elsewhere, and what else lies behind the signal frame, in a heap
 * for instance, makes room for it. */
static void copy_interrupted(pid_t tid, struct record_snapshot *snapshot)
{
	uint64_t stack_pointer;
	uint32_t end;
	snapshot->interrupted_length = 0;
	if (!signal_frame_find(snapshot->stack, snapshot->stack_length, snapshot->stack_address, &stack_pointer, &end) ||
	    stack_pointer - snapshot->stack_address < snapshot->stack_length)
		return;
	snapshot->stack_length = end;
	snapshot->interrupted_length = copy_stack_at(tid, snapshot, stack_pointer, snapshot->stack + end,
						     sizeof(snapshot->stack) - end, &snapshot->interrupted_address);
}

/* What the registers in the snapshot point to. A stack pointer that points nowhere leaves an empty stack. */
static int copy_memory(pid_t tid, struct record_snapshot *snapshot)
{
	struct registers_all all;
	struct registers_position position;
	snapshot->tid = tid;
	int failed = copy_maps(tid, snapshot);
	if (failed)
		return failed;
	memcpy(all.bytes, snapshot->registers, sizeof(all.bytes));
	registers_position(&all, &position);
	snapshot->stack_length = copy_stack_at(tid, snapshot, position.stack_pointer, snapshot->stack, sizeof(snapshot->stack),
					       &snapshot->stack_address);
	copy_interrupted(tid, snapshot);
	return 0;
}

int capture_snapshot(pid_t tid, struct record_snapshot *snapshot)
{
	struct registers_all all;
	_Static_assert(sizeof(all.bytes) == sizeof(snapshot->registers), "the same registers");
	int failed = registers_read_all(tid, &all);
	if (failed)
		return failed;
	memcpy(snapshot->registers, all.bytes, sizeof(all.bytes));
	snapshot->registers_length = registers_all_bytes();
	return copy_memory(tid, snapshot);
}

static void snapshots(pid_t tid, pid_t parent, struct record_explanation *explanation)
{
	int failed = capture_snapshot(tid, &explanation->snapshots[0]);
	if (failed) {
		snprintf(explanation->stack_missing, sizeof(explanation->stack_missing), "the thread could not be read: %s",
			 strerror(-failed));
		return;
	}
	explanation->snapshot_count = 1;
	struct record_snapshot *second = &explanation->snapshots[1];
	if (parent > 0 && second->registers_length == registers_all_bytes() && copy_memory(parent, second) == 0)
		explanation->snapshot_count = 2;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

void capture(pid_t tid, pid_t parent, struct record_explanation *explanation)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (proc_read_link(tid, "cwd", explanation->cwd, sizeof(explanation->cwd)) < 0)
		explanation->cwd[0] = '\0';
	snapshots(tid, parent, explanation);
	/* Until it executes, a vfork child shares its parent's memory, and its thread register too: its own frames are those
	 * of the parent. Where an interpreter's runtime was left behind in another memory, there are none in the parent's. */
	if (!script_frames(tid, NULL, explanation) && explanation->snapshot_count > 1) {
		struct registers_all registers;
		memcpy(registers.bytes, explanation->snapshots[1].registers, sizeof(registers.bytes));
		script_frames(parent, &registers, explanation);
	}
	explanation->captured_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
	atomic_thread_fence(memory_order_release);
	explanation->captured = true;
}
