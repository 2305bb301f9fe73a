#include "engine/walk.h"

#include "base/text.h"
#include "engine/held.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINK_MAX_FOLLOWED = 40, NAME_MAX_BYTES = 255, PROC_ROOT_INODE = 1 };

static bool append_component(char path[static PATH_MAX], const char *name)
{
	size_t length = strlen(path);
	if (length == 1)
		length = 0; /* the root already ends in a slash */
	size_t step = strlen(name);
	if (length + 1 + step >= PATH_MAX)
		return false;
	path[length] = '/';
	memcpy(path + length + 1, name, step + 1);
	return true;
}

void walk_fail(struct walk *walk, int number, const char *component)
{
	struct resolved *resolved = walk->resolved;
	resolved->error = number;
	memcpy(resolved->path, walk->current, sizeof(resolved->path));
	bool whole = !component || append_component(resolved->path, component);
	/* A name that does not fit is none: without its last component it would mean the folder that it is in. */
	if (!whole) {
		resolved->error = ENAMETOOLONG;
		resolved->parent_exists = false;
	}
	for (char *rest = walk->pending; whole && *rest;) {
		rest += strspn(rest, "/");
		size_t step = strcspn(rest, "/");
		char saved = rest[step];
		rest[step] = '\0';
		/* `..` behind something that cannot be walked has no meaning; the kernel fails there as well. */
		if (step && strcmp(rest, ".") != 0)
			whole = strcmp(rest, "..") != 0 && append_component(resolved->path, rest);
		rest[step] = saved;
		rest += step;
	}
}

static void walk_enter(struct walk *walk, int fd)
{
	close(walk->fd);
	walk->fd = fd;
}

static int walk_to_root(struct walk *walk)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	walk_enter(walk, fd);
	text_copy(walk->current, sizeof(walk->current), "/");
	return 0;
}

/* Looks at a name on the way with deny and hide alone. True when an entry objects. */
static bool walk_objection(struct walk *walk, const char *name, bool hide_only)
{
	struct path_request request = { .access = ACCESS_READ, .path = name, .self = walk->task->process->tgid };
	struct decision decision = decide_name(walk->supervisor->policy, &request);
	if (decision.kind == DECISION_ALLOW || (hide_only && decision.kind != DECISION_HIDE))
		return false;
	walk->resolved->objected = true;
	walk->resolved->objection = decision;
	text_copy(walk->resolved->path, sizeof(walk->resolved->path), name);
	return true;
}

/* Before a link is followed: the name as it stands now, up to the first `..` of what is left. */
static bool walk_name_is_refused(struct walk *walk, const char *component)
{
	if (!walk->supervisor->names_matter)
		return false;
	struct walk copy = { .resolved = &(struct resolved){ .error = 0 } };
	memcpy(copy.current, walk->current, sizeof(copy.current));
	memcpy(copy.pending, walk->pending, sizeof(copy.pending));
	walk_fail(&copy, 0, component);
	return walk_objection(walk, copy.resolved->path, false);
}

static bool walk_is_hidden(struct walk *walk, const char *component)
{
	if (!walk->supervisor->hides)
		return false;
	char name[PATH_MAX];
	memcpy(name, walk->current, sizeof(name));
	return append_component(name, component) && walk_objection(walk, name, true);
}

/* Replaces the link by its target in front of what is left. */
static int walk_substitute(struct walk *walk, const char *target)
{
	if (++walk->followed > LINK_MAX_FOLLOWED)
		return -ELOOP;
	char rest[WALK_PENDING_BYTES];
	memcpy(rest, walk->pending, sizeof(rest));
	int length = snprintf(walk->pending, sizeof(walk->pending), "%s%s%s", target, *rest ? "/" : "", rest);
	if (length < 0 || (size_t)length >= sizeof(walk->pending))
		return -ENAMETOOLONG;
	return target[0] == '/' ? walk_to_root(walk) : 0;
}

static bool on_proc(int fd)
{
	struct statfs status;
	return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* /proc/self and /proc/thread-self mean the caller, whoever walks. True when `target` is filled. */
static bool self_target(struct walk *walk, const char *component, char target[static 64])
{
	struct stat status;
	if (fstat(walk->fd, &status) != 0 || status.st_ino != PROC_ROOT_INODE)
		return false;
	if (strcmp(component, "self") == 0)
		snprintf(target, 64, "%d", walk->task->process->tgid);
	else if (strcmp(component, "thread-self") == 0)
		snprintf(target, 64, "%d/task/%d", walk->task->process->tgid, walk->task->tid);
	else
		return false;
	return true;
}

/* "/proc/PID/fd" or "/proc/PID/task/TID/fd": whose descriptors, 0 for another folder. */
static pid_t descriptor_folder_owner(const char *folder)
{
	int pid, tid, end = 0;
	if (sscanf(folder, "/proc/%d/fd%n", &pid, &end) == 1 && end && folder[end] == '\0')
		return pid;
	end = 0;
	if (sscanf(folder, "/proc/%d/task/%d/fd%n", &pid, &tid, &end) == 2 && end && folder[end] == '\0')
		return tid;
	return 0;
}

/* Behind the links of a process outside the tree lies what that process has: nothing that a path could be judged by. The
 * name itself, with all that follows, has to be listed. */
static bool is_outsider(struct walk *walk)
{
	int pid = 0;
	return sscanf(walk->current, "/proc/%d", &pid) == 1 && !supervisor_owns_process(walk->supervisor, pid) &&
	       !supervisor_owns_thread(walk->supervisor, pid);
}

/* Follows a link whose target is an object, not a name. `last`: nothing is left behind it. 1 when the walk is done. */
static int walk_magic(struct walk *walk, const char *component, bool last)
{
	if (is_outsider(walk)) {
		walk_fail(walk, 0, component);
		return 1;
	}
	if (++walk->followed > LINK_MAX_FOLLOWED)
		return -ELOOP;
	int fd = openat(walk->fd, component, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct stat status;
	struct resolved object = { .holder = descriptor_folder_owner(walk->current), .descriptor = -1 };
	if (object.holder)
		object.descriptor = atoi(component);
	int failed = fstat(fd, &status) != 0 ? -errno : held_object(fd, &object);
	bool folder = !failed && S_ISDIR(status.st_mode);
	if (failed || (!folder && !last) || (folder && object.unnamed)) {
		close(fd);
		return failed ? failed : -ENOTDIR;
	}
	if (folder && !last) {
		walk->resolved->through_descriptor = true;
		walk_enter(walk, fd);
		memcpy(walk->current, object.path, sizeof(walk->current));
		return 0;
	}
	close(fd);
	object.trailing_slash = walk->resolved->trailing_slash;
	if (object.trailing_slash && !folder)
		return -ENOTDIR;
	*walk->resolved = object;
	return 1;
}

/* A symbolic link in the way. 0 to go on, 1 when the walk is done, -errno. */
static int walk_link(struct walk *walk, const char *component, bool last)
{
	char target[PATH_MAX];
	if (walk_name_is_refused(walk, component))
		return 1;
	bool proc = on_proc(walk->fd);
	if (proc && self_target(walk, component, target))
		return walk_substitute(walk, target);
	if (proc) {
		int fd = held_open_beneath(walk->fd, component, O_PATH, RESOLVE_NO_MAGICLINKS);
		if (fd == -ELOOP)
			return walk_magic(walk, component, last);
		if (fd >= 0)
			close(fd);
	}
	ssize_t length = readlinkat(walk->fd, component, target, sizeof(target));
	if (length < 0)
		return -errno;
	if (length == 0)
		return -ENOENT;
	if ((size_t)length >= sizeof(target))
		return -ENAMETOOLONG;
	target[length] = '\0';
	return walk_substitute(walk, target);
}

static int walk_up(struct walk *walk)
{
	int fd = openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	walk_enter(walk, fd);
	char *slash = strrchr(walk->current, '/');
	slash[slash == walk->current] = '\0';
	return 0;
}

static int walk_finish(struct walk *walk, const char *component)
{
	memcpy(walk->resolved->path, walk->current, sizeof(walk->resolved->path));
	if (component && !append_component(walk->resolved->path, component))
		return -ENAMETOOLONG;
	return 1;
}

static int walk_component(struct walk *walk, const char *component, bool last)
{
	struct stat status;
	if (fstatat(walk->fd, component, &status, AT_SYMLINK_NOFOLLOW) != 0) {
		walk->resolved->parent_exists = errno == ENOENT && last;
		return -errno;
	}
	if (walk_is_hidden(walk, component))
		return -ENOENT;
	bool entry = last && (walk->flags & RESOLVE_NAME);
	bool stay_on_link = entry || (last && (walk->flags & RESOLVE_LINK) && !walk->resolved->trailing_slash);
	if (S_ISLNK(status.st_mode) && !stay_on_link)
		return walk_link(walk, component, last);
	if (!S_ISDIR(status.st_mode)) {
		if (!last || (walk->resolved->trailing_slash && !entry))
			return -ENOTDIR;
		return walk_finish(walk, component);
	}
	int fd = openat(walk->fd, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	walk_enter(walk, fd);
	return append_component(walk->current, component) ? 0 : -ENAMETOOLONG;
}

/* Takes the next component off `pending`. False at the end. */
static bool next_component(struct walk *walk, char component[static NAME_MAX_BYTES + 2], bool *last)
{
	char *at = walk->pending + strspn(walk->pending, "/");
	size_t length = strcspn(at, "/");
	size_t kept = length > NAME_MAX_BYTES ? NAME_MAX_BYTES + 1 : length;
	memcpy(component, at, kept);
	component[kept] = '\0';

	const char *rest = at + length;
	const char *behind = rest + strspn(rest, "/");
	*last = *behind == '\0';
	/* A link's own target may end in a slash as well. */
	if (*last && length && *rest == '/')
		walk->resolved->trailing_slash = true;
	memmove(walk->pending, behind, strlen(behind) + 1);
	return length > 0;
}

void walk_all(struct walk *walk)
{
	char component[NAME_MAX_BYTES + 2];
	bool last;
	while (next_component(walk, component, &last)) {
		int step = 0;
		bool dots = strcmp(component, ".") == 0 || strcmp(component, "..") == 0;
		if (strlen(component) > NAME_MAX_BYTES)
			step = -ENAMETOOLONG;
		else if (strcmp(component, "..") == 0)
			step = walk_up(walk);
		else if (!dots)
			step = walk_component(walk, component, last);
		if (step < 0)
			walk_fail(walk, -step, dots ? NULL : component);
		if (step != 0)
			return;
	}
	walk_finish(walk, NULL);
}
