/* Limits that the tracer sees at a stop: processes, threads, refused memory, file size, open files. Front watches the clocks,
 * the output and the memory in use (front.c). */
#ifndef ENGINE_LIMITS_H
#define ENGINE_LIMITS_H

#include "engine/supervisor.h"

/* The value of a limit, UNITS_NONE where there is none. */
uint64_t limit_value(const struct policy *policy, enum limit_id id);

/* Fills a failure for a limit: rule, position, numbers, suggestions. For front and tracer. */
void limit_fill_failure(const struct policy *policy, enum limit_id id, const char *target, int64_t when_ms,
			struct record_failure *failure);

/* What a failure of limits.workspace says: bytes in the folder, and those that a call asked for (0: none did). */
void limit_text_workspace(const struct quota *quota, uint64_t requested, char *target, size_t capacity);

/* A call is about to take `bytes` of room in the workspace at once: true with *resume set where the limit does not allow it. */
bool limit_stops_growth(struct stop *stop, uint64_t bytes, struct resume *resume);

/* The kernel has killed a process of the run's cgroup for want of memory: true, with what a failure of limits.memory says. */
bool limit_text_cgroup(const struct cgroup *cgroup, char *target, size_t capacity);

/* The main process has ended: what happened in the run's cgroup came before that. */
void limit_look_at_cgroup(struct supervisor *supervisor);

/* A clone that would be one process or thread too many: true with *resume set (the tree is being killed). Counts those that
 * were let through and have not shown up yet. */
bool limit_stops_clone(struct stop *stop, bool thread, struct resume *resume);

/* At the next stop of a process that was refused memory: what the refusal had closed for a moment is open again. */
void limit_after_refusal(struct stop *stop);

/* Is a program too large to start? The kernel would end it half-way, by a signal that tells nothing. As above. */
bool limit_stops_program(struct stop *stop, uint64_t data_bytes, const char *path, struct resume *resume);

/* The bytes from which such a request stops; UINT64_MAX for never. For the filter. */
uint64_t limit_memory_request_threshold(const struct policy *policy);

/* A descriptor was refused (EMFILE), or SIGXFSZ is about to be delivered. */
void limit_note_open_files(struct supervisor *supervisor);
void limit_file_size_exceeded(struct supervisor *supervisor, const struct task *task);

/* The main process is about to end with `status` (as wait(2) has it): is it at its descriptor limit? */
void limit_look_at_exit(struct supervisor *supervisor, const struct task *task, unsigned long status);

/* The main process ended badly: a limit that had refused it something is what failed first. */
void limit_blame_refusal(struct supervisor *supervisor);

/* Is the thread's descriptor table full, up to the hard limit? A new image needs room for one more for a moment. */
bool limit_descriptors_full(const struct task *task);

/* In the child: RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_CORE, and RLIMIT_DATA as a net. 0 or errno. */
int limit_set_in_child(const struct policy *policy);

#endif
