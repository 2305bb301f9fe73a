#include "engine/cgroup.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS_BYTES = 1024, REMOVE_LOOKS = 50, REMOVE_LOOK_MS = 10 };

static const struct controller {
	unsigned bit;
	const char *name, *on, *off;
} controllers[] = {
	{ RECORD_CGROUP_MEMORY, "memory", "+memory", "-memory" },
	{ RECORD_CGROUP_PIDS, "pids", "+pids", "-pids" },
};
enum { CONTROLLER_COUNT = sizeof(controllers) / sizeof(*controllers) };

static int open_below(int folder, const char *name, const char *file, int flags)
{
	char path[128];
	snprintf(path, sizeof(path), "%s%s%s", name, *name ? "/" : "", file);
	return openat(folder, path, flags | O_CLOEXEC);
}

static int write_below(int folder, const char *name, const char *file, const char *text)
{
	auto_fd int fd = open_below(folder, name, file, O_WRONLY);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_number(int folder, const char *file, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, number);
	return write_below(folder, "", file, text);
}

static bool read_below(int folder, const char *file, char text[static EVENTS_BYTES])
{
	auto_fd int fd = open_below(folder, "", file, O_RDONLY);
	ssize_t length = fd >= 0 ? read(fd, text, EVENTS_BYTES - 1) : -1;
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* ---- begin -------------------------------------------------------------------------------------------------------- */

/* The kernel counts what our own sum does not: page tables, its stack of each thread, buffers of pipes and sockets, cached files
 * until it needs the room. What a run may have by limits.memory it must have here as well: the net hangs lower. */
static uint64_t memory_net(uint64_t bytes)
{
	const uint64_t slack = UINT64_C(16) << 20;
	uint64_t total;
	return __builtin_add_overflow(bytes, bytes / 16 + slack, &total) || total > INT64_MAX ? INT64_MAX : total;
}

/* The kernel also counts who has ended and was not waited for yet: as many again. */
static uint64_t pids_net(uint64_t threads)
{
	const uint64_t most = UINT64_C(1) << 22; /* PID_MAX_LIMIT: more there cannot be */
	return threads > most / 2 ? most : threads * 2;
}

/* With memory.swap.max 0 memory and swap together stay within memory.max. A kernel without swap has no such file, and without
 * memory.oom.group (Linux 4.19 has it) some processes of the run live on until it is noticed. */
static int set_memory(int target, uint64_t bytes)
{
	write_below(target, "", "memory.swap.max", "0");
	write_below(target, "", "memory.oom.group", "1");
	return write_number(target, "memory.max", memory_net(bytes));
}

static int enable(struct cgroup *cgroup, unsigned wanted)
{
	int failed = 0;
	char text[EVENTS_BYTES];
	unsigned before = read_below(cgroup->home, "cgroup.subtree_control", text) ? cgroup_read_controllers(text) : 0;
	for (size_t i = 0; i < CONTROLLER_COUNT && !failed; i++) {
		if (!(controllers[i].bit & wanted & ~before))
			continue;
		failed = write_below(cgroup->home, "", "cgroup.subtree_control", controllers[i].on);
		if (!failed)
			cgroup->enabled |= controllers[i].bit;
	}
	return failed;
}

/* A cgroup whose children are limited holds no process itself (EBUSY): bailiff makes room. */
static int move_out_of_home(struct cgroup *cgroup)
{
	if (mkdirat(cgroup->home, cgroup->own, 0755) != 0)
		return -errno;
	int failed = write_below(cgroup->home, cgroup->own, "cgroup.procs", "0");
	cgroup->moved = !failed;
	if (failed)
		unlinkat(cgroup->home, cgroup->own, AT_REMOVEDIR);
	return failed;
}

static int make(struct cgroup *cgroup, unsigned wanted, uint64_t memory_bytes, uint64_t threads)
{
	int failed = move_out_of_home(cgroup);
	if (!failed)
		failed = enable(cgroup, wanted);
	if (!failed && mkdirat(cgroup->home, cgroup->name, 0755) != 0)
		failed = -errno;
	if (failed)
		return failed;
	cgroup->target = openat(cgroup->home, cgroup->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cgroup->target < 0) {
		failed = -errno;
		unlinkat(cgroup->home, cgroup->name, AT_REMOVEDIR);
		return failed;
	}
	if (wanted & RECORD_CGROUP_MEMORY)
		failed = set_memory(cgroup->target, memory_bytes);
	if (!failed && (wanted & RECORD_CGROUP_PIDS))
		failed = write_number(cgroup->target, "pids.max", pids_net(threads));
	cgroup->controllers = failed ? 0 : wanted;
	return failed;
}

void cgroup_begin(struct cgroup *cgroup, uint64_t memory_bytes, uint64_t threads, struct run_record *record)
{
	uint64_t number;
	struct cgroup_facts facts;
	unsigned wanted = (memory_bytes != UNITS_NONE ? RECORD_CGROUP_MEMORY : 0) | (threads != UNITS_NONE ? RECORD_CGROUP_PIDS : 0);
	*cgroup = (struct cgroup){ .home = -1, .target = -1 };
	cgroup_look(&facts);
	if (cgroup_refusal(&facts) || !(wanted & facts.offered) || getrandom(&number, sizeof(number), 0) != sizeof(number))
		return;
	snprintf(cgroup->name, sizeof(cgroup->name), "bailiff-%d-%016" PRIx64, getpid(), number);
	snprintf(cgroup->own, sizeof(cgroup->own), "%s-own", cgroup->name);
	cgroup->home = open(facts.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = cgroup->home < 0 ? -errno : make(cgroup, wanted & facts.offered, memory_bytes, threads);
	if (!failed)
		return;
	record_note(record, "the cgroup that is delegated here is not used: %s", strerror(-failed));
	cgroup_end(cgroup, record);
}

/* ---- meanwhile ---------------------------------------------------------------------------------------------------- */

void cgroup_put(const struct cgroup *cgroup, pid_t pid, struct run_record *record)
{
	if (!cgroup->controllers)
		return;
	int failed = write_number(cgroup->target, "cgroup.procs", (uint64_t)pid);
	if (failed)
		record_note(record, "the cgroup that is delegated here is not used: the target cannot be put into it: %s", strerror(-failed));
	else
		record->cgroup_controllers = cgroup->controllers;
}

/* Both are counted by the kernel before the signal is sent: whoever sees the end sees the numbers. `oom_kill` alone may be for
 * want of memory above this cgroup, or of the whole host: that is not the run's limit. */
bool cgroup_met_memory(const struct cgroup *cgroup, uint64_t *bytes)
{
	char text[EVENTS_BYTES];
	if (!(cgroup->controllers & RECORD_CGROUP_MEMORY) || !read_below(cgroup->target, "memory.events", text) ||
	    cgroup_read_event(text, "oom") == 0 || cgroup_read_event(text, "oom_kill") == 0)
		return false;
	/* memory.peak came with Linux 5.19; without it, the limit is what was reached. */
	bool told = read_below(cgroup->target, "memory.peak", text) || read_below(cgroup->target, "memory.max", text);
	*bytes = told ? strtoull(text, NULL, 10) : 0;
	return true;
}

bool cgroup_met_pids(const struct cgroup *cgroup)
{
	char text[EVENTS_BYTES];
	return (cgroup->controllers & RECORD_CGROUP_PIDS) && read_below(cgroup->target, "pids.events", text) &&
	       cgroup_read_event(text, "max") > 0;
}

/* ---- end ---------------------------------------------------------------------------------------------------------- */

/* Someone who has just been killed may be on the way out still: its end is waited for, but not for ever. */
static void wait_until_empty(int folder, const char *name)
{
	char text[EVENTS_BYTES];
	auto_fd int fd = open_below(folder, name, "cgroup.events", O_RDONLY);
	for (int i = 0; fd >= 0 && i < REMOVE_LOOKS; i++) {
		ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
		text[length > 0 ? length : 0] = '\0';
		if (length <= 0 || cgroup_read_event(text, "populated") == 0)
			return;
		struct pollfd change = { .fd = fd, .events = POLLPRI };
		poll(&change, 1, REMOVE_LOOK_MS);
	}
}

static void remove_below(const struct cgroup *cgroup, const char *name, struct run_record *record)
{
	wait_until_empty(cgroup->home, name);
	if (unlinkat(cgroup->home, name, AT_REMOVEDIR) != 0)
		record_note(record, "the cgroup %s stays: %s", name, strerror(errno));
}

/* Somebody else's, made meanwhile: what we have enabled may be in use there by now. */
static bool has_other_children(const struct cgroup *cgroup)
{
	bool found = false;
	int fd = openat(cgroup->home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		found = found || (entry->d_type == DT_DIR && entry->d_name[0] != '.' && strcmp(entry->d_name, cgroup->own) != 0);
	if (folder)
		closedir(folder);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* In this order: only a cgroup that limits no children takes a process back. */
static void move_back(struct cgroup *cgroup, struct run_record *record)
{
	if (!has_other_children(cgroup))
		for (size_t i = 0; i < CONTROLLER_COUNT; i++)
			if (cgroup->enabled & controllers[i].bit)
				write_below(cgroup->home, "", "cgroup.subtree_control", controllers[i].off);
	int failed = write_below(cgroup->home, "", "cgroup.procs", "0");
	if (failed)
		record_note(record, "the cgroup %s stays, with bailiff in it: %s", cgroup->own, strerror(-failed));
	else
		remove_below(cgroup, cgroup->own, record);
}

void cgroup_end(struct cgroup *cgroup, struct run_record *record)
{
	if (cgroup->target >= 0) {
		/* For what a tracer that did not answer has left; Linux 5.14 has it. */
		write_below(cgroup->target, "", "cgroup.kill", "1");
		close(cgroup->target);
		remove_below(cgroup, cgroup->name, record);
	}
	if (cgroup->moved)
		move_back(cgroup, record);
	if (cgroup->home >= 0)
		close(cgroup->home);
	*cgroup = (struct cgroup){ .home = -1, .target = -1 };
}
