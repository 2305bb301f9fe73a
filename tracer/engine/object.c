#include "engine/object.h"

#include "base/text.h"
#include "engine/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void object_release(struct object *object)
{
	if (object->fd >= 0)
		close(object->fd);
}

static bool answered(int failed, struct resume *resume)
{
	*resume = resume_failed(failed);
	return false;
}

static bool hold(struct object *object, int fd, struct resume *resume)
{
	struct stat status;
	if (fd < 0)
		return answered(fd, resume);
	object->fd = fd;
	if (fstat(fd, &status) != 0)
		return answered(-errno, resume);
	object->is_link = S_ISLNK(status.st_mode);
	own_descriptor_path(fd, object->path);
	return true;
}

static bool is_nameless(const struct object *object)
{
	return object->subject.resolved.unnamed || object->subject.resolved.deleted;
}

/* A name that was a magic link is looked up once more from what we hold, so that decision and use mean one object. */
static bool decide_held(struct stop *stop, struct object *object, unsigned access, struct resume *resume)
{
	resolve_held(object->fd, &object->subject.resolved);
	if (object->subject.resolved.error)
		return answered(-object->subject.resolved.error, resume);
	return is_nameless(object) || subject_allowed(stop, &object->subject, access, resume);
}

bool object_by_descriptor(struct stop *stop, int descriptor, unsigned access, struct object *object, struct resume *resume)
{
	int flags;
	object->fd = -1;
	subject_begin(&object->subject);
	int failed = proc_read_fd_flags(stop->task->tid, descriptor, &flags);
	if (!failed && (flags & O_PATH))
		failed = -EBADF;
	if (failed)
		return answered(failed, resume);
	snprintf(object->subject.given, sizeof(object->subject.given), "/proc/self/fd/%d", descriptor);
	return hold(object, held_take(stop->task->tid, descriptor, 0), resume) && decide_held(stop, object, access, resume);
}

bool object_by_name(struct stop *stop, unsigned dirfd_role, unsigned path_role, unsigned flags, unsigned access,
		    struct object *object, struct resume *resume)
{
	struct subject *subject = &object->subject;
	object->fd = -1;
	int failed = subject_read(stop, dirfd_role, path_role, flags, subject);
	if (failed)
		return answered(failed, resume);
	const struct resolved *resolved = &subject->resolved;
	if (resolved->error && !resolved->objected) {
		*resume = subject_walk_error(stop, subject, access);
		return false;
	}
	if (resolved->by_descriptor && resolved->holder && !resolved->objected)
		return hold(object, held_take(resolved->holder, resolved->descriptor, 0), resume) &&
		       decide_held(stop, object, access, resume);
	return subject_allowed(stop, subject, access, resume) &&
	       hold(object, resolve_open(resolved->path, flags & RESOLVE_LINK), resume);
}

int object_any_path(const struct object *object, char path[static PATH_MAX], int *folder)
{
	*folder = -1;
	if (!object->is_link) {
		text_copy(path, PATH_MAX, object->path);
		return 0;
	}
	char parent[PATH_MAX];
	const char *name;
	resolve_split(object->subject.resolved.path, parent, &name);
	*folder = resolve_open(parent, false);
	if (*folder < 0)
		return *folder;
	int length = snprintf(path, PATH_MAX, "/proc/self/fd/%d/%s", *folder, name);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}
