/* A cgroup of the run's own, where the one that bailiff was started in is delegated to it: cgroups(7), version 2. A net of the
 * kernel's behind our own counting: nothing here is an error of the run, and none needs it.
 *
 *     HOME                       what bailiff was started in, alone
 *       ├─ bailiff-PID-N-own     bailiff itself meanwhile: a cgroup that limits its children may hold no process
 *       └─ bailiff-PID-N         the target and whatever it starts, under memory.max and pids.max */
#ifndef ENGINE_CGROUP_H
#define ENGINE_CGROUP_H

#include "verdict/record.h"

#include <limits.h>

/* The cgroup that this process is in. */
struct cgroup_facts {
	char folder[PATH_MAX]; /* "" where there is none of version 2, or no name for it here */
	bool domain;           /* neither the root of the hierarchy nor a threaded one */
	bool writable;         /* the folder and the files that delegation hands over */
	bool marked;           /* user.delegate or trusted.delegate says 1: whoever manages the hierarchy lets go of it */
	bool root;             /* to whom everything is writable: only the mark tells */
	bool alone;            /* nobody else is in it */
	unsigned offered;      /* controllers, RECORD_CGROUP_* */
};

void cgroup_look(struct cgroup_facts *facts);

/* Why it is not to be used; NULL where it is. */
const char *cgroup_refusal(const struct cgroup_facts *facts);

/* From a line of /proc/self/cgroup: the cgroup of version 2, as "/…". False for any other line. */
bool cgroup_read_own(const char *line, char path[static PATH_MAX]);

/* From a line of /proc/self/mountinfo: the folder that the cgroup `path` has below this mount. False where it has none there. */
bool cgroup_read_mount(const char *line, const char *path, char folder[static PATH_MAX]);

/* From "cpu memory pids": those that are used here. */
unsigned cgroup_read_controllers(const char *text);

/* From lines "key number": the number, 0 where there is no such key. */
uint64_t cgroup_read_event(const char *text, const char *key);

struct cgroup {
	int home, target;       /* folders; -1 */
	char name[48], own[52]; /* of the two below home */
	bool moved;             /* bailiff is in its own */
	unsigned enabled;       /* controllers that were not on for the children of home before */
	unsigned controllers;   /* that limit the target; 0: there is no cgroup for it */
};

/* Makes one with these limits (UNITS_NONE: none). Before the fork of the tracer, which is then in bailiff's own as well. Where it
 * fails half-way, a note says so. */
void cgroup_begin(struct cgroup *cgroup, uint64_t memory_bytes, uint64_t threads, struct run_record *record);

/* Puts the process in, before it executes anything, and says so in the record. */
void cgroup_put(const struct cgroup *cgroup, pid_t pid, struct run_record *record);

/* Has the kernel killed a process of the run at its memory.max? *bytes: how much the run had in use. */
bool cgroup_met_memory(const struct cgroup *cgroup, uint64_t *bytes);

/* Has the kernel refused the run a process or a thread, by its pids.max or by one above? */
bool cgroup_met_pids(const struct cgroup *cgroup);

/* After the run: kills what may be left in it, and puts everything back as it was. */
void cgroup_end(struct cgroup *cgroup, struct run_record *record);

#endif
