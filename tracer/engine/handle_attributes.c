/* Calls that change metadata: decided, then done by the supervisor on an object that it holds (see handle_names.c).
 *
 * Those by descriptor too: fchmod, fchown, futimens and fsetxattr succeed on a descriptor that was opened only for
 * reading, so that "read" alone would let a program change what it may only read. */
#include "engine/object.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/held.h"
#include "engine/limits.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static bool bad_flags(const struct stop *stop, struct resume *resume)
{
	*resume = resume_answer(-EINVAL);
	return (stop_int(stop, stop->row->roles.flags) & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0;
}

static bool named(struct stop *stop, bool never_follows, struct object *object, struct resume *resume)
{
	const struct syscall_roles *roles = &stop->row->roles;
	return object_by_name(stop, roles->dirfd, roles->path, subject_flags(stop, never_follows), ACCESS_WRITE, object, resume);
}

static bool described(struct stop *stop, struct object *object, struct resume *resume)
{
	return object_by_descriptor(stop, stop_int(stop, stop->row->roles.fd), ACCESS_WRITE, object, resume);
}

/* ---- mode and owner ----------------------------------------------------------------------------------------------- */

static struct resume change_mode(struct stop *stop, const struct object *object)
{
	if (object->is_link)
		return resume_answer(-EOPNOTSUPP);
	return resume_result(chmod(object->path, (mode_t)stop_int(stop, stop->row->roles.mode)));
}

struct resume handle_chmod(struct stop *stop)
{
	struct resume resume;
	if (bad_flags(stop, &resume))
		return resume;
	auto_object struct object object = { .fd = -1 };
	return named(stop, false, &object, &resume) ? change_mode(stop, &object) : resume;
}

struct resume handle_fchmod(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	return described(stop, &object, &resume) ? change_mode(stop, &object) : resume;
}

/* uid and gid are the two arguments behind the name. */
static struct resume change_owner(struct stop *stop, unsigned first, const struct object *object)
{
	uid_t uid = (uid_t)stop->call.args[first];
	gid_t gid = (gid_t)stop->call.args[first + 1];
	return resume_result(fchownat(object->fd, "", uid, gid, AT_EMPTY_PATH));
}

struct resume handle_chown(struct stop *stop)
{
	struct resume resume;
	if (bad_flags(stop, &resume))
		return resume;
	auto_object struct object object = { .fd = -1 };
	bool never_follows = strcmp(stop->row->name, "lchown") == 0;
	return named(stop, never_follows, &object, &resume) ? change_owner(stop, stop->row->roles.path, &object) : resume;
}

struct resume handle_fchown(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	return described(stop, &object, &resume) ? change_owner(stop, stop->row->roles.fd, &object) : resume;
}

/* ---- times -------------------------------------------------------------------------------------------------------- */

static void from_microseconds(const struct timeval times[2], struct timespec result[2])
{
	for (int i = 0; i < 2; i++)
		result[i] = (struct timespec){ .tv_sec = times[i].tv_sec, .tv_nsec = times[i].tv_usec * 1000 };
}

/* Reads the times in the call's own format. 0, 1 where the pointer is null ("now"), -errno. */
static int read_times(struct stop *stop, unsigned argument, struct timespec times[2])
{
	tracee_address address = tracee_address_of(stop->call.args[argument]);
	if (address.value == 0)
		return 1;
	if (strcmp(stop->row->name, "utimensat") == 0)
		return memory_read(stop->task->tid, address, times, 2 * sizeof(times[0]));
	if (strcmp(stop->row->name, "utime") == 0) {
		struct utimbuf seconds;
		int failed = memory_read(stop->task->tid, address, &seconds, sizeof(seconds));
		times[0] = (struct timespec){ .tv_sec = seconds.actime };
		times[1] = (struct timespec){ .tv_sec = seconds.modtime };
		return failed;
	}
	struct timeval micro[2];
	int failed = memory_read(stop->task->tid, address, micro, sizeof(micro));
	if (failed)
		return failed;
	for (int i = 0; i < 2; i++)
		if (micro[i].tv_usec < 0 || micro[i].tv_usec >= 1000000)
			return -EINVAL;
	from_microseconds(micro, times);
	return 0;
}

struct resume handle_utime(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct timespec times[2];
	struct resume resume;
	int now = read_times(stop, roles->path, times);
	if (now < 0)
		return resume_failed(now);
	if (bad_flags(stop, &resume))
		return resume;

	auto_object struct object object = { .fd = -1 };
	bool by_descriptor = stop_argument(stop, roles->path) == 0 && roles->dirfd && stop_int(stop, roles->dirfd) != AT_FDCWD;
	bool held = by_descriptor ? object_by_descriptor(stop, stop_int(stop, roles->dirfd), ACCESS_WRITE, &object, &resume)
				  : named(stop, false, &object, &resume);
	if (!held)
		return resume;
	if (!object.is_link)
		return resume_result(utimensat(AT_FDCWD, object.path, now ? NULL : times, 0));
	char path[PATH_MAX];
	auto_fd int folder = -1;
	int failed = object_any_path(&object, path, &folder);
	return failed ? resume_answer(failed) : resume_result(utimensat(AT_FDCWD, path, now ? NULL : times, AT_SYMLINK_NOFOLLOW));
}

/* ---- size --------------------------------------------------------------------------------------------------------- */

/* The limit is the target's, not ours: over it the kernel sends SIGXFSZ and answers EFBIG. */
static bool exceeds_file_size_limit(const struct stop *stop, off_t length)
{
	struct rlimit limit;
	if (prlimit(stop->task->tid, RLIMIT_FSIZE, NULL, &limit) != 0)
		return true;
	return limit.rlim_cur != RLIM_INFINITY && (rlim_t)length > limit.rlim_cur;
}

/* A lease that somebody in the tree holds on the file would keep us in the kernel for as long as 45 seconds, and with us the
 * one who has to give it up: we come back after a moment, and the caller may try again. */
static int truncate_soon(const char *path, off_t length)
{
	enum { MOST_MS = 50 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 }; /* its handler does nothing */
	const struct itimerspec again = { { .tv_nsec = MOST_MS * 1000000L }, { .tv_nsec = MOST_MS * 1000000L } };
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return -errno;
	int result = timer_settime(timer, 0, &again, NULL) == 0 && truncate(path, length) == 0 ? 0 : -errno;
	timer_delete(timer);
	return result == -EINTR ? -EAGAIN : result;
}

struct resume handle_truncate(struct stop *stop)
{
	off_t length = (off_t)stop->call.args[1];
	if (length < 0)
		return resume_answer(-EINVAL);
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	if (!named(stop, false, &object, &resume))
		return resume;
	struct stat status;
	bool grows = fstat(object.fd, &status) == 0 && S_ISREG(status.st_mode) && length > status.st_size;
	if (grows && exceeds_file_size_limit(stop, length)) {
		syscall(SYS_tgkill, stop->task->process->tgid, stop->task->tid, SIGXFSZ);
		return resume_answer(-EFBIG);
	}
	return resume_answer(truncate_soon(object.path, length));
}

/* What a fallocate would do to a regular file. Holes and moved blocks are not new ones. */
struct growth {
	uint64_t size;  /* how large the file would be, or its blocks would reach */
	uint64_t bytes; /* of room that it takes at the least */
};

static bool read_growth(const struct stop *stop, const struct stat *status, struct growth *growth)
{
	uint32_t mode = (uint32_t)stop->call.args[1];
	int64_t offset = (int64_t)stop->call.args[2], length = (int64_t)stop->call.args[3], end;
	uint64_t own = (uint64_t)status->st_blocks * 512;
	if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE)) || offset < 0 || length <= 0)
		return false;
	bool insert = mode & FALLOC_FL_INSERT_RANGE;
	if (__builtin_add_overflow(insert ? status->st_size : offset, length, &end))
		return false; /* EFBIG by the kernel */
	growth->size = (uint64_t)end;
	growth->bytes = insert || (uint64_t)length <= own ? 0 : (uint64_t)length - own;
	return true;
}

/* The kernel holds fallocate to RLIMIT_FSIZE only where it moves the end of the file: with FALLOC_FL_KEEP_SIZE it gives out the
 * whole disk behind it. So what is too much never gets there, whatever the number means by then: the answer is ours. */
struct resume handle_fallocate(struct stop *stop)
{
	struct stat status;
	struct growth growth;
	struct resume resume;
	char path[PATH_MAX];
	bool deleted;
	const struct supervisor *supervisor = stop->supervisor;
	auto_fd int file = held_take(stop->task->tid, stop_int(stop, stop->row->roles.fd), 0);
	if (file < 0 || fstat(file, &status) != 0)
		return resume_failed(file < 0 ? file : -errno);
	if (!read_growth(stop, &status, &growth))
		return resume_run();
	int flags, descriptor = stop_int(stop, stop->row->roles.fd);
	bool regular = S_ISREG(status.st_mode);
	if (growth.size > limit_value(supervisor->policy, LIMIT_FILE_SIZE)) {
		if (!regular)
			return resume_answer(S_ISFIFO(status.st_mode) ? -ESPIPE : -ENODEV);
		if (proc_read_fd_flags(stop->task->tid, descriptor, &flags) != 0 || (flags & O_ACCMODE) == O_RDONLY)
			return resume_answer(-EBADF);
		syscall(SYS_tgkill, stop->task->process->tgid, stop->task->tid, SIGXFSZ);
		return resume_answer(-EFBIG);
	}
	const char *folder = supervisor->plan->variables->workspace;
	bool inside = folder && held_path(file, path, &deleted) == 0 && strncmp(path, folder, strlen(folder)) == 0;
	return inside && regular && limit_stops_growth(stop, growth.bytes, &resume) ? resume : resume_run();
}

/* ---- extended attributes ------------------------------------------------------------------------------------------ */

struct attribute {
	char name[XATTR_NAME_MAX + 1];
	void *value;  /* owned */
	size_t size;
	int flags;
};

/* Where a call keeps name, value, size and flags. */
struct attribute_arguments {
	unsigned name;
	bool in_struct; /* setxattrat: value, size and flags lie in struct xattr_args */
};

static int read_attribute_name(struct stop *stop, unsigned argument, struct attribute *attribute)
{
	tracee_address address = tracee_address_of(stop->call.args[argument]);
	ssize_t length = memory_read_string(stop->task->tid, address, attribute->name, sizeof(attribute->name));
	if (length == -ENAMETOOLONG || length == 0)
		return -ERANGE;
	return length < 0 ? (int)length : 0;
}

static int read_attribute_value(struct stop *stop, uint64_t address, struct attribute *attribute)
{
	if (attribute->size > XATTR_SIZE_MAX)
		return -E2BIG;
	attribute->value = memory_zeroed(attribute->size + 1, 1);
	return memory_read(stop->task->tid, tracee_address_of(address), attribute->value, attribute->size);
}

static int read_attribute(struct stop *stop, struct attribute_arguments where, struct attribute *attribute)
{
	const uint64_t *args = stop->call.args;
	int failed = read_attribute_name(stop, where.name, attribute);
	if (failed)
		return failed;
	if (!where.in_struct) {
		attribute->size = args[where.name + 2];
		attribute->flags = (int)args[where.name + 3];
		return read_attribute_value(stop, args[where.name + 1], attribute);
	}
	struct { uint64_t value; uint32_t size, flags; } packed; /* struct xattr_args, Linux 6.13 */
	if (args[where.name + 2] != sizeof(packed))
		return args[where.name + 2] < sizeof(packed) ? -EINVAL : -E2BIG;
	failed = memory_read(stop->task->tid, tracee_address_of(args[where.name + 1]), &packed, sizeof(packed));
	if (failed)
		return failed;
	attribute->size = packed.size;
	attribute->flags = (int)packed.flags;
	return read_attribute_value(stop, packed.value, attribute);
}

static struct resume set_attribute(struct stop *stop, struct attribute_arguments where, const struct object *object)
{
	struct attribute attribute = { .value = NULL };
	char path[PATH_MAX];
	auto_fd int folder = -1;
	int failed = read_attribute(stop, where, &attribute);
	if (!failed)
		failed = object_any_path(object, path, &folder);
	struct resume resume = resume_answer(failed);
	if (failed == -ESRCH)
		resume = resume_nothing();
	else if (!failed && object->is_link)
		resume = resume_result(lsetxattr(path, attribute.name, attribute.value, attribute.size, attribute.flags));
	else if (!failed)
		resume = resume_result(setxattr(path, attribute.name, attribute.value, attribute.size, attribute.flags));
	free(attribute.value);
	return resume;
}

static struct resume remove_attribute(struct stop *stop, unsigned name, const struct object *object)
{
	struct attribute attribute = { .value = NULL };
	char path[PATH_MAX];
	auto_fd int folder = -1;
	int failed = read_attribute_name(stop, name, &attribute);
	if (!failed)
		failed = object_any_path(object, path, &folder);
	if (failed)
		return resume_failed(failed);
	return resume_result(object->is_link ? lremovexattr(path, attribute.name) : removexattr(path, attribute.name));
}

static bool is_link_call(const struct stop *stop)
{
	return stop->row->name[0] == 'l';
}

/* In setxattrat and removexattrat the attribute's name stands behind dirfd, path and flags. */
static unsigned attribute_name_argument(const struct stop *stop)
{
	return stop->row->roles.flags ? stop->row->roles.flags : stop->row->roles.path + stop->row->roles.fd;
}

struct resume handle_setxattr(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	struct attribute_arguments where = { attribute_name_argument(stop), stop->row->roles.flags != 0 };
	return named(stop, is_link_call(stop), &object, &resume) ? set_attribute(stop, where, &object) : resume;
}

struct resume handle_fsetxattr(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	struct attribute_arguments where = { attribute_name_argument(stop), false };
	return described(stop, &object, &resume) ? set_attribute(stop, where, &object) : resume;
}

struct resume handle_removexattr(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	return named(stop, is_link_call(stop), &object, &resume) ? remove_attribute(stop, attribute_name_argument(stop), &object)
								 : resume;
}

struct resume handle_fremovexattr(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	return described(stop, &object, &resume) ? remove_attribute(stop, attribute_name_argument(stop), &object) : resume;
}

/* file_setattr(dirfd, path, attributes, size, flags), Linux 6.17: inode flags and project id. */
struct resume handle_file_setattr(struct stop *stop)
{
	enum { ATTRIBUTES = 2, SIZE = 3, SIZE_MAX_BYTES = 4096 };
	char attributes[SIZE_MAX_BYTES];
	struct resume resume;
	size_t size = stop->call.args[SIZE];
	if (bad_flags(stop, &resume))
		return resume;
	if (size > sizeof(attributes))
		return resume_answer(-E2BIG);
	int failed = memory_read(stop->task->tid, tracee_address_of(stop->call.args[ATTRIBUTES]), attributes, size);
	if (failed)
		return resume_failed(failed);
	auto_object struct object object = { .fd = -1 };
	if (!named(stop, false, &object, &resume))
		return resume;
	char path[PATH_MAX];
	auto_fd int folder = -1;
	failed = object_any_path(&object, path, &folder);
	if (failed)
		return resume_answer(failed);
	return resume_result(syscall(stop->row->number, AT_FDCWD, path, attributes, size, object.is_link ? AT_SYMLINK_NOFOLLOW : 0));
}
