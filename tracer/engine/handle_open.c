/* open, creat, openat, openat2. */
#include "engine/handlers.h"

#include "base/text.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct open_request {
	uint64_t flags;
	uint64_t resolve; /* openat2 only */
};

static const struct { uint64_t bits; const char *name; } flag_names[] = {
	{ O_TMPFILE, "O_TMPFILE" }, { O_CREAT, "O_CREAT" }, { O_EXCL, "O_EXCL" }, { O_TRUNC, "O_TRUNC" }, { O_APPEND, "O_APPEND" },
	{ O_DIRECTORY, "O_DIRECTORY" }, { O_NOFOLLOW, "O_NOFOLLOW" }, { O_PATH, "O_PATH" }, { O_NONBLOCK, "O_NONBLOCK" },
	{ O_CLOEXEC, "O_CLOEXEC" },
};

static void flags_text(uint64_t flags, char *text, size_t capacity)
{
	static const char *const modes[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };
	size_t length = (size_t)snprintf(text, capacity, "%s", modes[flags & O_ACCMODE]);
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++) {
		if ((flags & flag_names[i].bits) != flag_names[i].bits || length >= capacity)
			continue;
		length += (size_t)snprintf(text + length, capacity - length, "|%s", flag_names[i].name);
		flags &= ~flag_names[i].bits;
	}
}

static unsigned access_of(uint64_t flags)
{
	if (flags & O_PATH)
		return ACCESS_STAT;
	unsigned access = 0;
	switch (flags & O_ACCMODE) {
	case O_RDONLY: access = ACCESS_READ; break;
	case O_WRONLY: access = ACCESS_WRITE; break;
	default: access = ACCESS_READ | ACCESS_WRITE; break; /* 3 asks for both and gives only ioctl */
	}
	if (flags & O_TRUNC || (flags & O_TMPFILE) == O_TMPFILE)
		access |= ACCESS_WRITE;
	return access;
}

/* A descriptor that the thread's process holds may be opened again through /proc with no more access than it has: the
 * decision about it was made when it was first opened. */
static bool held_with_access(const struct subject *subject, unsigned access)
{
	const struct resolved *resolved = &subject->resolved;
	int flags;
	if (!resolved->holder || resolved->descriptor < 0 || proc_read_fd_flags(resolved->holder, resolved->descriptor, &flags) != 0)
		return false;
	if (flags & O_PATH)
		return false; /* gives no access of its own: the object decides */
	int mode = flags & O_ACCMODE;
	bool reads = mode == O_RDONLY || mode == O_RDWR, writes = mode == O_WRONLY || mode == O_RDWR;
	return (!(access & ACCESS_READ) || reads) && (!(access & ACCESS_WRITE) || writes);
}

/* The magic links of another process of the tree are judged by the object alone: what it holds it was allowed, not we. */
static bool reopens_own_descriptor(struct stop *stop, const struct subject *subject, unsigned access)
{
	const struct resolved *resolved = &subject->resolved;
	if (!resolved->by_descriptor || !resolved->holder)
		return false;
	struct task *holder = tasks_find(stop->supervisor->tasks, resolved->holder);
	return holder && holder->process == stop->task->process && held_with_access(subject, access);
}

static struct resume refuse_terminal(struct stop *stop, struct subject *subject)
{
	return report_refused_quietly(stop, &subject->operation, ENXIO, "no controlling terminal for this run; list /dev/tty to allow it");
}

static bool is_unlisted_terminal(struct stop *stop, const struct subject *subject, unsigned access)
{
	return strcmp(subject->resolved.path, "/dev/tty") == 0 && !subject->resolved.by_descriptor &&
	       subject_decide(stop, subject, access).kind == DECISION_DENY;
}

/* Nothing is there: creating needs write, everything else gets the kernel's own answer. */
static struct resume open_missing(struct stop *stop, struct subject *subject, uint64_t flags, unsigned access)
{
	struct resume resume;
	bool creates = (flags & O_CREAT) && subject->resolved.parent_exists && !(flags & O_PATH);
	if (!creates)
		return subject_walk_error(stop, subject, access);
	if (subject->resolved.trailing_slash)
		return resume_answer(-EISDIR);
	return subject_allowed(stop, subject, access | ACCESS_WRITE, &resume) ? resume_run() : resume;
}

static struct resume open_existing(struct stop *stop, struct subject *subject, uint64_t flags, unsigned access)
{
	struct resume resume;
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) && !(flags & O_PATH) && (flags & O_TMPFILE) != O_TMPFILE) {
		report_allowed(stop, &subject->operation, EEXIST);
		return resume_answer(-EEXIST);
	}
	if (reopens_own_descriptor(stop, subject, access)) {
		subject->operation.access = access;
		report_allowed(stop, &subject->operation, 0);
		return resume_run();
	}
	if (is_unlisted_terminal(stop, subject, access)) {
		subject->operation.access = access;
		return refuse_terminal(stop, subject);
	}
	return subject_allowed(stop, subject, access, &resume) ? resume_run() : resume;
}

static struct resume decide_open(struct stop *stop, const struct open_request *request)
{
	struct subject subject;
	char flags[160];
	bool exclusive = (request->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	bool no_follow = request->flags & O_NOFOLLOW || exclusive || request->resolve & RESOLVE_NO_SYMLINKS;
	int failed = subject_read(stop, stop->row->roles.dirfd, stop->row->roles.path, no_follow ? RESOLVE_LINK : 0, &subject);
	if (failed == -ESRCH)
		return resume_nothing();
	if (failed)
		return resume_answer(failed);

	unsigned access = access_of(request->flags);
	flags_text(request->flags, flags, sizeof(flags));
	subject.operation.flags = flags;
	if (subject.resolved.error && !subject.resolved.objected)
		return open_missing(stop, &subject, request->flags, access);
	return open_existing(stop, &subject, request->flags, access);
}

struct resume handle_open(struct stop *stop)
{
	struct open_request request = { .flags = (unsigned)stop_int(stop, stop->row->roles.flags) };
	if (!stop->row->roles.flags)
		request.flags = O_CREAT | O_WRONLY | O_TRUNC; /* creat */
	return decide_open(stop, &request);
}

struct resume handle_openat2(struct stop *stop)
{
	enum { HOW_ARGUMENT = 2, SIZE_ARGUMENT = 3 };
	struct open_how how;
	uint64_t size = stop->call.args[SIZE_ARGUMENT];
	if (size < sizeof(how))
		return resume_answer(-EINVAL);
	if (size > sizeof(how))
		return resume_answer(-E2BIG); /* a later kernel's struct: programs fall back to the size they know works */
	int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[HOW_ARGUMENT]), &how, sizeof(how));
	if (failed)
		return failed == -ESRCH ? resume_nothing() : resume_answer(failed);
	struct open_request request = { .flags = how.flags, .resolve = how.resolve };
	return decide_open(stop, &request);
}
