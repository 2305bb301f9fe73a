#include "engine/pin.h"

#include "base/text.h"
#include "engine/evidence.h"
#include "engine/identity.h"
#include "engine/limits.h"
#include "engine/sockets.h"
#include "tracee/control.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool pin_take(struct stop *stop, size_t bytes)
{
	struct task_pin *pin = &stop->task->pin;
	unsigned repeats = pin->repeats;
	memset(pin, 0, sizeof(*pin));
	pin->repeats = repeats;
	pin->slot = page_slot_take(stop->supervisor->page, bytes);
	return pin->slot != PAGE_SLOT_NONE;
}

void *pin_bytes(struct stop *stop, size_t offset)
{
	return (char *)page_slot_bytes(stop->supervisor->page, stop->task->pin.slot) + offset;
}

uint64_t pin_address(const struct stop *stop, size_t offset)
{
	return page_slot_address(stop->task->pin.slot) + offset;
}

struct resume pin_call(struct stop *stop, uint64_t number, const uint64_t args[6])
{
	struct task_pin *pin = &stop->task->pin;
	pin->active = true;
	pin->number = number;
	memcpy(pin->args, args, sizeof(pin->args));
	if (PIN_CHECK_ONLY) {
		pin_release(stop->supervisor, stop->task);
		return resume_run();
	}
	return (struct resume){ .kind = RESUME_PINNED };
}

/* A program with a seccomp filter of its own may have switched openat2 off: its opens keep the number that it chose, and the
 * canonical path is guarded instead. */
static struct resume pin_plain_open(struct stop *stop, const char *path, const struct open_how *how)
{
	const struct syscall_roles *roles = &stop->row->roles;
	uint64_t args[6];
	memcpy(args, stop->call.args, sizeof(args));
	args[roles->path - 1] = pin_address(stop, sizeof(*how));
	if (roles->flags)
		args[roles->flags - 1] = how->flags;
	struct resume resume = pin_call(stop, stop->call.number, args);
	pin_guard(stop, path, NULL);
	resume.settle = true;
	return resume;
}

struct resume pin_open(struct stop *stop, const char *path, bool trailing_slash, const struct open_how *how, unsigned repeat_most,
		       bool repeat_missing)
{
	size_t length = strlen(path);
	if (!pin_take(stop, sizeof(*how) + length + 2))
		return resume_answer(-ENFILE);
	struct open_how decided = *how;
	decided.resolve |= RESOLVE_NO_SYMLINKS;
	memcpy(pin_bytes(stop, 0), &decided, sizeof(decided));
	char *text = pin_bytes(stop, sizeof(decided));
	memcpy(text, path, length);
	text[length] = '\0';
	if (trailing_slash && length > 1)
		memcpy(text + length, "/", 2);
	stop->task->pin.opens = true;
	if (stop->task->process->filtered && stop->row->handler == HANDLER_OPEN)
		return pin_plain_open(stop, path, how);

	stop->task->pin.repeat_most = repeat_most;
	stop->task->pin.repeat_missing = repeat_missing;
	stop->task->pin.repeat_refused = stop->supervisor->record->landlock_abi > 0 && !(how->flags & O_CREAT);
	const uint64_t args[6] = { (uint64_t)AT_FDCWD, pin_address(stop, sizeof(decided)), pin_address(stop, 0), sizeof(decided),
				   stop->call.args[4], stop->call.args[5] };
	return pin_call(stop, SYS_openat2, args);
}

struct resume pin_in_place(struct stop *stop)
{
	stop->task->pin = (struct task_pin){ .slot = PAGE_SLOT_NONE };
	return pin_call(stop, stop->call.number, stop->call.args);
}

struct resume pin_address_argument(struct stop *stop, unsigned argument, const void *bytes, size_t length)
{
	uint64_t args[6];
	if (!pin_take(stop, length))
		return resume_answer(-ENOBUFS);
	memcpy(pin_bytes(stop, 0), bytes, length);
	memcpy(args, stop->call.args, sizeof(args));
	args[argument] = pin_address(stop, 0);
	return pin_call(stop, stop->call.number, args);
}

void pin_guard(struct stop *stop, const char *canonical, const char *written)
{
	struct task_pin *pin = &stop->task->pin;
	if (!pin->active || pin->guards[0])
		return;
	pin->guards[0] = text_duplicate(canonical);
	pin->guards[1] = written && written[0] == '/' ? text_duplicate(written) : NULL;
	stop->supervisor->guard_count++;
}

struct guard_search {
	const struct task *self;
	const char *path;
	bool found;
};

/* The path itself, or a folder above it. */
static bool is_on_the_way(const char *name, const char *path)
{
	size_t length = strlen(name);
	return path && strncmp(name, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static void compare_guard(struct task *task, void *data)
{
	struct guard_search *search = data;
	if (task == search->self || search->found)
		return;
	search->found = is_on_the_way(search->path, task->pin.guards[0]) || is_on_the_way(search->path, task->pin.guards[1]);
}

bool pin_is_guarded(struct stop *stop, const char *path)
{
	struct guard_search search = { .self = stop->task, .path = path };
	if (stop->supervisor->guard_count > 0)
		tasks_each(stop->supervisor->tasks, compare_guard, &search);
	return search.found;
}

void pin_release(struct supervisor *supervisor, struct task *task)
{
	supervisor->guard_count -= task->pin.guards[0] != NULL;
	for (size_t i = 0; i < 2; i++) {
		free(task->pin.guards[i]);
		task->pin.guards[i] = NULL;
	}
	if (task->pin.active && task->pin.slot != PAGE_SLOT_NONE)
		page_slot_return(supervisor->page, task->pin.slot);
	task->pin.active = false;
	task->pin.slot = PAGE_SLOT_NONE;
}

/* An open was answered EACCES: would the file's mode alone have let the thread in? Then Landlock did not. */
static bool refused_by_landlock(struct supervisor *supervisor, struct task *task)
{
	const struct open_how *how = page_slot_bytes(supervisor->page, task->pin.slot);
	const char *path = (const char *)(how + 1);
	int mode = (how->flags & O_ACCMODE) != O_WRONLY ? R_OK : 0;
	if ((how->flags & O_ACCMODE) != O_RDONLY || how->flags & O_TRUNC)
		mode |= W_OK;
	return identity_assume(supervisor, task) == 0 && faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

static bool must_repeat(struct supervisor *supervisor, struct task *task, long result)
{
	const struct task_pin *pin = &task->pin;
	if (result == -EACCES)
		return pin->repeat_refused && refused_by_landlock(supervisor, task);
	return pin->repeats < pin->repeat_most && (result == -ELOOP || (result == -ENOENT && pin->repeat_missing));
}

/* By now the descriptor is there. The path is the one that was decided, out of everybody's reach. */
static void note_opened(struct supervisor *supervisor, const struct task *task, int fd)
{
	const struct open_how *how = page_slot_bytes(supervisor->page, task->pin.slot);
	evidence_opened(supervisor, task->tid, fd, (const char *)(how + 1), how->flags);
}

/* sendmmsg became one sendmsg: its result belongs into the first header, and one message was sent. */
static const long *batch_result(struct task *task, long result, long *replaced)
{
	uint32_t length = (uint32_t)result;
	if (task->pin.sent_length_at == 0 || result < 0)
		return NULL;
	int failed = memory_write(task->tid, tracee_address_of(task->pin.sent_length_at), &length, sizeof(length));
	*replaced = failed ? failed : 1;
	return replaced;
}

void pin_finish(struct supervisor *supervisor, struct task *task)
{
	struct task_pin *pin = &task->pin;
	struct registers_all registers;
	if (registers_read_all(task->tid, &registers) != 0)
		return; /* killed: its end is the next event */
	long result = registers_result(&registers), replaced;
	if (result == -EMFILE)
		limit_note_open_files(supervisor);
	if (pin->bound_inode && pin->guards[0] && result == 0)
		socket_has_file(supervisor, pin->bound_inode, pin->guards[0]);
	if (pin->opens && result >= 0)
		note_opened(supervisor, task, (int)result);
	unsigned repeats = 0;
	bool refused = false;
	if (must_repeat(supervisor, task, result)) {
		repeats = pin->repeats + 1;
		refused = result == -EACCES;
		registers_rewind(&registers, &pin->saved);
	} else {
		registers_put_back(&registers, &pin->saved, batch_result(task, result, &replaced));
	}
	if (registers_write_all(task->tid, &registers) != 0)
		return;
	pin_release(supervisor, task);
	pin->repeats = repeats;
	pin->refused = refused;
	control_resume(task->tid, 0);
}
