/* What the tracer writes down about files. */
#include "engine/evidence.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/handlers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT_COUNT = 4096, SLOT_MOST = SLOT_COUNT / 4 * 3, NS_PER_S = 1000000000 };

/* One name that was opened. */
struct slot {
	uint64_t hash;   /* of the name; 0: free */
	uint16_t entry;  /* in record->inputs, from 1; 0: not listed */
	bool looked_at;  /* it was opened for reading, or there is nothing left of what it was before the run */
	bool written;    /* it was opened for writing */
};

struct evidence {
	struct run_record *record;
	const char *workspace; /* NULL where the run has none */
	size_t workspace_length;
	size_t used;
	struct slot slots[SLOT_COUNT];
};

/* What packages install, and what is no stored file. Files of the caller are elsewhere. */
static const char *const system_folders[] = {
	"/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/dev/", "/run/",
};

static bool is_system_path(const char *path)
{
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(*system_folders); i++)
		if (strncmp(path, system_folders[i], strlen(system_folders[i])) == 0)
			return true;
	return false;
}

/* FNV-1a: names that collide are compared in full where that matters, so that it need not resist anybody. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

static bool is_of_name(const struct evidence *evidence, const struct slot *slot, uint64_t hash, const char *name)
{
	return slot->hash == hash && (slot->entry == 0 || strcmp(evidence->record->inputs.items[slot->entry - 1].path.bytes, name) == 0);
}

/* NULL for a new name when the index is full. */
static struct slot *find_slot(struct evidence *evidence, const char *name)
{
	uint64_t hash = hash_name(name);
	size_t at = hash % SLOT_COUNT;
	while (evidence->slots[at].hash && !is_of_name(evidence, &evidence->slots[at], hash, name))
		at = (at + 1) % SLOT_COUNT;
	struct slot *slot = &evidence->slots[at];
	if (slot->hash)
		return slot;
	if (evidence->used == SLOT_MOST)
		return NULL;
	evidence->used++;
	slot->hash = hash;
	return slot;
}

struct evidence *evidence_new(const struct run_plan *plan, struct run_record *record)
{
	struct evidence *evidence = memory_zeroed(1, sizeof(*evidence));
	evidence->record = record;
	evidence->workspace = plan->variables->workspace;
	evidence->workspace_length = evidence->workspace ? strlen(evidence->workspace) : 0;
	for (unsigned i = 0; i < atomic_load(&record->inputs.count); i++) {
		struct slot *slot = find_slot(evidence, record->inputs.items[i].path.bytes);
		slot->entry = (uint16_t)(i + 1);
		slot->looked_at = true;
	}
	return evidence;
}

void evidence_free(struct evidence *evidence)
{
	free(evidence);
}

/* ---- entries ------------------------------------------------------------------------------------------------------ */

static int64_t time_ns(const struct statx_timestamp *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

static uint64_t device_of(const struct statx *status)
{
	return (uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor;
}

/* Most file systems stamp with the last tick of the clock: what bears a time before the tick in which the run began was not
 * changed by it, what bears a later one was. In between, which is where a file is whose maker then starts the run, it counts
 * as changed if the run itself opened it for writing. */
static bool is_changed_since(int64_t when_ns, const struct clock_stamp *stamp, bool written)
{
	return when_ns > stamp->exact_ns || (when_ns >= stamp->tick_ns && written);
}

/* The entry is complete when the count says so: front may be reading. NULL when the list is full. */
static struct record_file *add_file(struct record_files *files, const char *path, const struct statx *status)
{
	unsigned count = atomic_load(&files->count);
	if (count == RECORD_FILE_MAX) {
		atomic_fetch_add(&files->more, 1);
		return NULL;
	}
	struct clock_stamp now = clock_stamp_now();
	struct record_file *file = &files->items[count];
	record_bytes_set(&file->path, path, strlen(path));
	file->device = device_of(status);
	file->inode = status->stx_ino;
	file->bytes = status->stx_size;
	file->changed_ns = time_ns(&status->stx_ctime);
	file->changed_now = file->changed_ns >= now.tick_ns;
	return file;
}

static void publish(struct record_files *files)
{
	atomic_fetch_add(&files->count, 1);
}

static bool is_made_in_run(const struct supervisor *supervisor, const struct statx *status, bool written)
{
	return status->stx_mask & STATX_BTIME && is_changed_since(time_ns(&status->stx_btime), &supervisor->shared->began, written);
}

/* ---- opens -------------------------------------------------------------------------------------------------------- */

/* The same text before and behind a write is looked at once only: this is on the way of every open. NULL where there is nothing
 * to write down. */
static struct slot *note_open(struct evidence *evidence, const char *path, uint64_t flags)
{
	bool emptied = flags & O_TRUNC, writes = (flags & O_ACCMODE) != O_RDONLY || emptied;
	bool reads = (flags & O_ACCMODE) != O_WRONLY && !emptied;
	if (flags & (O_PATH | O_DIRECTORY) || is_system_path(path) || path[0] != '/')
		return NULL;
	if (evidence->workspace && strncmp(path, evidence->workspace, evidence->workspace_length) == 0 &&
	    path[evidence->workspace_length] == '/')
		return NULL;
	struct slot *slot = find_slot(evidence, path);
	if (!slot) {
		if (reads)
			atomic_fetch_add(&evidence->record->inputs.more, 1);
		return NULL;
	}
	slot->written |= writes;
	if (writes && slot->entry)
		evidence->record->inputs.items[slot->entry - 1].written = true;
	bool wanted = reads && !slot->looked_at;
	slot->looked_at |= reads || emptied;
	return wanted ? slot : NULL;
}

static void add_input(struct supervisor *supervisor, struct slot *slot, const char *path, const struct statx *status)
{
	struct record_files *inputs = &supervisor->record->inputs;
	if (!S_ISREG(status->stx_mode) || is_made_in_run(supervisor, status, slot->written))
		return;
	struct record_file *file = add_file(inputs, path, status);
	if (!file)
		return;
	file->written = slot->written;
	file->changed_in_run = is_changed_since(file->changed_ns, &supervisor->shared->began, slot->written);
	slot->entry = (uint16_t)(atomic_load(&inputs->count) + 1);
	publish(inputs);
}

void evidence_opened(struct supervisor *supervisor, pid_t tid, int fd, const char *path, uint64_t flags)
{
	struct statx status;
	struct slot *slot = note_open(supervisor->evidence, path, flags);
	if (!slot)
		return;
	/* Another thread may have closed it by now. What it was is not known then, and a list that hides that would be wrong. */
	if (proc_statx_descriptor(tid, fd, &status) == 0)
		add_input(supervisor, slot, path, &status);
	else
		atomic_fetch_add(&supervisor->record->inputs.more, 1);
}

void evidence_delivered(struct supervisor *supervisor, int fd, const char *path, uint64_t flags)
{
	struct statx status;
	struct slot *slot = note_open(supervisor->evidence, path, flags);
	if (slot && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) == 0 && status.stx_nlink > 0)
		add_input(supervisor, slot, path, &status);
}

void evidence_standard_input(struct run_record *record, int fd)
{
	char link[32], path[PATH_MAX];
	struct statx status;
	own_descriptor_path(fd, link);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0)
		return;
	path[length] = '\0';
	if (!S_ISREG(status.stx_mode) || status.stx_nlink == 0 || path[0] != '/' || is_system_path(path))
		return;
	if (add_file(&record->inputs, path, &status))
		publish(&record->inputs);
}

/* ---- programs ----------------------------------------------------------------------------------------------------- */

static bool is_listed(const struct record_files *files, const char *path, const struct statx *status)
{
	for (unsigned i = 0; i < atomic_load(&files->count); i++) {
		const struct record_file *file = &files->items[i];
		if (file->inode == status->stx_ino && file->device == device_of(status) &&
		    file->changed_ns == time_ns(&status->stx_ctime) && strcmp(file->path.bytes, path) == 0)
			return true;
	}
	return false;
}

static void add_program(struct supervisor *supervisor, const char *path, const struct statx *status)
{
	struct record_files *programs = &supervisor->record->programs;
	if (is_listed(programs, path, status))
		return;
	struct record_file *file = add_file(programs, path, status);
	if (!file)
		return;
	file->changed_in_run = is_changed_since(file->changed_ns, &supervisor->shared->began, false);
	publish(programs);
}

static void add_program_by_name(struct supervisor *supervisor, const char *path)
{
	struct statx status;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0 && S_ISREG(status.stx_mode))
		add_program(supervisor, path, &status);
}

void evidence_executed(struct stop *stop, int fd, const char *path)
{
	struct statx status;
	for (unsigned i = 0; i < stop->task->script_count; i++)
		if (stop->task->scripts[i].path)
			add_program_by_name(stop->supervisor, stop->task->scripts[i].path);
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0)
		add_program(stop->supervisor, path, &status);
}

void evidence_loader(struct stop *stop, const char *path)
{
	add_program_by_name(stop->supervisor, path);
}
