/* open, creat, openat, openat2. */
#include "engine/handlers.h"

#include "base/cleanup.h"
#include "engine/evidence.h"
#include "engine/freeze.h"
#include "engine/held.h"
#include "engine/pin.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a call asked for, as openat2 would say it. */
struct open_request {
	struct open_how how;
	bool own_how; /* the program called openat2 itself: the kernel checks its flags as they are */
	bool refused; /* what was decided was refused by Landlock */
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

/* O_TMPFILE holds the bit of O_DIRECTORY. */
static bool is_unnamed_file(uint64_t flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
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
	if (flags & O_TRUNC || is_unnamed_file(flags))
		access |= ACCESS_WRITE;
	return access;
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

/* How often a call is decided again because a link appeared where there was none. With O_NOFOLLOW a link as the object is
 * ELOOP by itself. */
enum { REPEAT_MOST = 1000, REPEAT_FEW = 8 };

static struct resume open_pinned(struct stop *stop, const struct subject *subject, const struct open_request *request, bool existing)
{
	struct open_how how = request->how;
	const struct resolved *resolved = &subject->resolved;
	/* Decided as existing, perhaps without a right to create: it must not be created after all. */
	bool strip = existing && (how.flags & O_CREAT) && !is_unnamed_file(how.flags) && !request->own_how;
	if (strip) {
		how.flags &= ~(uint64_t)O_CREAT;
		how.mode = 0;
	}
	bool stays_on_link = how.flags & O_NOFOLLOW || how.resolve & RESOLVE_NO_SYMLINKS;
	/* Kept to already, by the walk that led to this path (restricted): from the root they would mean something else. */
	how.resolve &= ~(uint64_t)(RESOLVE_BENEATH | RESOLVE_IN_ROOT | RESOLVE_NO_XDEV);
	return pin_open(stop, resolved->path, resolved->trailing_slash && existing, &how, stays_on_link ? REPEAT_FEW : REPEAT_MOST, strip);
}

/* The object behind a descriptor that some process holds: opened by the supervisor from what it decided about, and delivered.
 * The magic link itself would mean whatever another thread puts under that number meanwhile. */
static struct resume open_held(struct stop *stop, const struct subject *subject, int object, const struct open_request *request)
{
	char path[32];
	struct stat status;
	bool unnamed = is_unnamed_file(request->how.flags);
	int flags = (int)request->how.flags & ~(O_CREAT | O_NOFOLLOW | O_CLOEXEC | (unnamed ? 0 : O_EXCL));
	if (PIN_CHECK_ONLY)
		return resume_run();
	if (fstat(object, &status) != 0)
		return resume_answer(-errno);
	if (S_ISSOCK(status.st_mode))
		return resume_answer(-ENXIO);
	int failed = unnamed ? names_assume_umask(stop) : 0;
	if (failed)
		return resume_failed(failed);
	own_descriptor_path(object, path);
	/* Never waiting: a FIFO, a terminal or a lease must not hang the supervisor. */
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, (mode_t)request->how.mode);
	if (fd < 0)
		return resume_answer(-errno);
	if (!(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	if (!subject->resolved.unnamed && !subject->resolved.deleted)
		evidence_delivered(stop->supervisor, fd, subject->resolved.path, request->how.flags);
	return (struct resume){ .kind = RESUME_DELIVER, .descriptor = fd,
				.descriptor_flags = request->how.flags & O_CLOEXEC ? O_CLOEXEC : 0 };
}

/* Nothing is there: creating needs write, everything else gets the kernel's own answer. */
static struct resume open_missing(struct stop *stop, struct subject *subject, const struct open_request *request, unsigned access)
{
	uint64_t flags = request->how.flags;
	struct resume resume;
	bool creates = (flags & O_CREAT) && subject->resolved.parent_exists && !(flags & O_PATH);
	if (!creates)
		return subject_walk_error(stop, subject, access);
	if (subject->resolved.trailing_slash)
		return resume_answer(-EISDIR);
	return subject_allowed(stop, subject, access | ACCESS_WRITE, &resume) ? open_pinned(stop, subject, request, false) : resume;
}

/* One snapshot of a descriptor: its flags, and which file they belong to. */
struct descriptor_facts {
	int flags;
	uint64_t inode, mount;
};

static bool read_descriptor_facts(const struct resolved *resolved, struct descriptor_facts *facts)
{
	char entry[32], text[512];
	snprintf(entry, sizeof(entry), "fdinfo/%d", resolved->descriptor);
	ssize_t length = proc_read_file(resolved->holder, entry, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	unsigned flags;
	if (sscanf(text, "pos:%*d flags:%o mnt_id:%" SCNu64 " ino:%" SCNu64, &flags, &facts->mount, &facts->inode) != 3)
		return false;
	facts->flags = (int)flags;
	return true;
}

/* A descriptor that the thread's process holds may be opened again through /proc with no more access than it has: the
 * decision about it was made when it was first opened. Which file those flags belong to is compared with what is held,
 * since another thread may have put another file under the number between the two looks (24,052 wins in 100,000 without). */
static bool held_with_access(struct stop *stop, const struct resolved *link, int object, unsigned access)
{
	struct descriptor_facts facts;
	struct statx status;
	struct task *holder = tasks_find(stop->supervisor->tasks, link->holder);
	if (!holder || holder->process != stop->task->process || !read_descriptor_facts(link, &facts) || facts.flags & O_PATH)
		return false; /* what another process of the tree holds it was allowed, not we */
	if (syscall(SYS_statx, object, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &status) != 0 ||
	    !(status.stx_mask & STATX_MNT_ID) || status.stx_ino != facts.inode || status.stx_mnt_id != facts.mount)
		return false;
	int mode = facts.flags & O_ACCMODE;
	bool reads = mode == O_RDONLY || mode == O_RDWR, writes = mode == O_WRONLY || mode == O_RDWR;
	return (!(access & ACCESS_READ) || reads) && (!(access & ACCESS_WRITE) || writes);
}

/* The thread opens the magic link itself. */
static struct resume open_link(struct stop *stop, const struct resolved *link, const struct open_request *request)
{
	char name[64];
	int length = snprintf(name, sizeof(name), "/proc/%d/fd/%d%s", link->holder, link->descriptor, link->trailing_slash ? "/" : "");
	size_t name_at = sizeof(request->how);
	if (!request->own_how)
		return pin_address_argument(stop, stop->row->roles.path - 1u, name, (size_t)length + 1);
	if (!pin_take(stop, name_at + sizeof(name)))
		return resume_answer(-ENFILE);
	memcpy(pin_bytes(stop, 0), &request->how, sizeof(request->how));
	memcpy(pin_bytes(stop, name_at), name, (size_t)length + 1);
	const uint64_t args[6] = { (uint64_t)AT_FDCWD, pin_address(stop, name_at), pin_address(stop, 0), sizeof(request->how) };
	return pin_call(stop, SYS_openat2, args);
}

/* What an interpreter opens as its script is the file that was decided at the execve, held and delivered; where an entry names
 * its hash and the run may write to it, a copy that nobody can write to any more. */
static struct resume open_script(struct stop *stop, struct subject *subject, const struct open_request *request, int object)
{
	struct resume resume;
	bool copies = script_needs_copy(stop, subject);
	auto_fd int copy = copies ? script_copy(object) : -1;
	if (copies && copy < 0)
		return resume_answer(copy);
	return script_is_bound(stop, subject, object, copy, &resume) ? open_held(stop, subject, copy >= 0 ? copy : object, request) : resume;
}

static bool is_script(struct stop *stop, const struct subject *subject, unsigned access)
{
	return script_is_awaited(stop, subject->resolved.path) && !(access & ACCESS_WRITE);
}

static bool is_fifo(int object)
{
	struct stat status;
	return fstat(object, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* A FIFO's other end may be waited for, which the supervisor cannot do in the thread's place: what the number means is held
 * still instead, until the thread's own call has got past it. */
static int take_object(struct stop *stop, const struct resolved *link, bool may_wait, bool *waits)
{
	int failed, object = held_take(link->holder, link->descriptor, 0);
	*waits = object >= 0 && may_wait && is_fifo(object);
	if (!*waits)
		return object;
	close(object);
	if ((failed = freeze_descriptors(stop, link->holder)) != 0)
		return failed;
	object = held_take(link->holder, link->descriptor, 0);
	*waits = object >= 0 && is_fifo(object);
	return object;
}

static struct resume open_descriptor(struct stop *stop, struct subject *subject, const struct open_request *request, unsigned access)
{
	struct resume resume;
	bool waits;
	const struct resolved link = subject->resolved;
	auto_fd int object = take_object(stop, &link, !(request->how.flags & (O_NONBLOCK | O_PATH)), &waits);
	if (object < 0)
		return object == -ESRCH ? resume_nothing() : resume_answer(object == -EBADF ? -ENOENT : object);
	resolve_held(object, &subject->resolved);
	subject->operation.access = access;
	/* Executed by its descriptor: its interpreter is told to open that. */
	if (is_script(stop, subject, access) && !(request->how.flags & O_PATH))
		return open_script(stop, subject, request, object);
	if (held_with_access(stop, &link, object, access))
		report_allowed(stop, &subject->operation, 0);
	else if (!subject_allowed(stop, subject, access, &resume))
		return resume;
	/* No way of handing in a descriptor takes one that gives no access. Whatever stands behind the number by then, some process
	 * of the tree holds it already, with at least this much access. */
	if (!waits && !(request->how.flags & O_PATH))
		return open_held(stop, subject, object, request);
	resume = open_link(stop, &link, request);
	resume.frozen = waits;
	return resume;
}

/* The current folder, or the one behind a directory descriptor, after it was removed: no name leads there any more. */
static struct resume open_removed(struct stop *stop, struct subject *subject, const struct open_request *request, unsigned access)
{
	struct resume resume;
	int dirfd = stop->row->roles.dirfd ? stop_int(stop, stop->row->roles.dirfd) : AT_FDCWD;
	auto_fd int object = held_take(stop->task->tid, dirfd, O_DIRECTORY);
	if (object < 0)
		return resume_failed(object);
	resolve_held(object, &subject->resolved);
	if (!subject->resolved.deleted || request->how.flags & O_PATH)
		return resume_answer(-ENOENT);
	return subject_allowed(stop, subject, access, &resume) ? open_held(stop, subject, object, request) : resume;
}

/* Allowed, and refused to the thread itself by Landlock, which knows a file by what had the name when the run began. The
 * supervisor is in no domain; opened by it with the thread's identity, the mode alone counts. */
static struct resume open_refused(struct stop *stop, const struct subject *subject, const struct open_request *request)
{
	auto_fd int object = resolve_open(subject->resolved.path, false);
	return object >= 0 ? open_held(stop, subject, object, request) : resume_answer(object);
}

/* O_CREAT on a folder is refused by the kernel, and what is pinned for an existing object has lost that flag. */
static bool creates_folder(const struct subject *subject, uint64_t flags, struct resume *resume)
{
	struct stat status;
	bool creates = flags & O_CREAT && !(flags & O_PATH) && !is_unnamed_file(flags);
	*resume = resume_answer(flags & O_DIRECTORY ? -EINVAL : -EISDIR);
	return creates && lstat(subject->resolved.path, &status) == 0 && S_ISDIR(status.st_mode);
}

static struct resume open_existing(struct stop *stop, struct subject *subject, const struct open_request *request, unsigned access)
{
	struct resume resume;
	uint64_t flags = request->how.flags;
	bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) && !(flags & O_PATH) && !is_unnamed_file(flags);
	if (exclusive && !resolved_is_hidden(stop, &subject->resolved)) {
		report_allowed(stop, &subject->operation, EEXIST);
		return resume_answer(-EEXIST);
	}
	if (subject->resolved.by_descriptor && subject->resolved.holder && !subject->resolved.objected)
		return open_descriptor(stop, subject, request, access);
	if (subject->resolved.deleted && !subject->resolved.by_descriptor && !subject->resolved.objected)
		return open_removed(stop, subject, request, access);
	if (is_unlisted_terminal(stop, subject, access)) {
		subject->operation.access = access;
		return refuse_terminal(stop, subject);
	}
	if (!subject_allowed(stop, subject, access, &resume) || creates_folder(subject, flags, &resume))
		return resume;
	if (is_script(stop, subject, access)) {
		auto_fd int object = resolve_open(subject->resolved.path, false);
		return object < 0 ? resume_answer(object) : open_script(stop, subject, request, object);
	}
	if (request->refused)
		return open_refused(stop, subject, request);
	return open_pinned(stop, subject, request, true);
}

/* openat2 with `resolve` flags of its own: the kernel itself says whether the walk keeps to them, on a descriptor that gives
 * no access. False with *resume set where it does not, or where that cannot be told. */
static bool restricted(struct stop *stop, struct subject *subject, const struct open_how *how, struct resume *resume)
{
	struct open_how look = { .flags = O_PATH | O_CLOEXEC | (how->flags & O_NOFOLLOW), .resolve = how->resolve };
	*resume = resume_answer(-ENOENT);
	if (resolved_is_hidden(stop, &subject->resolved))
		return false;
	*resume = resume_answer(-ENOSYS);
	/* Another root than the tree's: names on the way cannot be compared with deny and hide entries. Programs walk by
	 * themselves where openat2 is not there. */
	if (how->resolve & RESOLVE_IN_ROOT && stop->supervisor->names_matter)
		return false;
	/* An absolute name has no use for the descriptor, unless that is its root. */
	bool absolute = subject->given[0] == '/' && !(how->resolve & RESOLVE_IN_ROOT);
	auto_fd int base = absolute ? AT_FDCWD : held_take(stop->task->tid, stop_int(stop, stop->row->roles.dirfd), O_DIRECTORY);
	*resume = resume_answer(base);
	if (base < 0 && !absolute)
		return false;
	auto_fd int fd = (int)syscall(SYS_openat2, base, subject->given, &look, sizeof(look));
	bool missing = fd < 0 && errno == ENOENT && subject->resolved.error == ENOENT && !(how->resolve & RESOLVE_IN_ROOT);
	*resume = resume_answer(-errno);
	if (fd >= 0 && how->resolve & RESOLVE_IN_ROOT) {
		resolve_held(fd, &subject->resolved);
		subject->resolved.by_descriptor = false;
	}
	return fd >= 0 || missing;
}

/* Most opens are of what is there, through no link, and allowed: then the text alone decides, and the pinned open itself finds
 * out whether a link lies on the way (ELOOP: decided again, in full). An event needs to know what is there: not for a run that
 * writes events. True when *resume is set. */
static bool open_as_written(struct stop *stop, struct subject *subject, const struct open_request *request, struct resume *resume)
{
	const uint64_t plain = O_ACCMODE | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_DIRECTORY | O_TRUNC | 0100000;
	int dirfd = stop->row->roles.dirfd ? stop_int(stop, stop->row->roles.dirfd) : AT_FDCWD;
	if (stop->task->process->filtered)
		return false; /* its opens keep their own number, and so follow links (pin_open): they are resolved in full */
	if (stop->supervisor->plan->events_fd >= 0 || request->own_how || (request->how.flags & ~plain) || stop->task->pin.repeats ||
	    !resolve_as_written(stop->supervisor, stop->task, dirfd, subject->given, &subject->resolved))
		return false;
	unsigned access = access_of(request->how.flags);
	if (subject_decide(stop, subject, access).kind != DECISION_ALLOW || script_is_awaited(stop, subject->resolved.path))
		return false;
	*resume = pin_open(stop, subject->resolved.path, subject->resolved.trailing_slash, &request->how, REPEAT_MOST, false);
	return true;
}

/* A slash behind a name that may be created is EISDIR, whatever is there (kernel: fs/namei.c, open_last_lookups). */
static bool creates_with_slash(struct stop *stop, const struct subject *subject, uint64_t flags)
{
	struct resolved entry;
	size_t length = strlen(subject->given);
	int dirfd = stop->row->roles.dirfd ? stop_int(stop, stop->row->roles.dirfd) : AT_FDCWD;
	if (!(flags & O_CREAT) || flags & O_PATH || subject->resolved.error != ENOTDIR || length == 0 || subject->given[length - 1] != '/')
		return false;
	return resolve_path(stop->supervisor, stop->task, dirfd, subject->given, RESOLVE_NAME, &entry) == 0 && entry.error == 0;
}

static struct resume decide_open(struct stop *stop, const struct open_request *request)
{
	struct subject subject;
	struct resume resume;
	char flags[160];
	uint64_t asked = request->how.flags;
	bool exclusive = (asked & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	bool no_follow = asked & O_NOFOLLOW || exclusive;
	int failed = subject_read_name(stop, stop->row->roles.path, &subject);
	stop->task->pin.refused = false;
	/* What was decided for a folder is opened as one: the pinned flags hold O_DIRECTORY too. */
	subject.directory = asked & O_DIRECTORY && !is_unnamed_file(asked);
	if (!failed && open_as_written(stop, &subject, request, &resume))
		return resume;
	if (!failed)
		failed = subject_resolve(stop, stop->row->roles.dirfd, no_follow ? RESOLVE_LINK : 0, &subject);
	if (failed == -ESRCH)
		return resume_nothing();
	if (failed)
		return resume_answer(failed);

	unsigned access = access_of(asked);
	flags_text(asked, flags, sizeof(flags));
	subject.operation.flags = flags;
	if (request->own_how && request->how.resolve && !restricted(stop, &subject, &request->how, &resume))
		return resume;
	if (!subject.resolved.objected && creates_with_slash(stop, &subject, asked))
		return resume_answer(-EISDIR);
	if (subject.resolved.error && !subject.resolved.objected)
		return open_missing(stop, &subject, request, access);
	return open_existing(stop, &subject, request, access);
}

/* As the kernel reads open's and openat's arguments (fs/open.c, build_open_how): unknown bits are ignored, O_PATH drops all
 * but four, the mode counts only where something may be created. */
static void how_of_open(struct open_how *how, uint64_t flags, uint64_t mode)
{
	const uint64_t known = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | FASYNC |
			       O_DIRECT | 0100000 /* O_LARGEFILE as the kernel has it */ | O_DIRECTORY | O_NOFOLLOW | O_NOATIME |
			       O_CLOEXEC | O_PATH | O_TMPFILE;
	const uint64_t permissions = 07777;
	*how = (struct open_how){ .flags = flags & known };
	if (how->flags & O_PATH)
		how->flags &= O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC;
	if (how->flags & O_CREAT || is_unnamed_file(how->flags))
		how->mode = mode & permissions;
}

struct resume handle_open(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct open_request request = { .refused = stop->task->pin.refused };
	uint64_t flags = (unsigned)stop_int(stop, roles->flags);
	if (!roles->flags)
		flags = O_CREAT | O_WRONLY | O_TRUNC; /* creat */
	how_of_open(&request.how, flags, (unsigned)stop_int(stop, roles->mode));
	return decide_open(stop, &request);
}

/* A later kernel's longer struct is taken where what is new in it is zero (kernel: copy_struct_from_user). */
static int read_how(struct stop *stop, uint64_t address, uint64_t size, struct open_how *how)
{
	enum { SIZE_MAX_BYTES = 4096 };
	unsigned char bytes[SIZE_MAX_BYTES];
	if (size > sizeof(bytes))
		return -E2BIG;
	int failed = memory_read(stop->task->tid, tracee_address_of(address), bytes, size);
	if (failed)
		return failed;
	for (size_t i = sizeof(*how); i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memcpy(how, bytes, sizeof(*how));
	return 0;
}

struct resume handle_openat2(struct stop *stop)
{
	enum { HOW_ARGUMENT = 2, SIZE_ARGUMENT = 3 };
	struct open_request request = { .own_how = true, .refused = stop->task->pin.refused };
	uint64_t size = stop->call.args[SIZE_ARGUMENT];
	if (size < sizeof(request.how))
		return resume_answer(-EINVAL);
	int failed = read_how(stop, stop->call.args[HOW_ARGUMENT], size, &request.how);
	if (failed)
		return resume_failed(failed);
	return decide_open(stop, &request);
}
