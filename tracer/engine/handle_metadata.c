/* Calls that only read metadata by name. They stop under "stat": "listed" or with a hide list, and are then done by the
 * supervisor on an object that it holds, the result written back: a second look-up by the thread could see another name. */
#include "engine/object.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/held.h"
#include "engine/pin.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct resume write_back(struct stop *stop, unsigned argument, const void *bytes, size_t length, long result)
{
	int failed = memory_write(stop->task->tid, tracee_address_of(stop->call.args[argument]), bytes, length);
	if (failed)
		return resume_failed(failed);
	return resume_answer(result);
}

static bool never_follows(const struct stop *stop)
{
	return stop->row->name[0] == 'l' && strcmp(stop->row->name, "listxattr") != 0 && strcmp(stop->row->name, "listxattrat") != 0;
}

/* An empty name (or none) with AT_EMPTY_PATH names a descriptor, not an object: fstat() comes this way. */
static bool names_descriptor(struct stop *stop)
{
	char first;
	uint64_t address = stop_argument(stop, stop->row->roles.path);
	if (!(stop_int(stop, stop->row->roles.flags) & AT_EMPTY_PATH))
		return false;
	return address == 0 || (memory_read(stop->task->tid, tracee_address_of(address), &first, 1) == 0 && first == '\0');
}

/* The descriptor that such a call means is open already, and an O_PATH one was decided when it was opened: the supervisor
 * does it on the descriptor's object, so that a thread that changes the bytes of the name gains nothing. */
static bool metadata_object(struct stop *stop, struct object *object, struct resume *resume)
{
	const struct syscall_roles *roles = &stop->row->roles;
	if (!names_descriptor(stop))
		return object_by_name(stop, roles->dirfd, roles->path, subject_flags(stop, never_follows(stop)), ACCESS_STAT, object, resume);
	object->fd = held_take(stop->task->tid, stop_int(stop, roles->dirfd), 0);
	if (object->fd < 0) {
		*resume = resume_failed(object->fd);
		return false;
	}
	resolve_held(object->fd, &object->subject.resolved);
	own_descriptor_path(object->fd, object->path);
	return true;
}

struct resume handle_stat(struct stop *stop)
{
	struct resume resume;
	struct stat status;
	auto_object struct object object = { .fd = -1 };
	if (!metadata_object(stop, &object, &resume))
		return resume;
	if (fstat(object.fd, &status) != 0)
		return resume_answer(-errno);
	return write_back(stop, stop->row->roles.path, &status, sizeof(status), 0);
}

struct resume handle_statx(struct stop *stop)
{
	enum { MASK = 3, RESULT = 4 };
	struct resume resume;
	struct statx status;
	auto_object struct object object = { .fd = -1 };
	int flags = stop_int(stop, stop->row->roles.flags) & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	if (!metadata_object(stop, &object, &resume))
		return resume;
	if (syscall(SYS_statx, object.fd, "", flags | AT_EMPTY_PATH, (unsigned)stop->call.args[MASK], &status) != 0)
		return resume_answer(-errno);
	return write_back(stop, RESULT, &status, sizeof(status), 0);
}

/* access() asks for the real uid, and a target never has another than its effective one (no_new_privs); as root it may. */
struct resume handle_access(struct stop *stop)
{
	struct resume resume;
	auto_object struct object object = { .fd = -1 };
	int mode = stop_int(stop, stop->row->roles.mode);
	if (mode & ~(R_OK | W_OK | X_OK))
		return resume_answer(-EINVAL);
	if (!metadata_object(stop, &object, &resume))
		return resume;
	if (object.is_link || mode == F_OK)
		return resume_answer(0);
	return resume_answer(faccessat(AT_FDCWD, object.path, mode, AT_EACCESS) == 0 ? 0 : -errno);
}

struct resume handle_readlink(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct resume resume;
	char target[PATH_MAX];
	auto_object struct object object = { .fd = -1 };
	size_t capacity = (uint32_t)stop->call.args[roles->path + 1];
	if ((int)capacity <= 0)
		return resume_answer(-EINVAL);
	if (!object_by_name(stop, roles->dirfd, roles->path, RESOLVE_LINK | (roles->dirfd ? RESOLVE_EMPTY : 0), ACCESS_STAT, &object,
			    &resume))
		return resume;
	/* What a link of /proc says depends on who reads it; these two mean the caller. */
	ssize_t length = -1;
	const char *path = object.subject.resolved.path;
	if (strcmp(path, "/proc/self") == 0)
		length = snprintf(target, sizeof(target), "%d", stop->task->process->tgid);
	else if (strcmp(path, "/proc/thread-self") == 0)
		length = snprintf(target, sizeof(target), "%d/task/%d", stop->task->process->tgid, stop->task->tid);
	else
		length = readlinkat(object.fd, "", target, sizeof(target));
	if (length < 0)
		return resume_answer(errno == ENOENT ? -EINVAL : -errno);
	size_t given = (size_t)length < capacity ? (size_t)length : capacity;
	return write_back(stop, roles->path, target, given, (long)given);
}

struct resume handle_statfs(struct stop *stop)
{
	struct resume resume;
	struct statfs status;
	auto_object struct object object = { .fd = -1 };
	if (!metadata_object(stop, &object, &resume))
		return resume;
	if (fstatfs(object.fd, &status) != 0)
		return resume_answer(-errno);
	return write_back(stop, stop->row->roles.path, &status, sizeof(status), 0);
}

/* ---- extended attributes ------------------------------------------------------------------------------------------ */

/* Where a call wants the value: getxattrat keeps address and size in a struct (Linux 6.13). */
static int value_buffer(struct stop *stop, unsigned name_argument, tracee_address *buffer, size_t *size)
{
	const uint64_t *args = stop->call.args;
	struct { uint64_t value; uint32_t size, flags; } packed = { args[name_argument + 1], 0, 0 };
	*size = args[name_argument + 2];
	if (stop->row->roles.flags) {
		if (*size < sizeof(packed))
			return -EINVAL;
		if (*size > sizeof(packed))
			return -E2BIG;
		int failed = memory_read(stop->task->tid, tracee_address_of(args[name_argument + 1]), &packed, sizeof(packed));
		if (failed)
			return failed;
		if (packed.flags)
			return -EINVAL;
		*size = packed.size;
	}
	*buffer = tracee_address_of(packed.value);
	if (*size > XATTR_SIZE_MAX)
		*size = XATTR_SIZE_MAX;
	return 0;
}

static struct resume read_attribute(struct stop *stop, const struct object *object, const char *name, tracee_address buffer, size_t size)
{
	char path[PATH_MAX];
	auto_fd int folder = -1;
	int failed = object_any_path(object, path, &folder);
	if (failed)
		return resume_answer(failed);
	auto_free char *value = memory_zeroed(size + 1, 1);
	ssize_t length = object->is_link ? lgetxattr(path, name, value, size) : getxattr(path, name, value, size);
	if (length < 0)
		return resume_answer(-errno);
	failed = size ? memory_write(stop->task->tid, buffer, value, (size_t)length) : 0;
	return failed == -ESRCH ? resume_nothing() : resume_answer(failed ? failed : length);
}

struct resume handle_getxattr(struct stop *stop)
{
	const unsigned name_argument = stop->row->roles.flags ? 3 : stop->row->roles.path;
	struct resume resume;
	tracee_address buffer;
	size_t size;
	char name[XATTR_NAME_MAX + 1];
	ssize_t length = memory_read_string(stop->task->tid, tracee_address_of(stop->call.args[name_argument]), name, sizeof(name));
	if (length <= 0)
		return length == -ESRCH ? resume_nothing() : resume_answer(length == -EFAULT ? -EFAULT : -ERANGE);
	int failed = value_buffer(stop, name_argument, &buffer, &size);
	if (failed)
		return resume_failed(failed);
	auto_object struct object object = { .fd = -1 };
	return metadata_object(stop, &object, &resume) ? read_attribute(stop, &object, name, buffer, size) : resume;
}

struct resume handle_listxattr(struct stop *stop)
{
	const unsigned list_argument = stop->row->roles.flags ? 3 : stop->row->roles.path, size_argument = list_argument + 1;
	struct resume resume;
	char path[PATH_MAX];
	auto_object struct object object = { .fd = -1 };
	auto_fd int folder = -1;
	if (!metadata_object(stop, &object, &resume))
		return resume;
	int failed = object_any_path(&object, path, &folder);
	if (failed)
		return resume_answer(failed);
	size_t size = stop->call.args[size_argument] > XATTR_LIST_MAX ? XATTR_LIST_MAX : stop->call.args[size_argument];
	auto_free char *list = memory_zeroed(size + 1, 1);
	ssize_t length = object.is_link ? llistxattr(path, list, size) : listxattr(path, list, size);
	if (length < 0)
		return resume_answer(-errno);
	return size == 0 ? resume_answer(length) : write_back(stop, list_argument, list, (size_t)length, length);
}

struct resume handle_file_getattr(struct stop *stop)
{
	enum { ATTRIBUTES = 2, SIZE = 3, SIZE_MAX_BYTES = 4096 };
	char attributes[SIZE_MAX_BYTES];
	struct resume resume;
	size_t size = stop->call.args[SIZE];
	auto_object struct object object = { .fd = -1 };
	if (size > sizeof(attributes))
		return resume_answer(-E2BIG);
	if (!metadata_object(stop, &object, &resume))
		return resume;
	memset(attributes, 0, sizeof(attributes));
	char path[PATH_MAX];
	auto_fd int folder = -1;
	int failed = object_any_path(&object, path, &folder);
	if (failed)
		return resume_answer(failed);
	if (syscall(stop->row->number, AT_FDCWD, path, attributes, size, object.is_link ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		return resume_answer(-errno);
	return write_back(stop, ATTRIBUTES, attributes, size, 0);
}

/* ---- decided, then done by the thread ----------------------------------------------------------------------------- */

/* The watch and the current directory belong to the thread: it makes the call itself, with the canonical path. */
static struct resume decide_and_pin(struct stop *stop, unsigned flags)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct subject subject;
	struct resume resume;
	int failed = subject_read(stop, roles->dirfd, roles->path, flags, &subject);
	if (failed)
		return resume_failed(failed);
	if (subject.resolved.error && !subject.resolved.objected)
		return subject_walk_error(stop, &subject, ACCESS_STAT);
	if (!subject_allowed(stop, &subject, ACCESS_STAT, &resume))
		return resume;
	/* What lies behind a descriptor is named by its own path, not by a number that may soon mean another folder. */
	const char *path = subject.resolved.path;
	if (subject.resolved.unnamed || subject.resolved.deleted)
		return resume_answer(-ENOENT);
	resume = pin_address_argument(stop, roles->path - 1u, path, strlen(path) + 1);
	pin_guard(stop, path, NULL);
	resume.settle = true;
	return resume;
}

struct resume handle_inotify(struct stop *stop)
{
	const uint32_t do_not_follow = 0x02000000; /* IN_DONT_FOLLOW */
	return decide_and_pin(stop, (uint32_t)stop->call.args[2] & do_not_follow ? RESOLVE_LINK : 0);
}

struct resume handle_chdir(struct stop *stop)
{
	return decide_and_pin(stop, 0);
}
