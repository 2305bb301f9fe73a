#include "engine/resolve.h"

#include "base/bug.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { LINK_MAX_FOLLOWED = 40, NAME_MAX_BYTES = 255, PENDING_BYTES = 2 * PATH_MAX, PROC_ROOT_INODE = 1 };

static const char deleted_suffix[] = " (deleted)";

static int open_beneath(int fd, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	long result = syscall(SYS_openat2, fd, name, &how, sizeof(how));
	return result >= 0 ? (int)result : -errno;
}

int resolve_open(const char *path, bool link)
{
	return open_beneath(AT_FDCWD, path, O_PATH | (link ? O_NOFOLLOW : 0), RESOLVE_NO_SYMLINKS);
}

void resolve_split(const char *path, char folder[static PATH_MAX], const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash == path ? 1 : (size_t)(slash - path);
	memcpy(folder, path, length);
	folder[length] = '\0';
	*name = slash + 1;
}

/* Where a descriptor of ours leads: the canonical path in `path`. The kernel marks what has no name any more with a
 * suffix, which a folder may also really have: only the link count tells. Returns -errno. */
static int own_path(int fd, char path[static PATH_MAX], bool *deleted)
{
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(name, path, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	path[length] = '\0';

	*deleted = false;
	size_t suffix = sizeof(deleted_suffix) - 1;
	if ((size_t)length <= suffix || strcmp(path + length - suffix, deleted_suffix) != 0)
		return 0;
	struct stat status;
	if (fstat(fd, &status) != 0)
		return -errno;
	*deleted = status.st_nlink == 0;
	if (*deleted)
		path[(size_t)length - suffix] = '\0';
	return 0;
}

/* ---- the quick way: no link on the way, or links and nothing that cares about their names ------------------------- */

/* Removes `.`, `..`, double and trailing slashes. Exact only where the walk met no link. */
static bool clean(const char *from, char to[static PATH_MAX])
{
	size_t length = 0;
	while (*from) {
		while (*from == '/')
			from++;
		size_t step = strcspn(from, "/");
		if (step == 0)
			break;
		if (step == 2 && from[0] == '.' && from[1] == '.') {
			while (length > 0 && to[--length] != '/')
				;
		} else if (!(step == 1 && from[0] == '.')) {
			if (length + 1 + step >= PATH_MAX)
				return false;
			to[length++] = '/';
			memcpy(to + length, from, step);
			length += step;
		}
		from += step;
	}
	if (length == 0)
		to[length++] = '/';
	to[length] = '\0';
	return true;
}

static bool is_below_proc(const char *path)
{
	return strncmp(path, "/proc", 5) == 0 && (path[5] == '/' || path[5] == '\0');
}

/* True when *resolved is filled. Anything unusual is left to the walk. */
static bool resolve_quickly(struct supervisor *supervisor, const char *joined, unsigned flags, struct resolved *resolved)
{
	uint64_t open_flags = O_PATH | (flags & (RESOLVE_LINK | RESOLVE_NAME) ? O_NOFOLLOW : 0);
	int fd = open_beneath(AT_FDCWD, joined, open_flags, RESOLVE_NO_SYMLINKS);
	if (fd >= 0) {
		close(fd);
		return clean(joined, resolved->path);
	}
	/* Links: the kernel's own walk serves where no deny or hide entry has to see the names in between. /proc is walked
	 * by hand, since /proc/self would mean the supervisor here. */
	if (fd != -ELOOP || supervisor->names_matter)
		return false;
	auto_fd int linked = open_beneath(AT_FDCWD, joined, open_flags, RESOLVE_NO_MAGICLINKS);
	bool deleted;
	return linked >= 0 && own_path(linked, resolved->path, &deleted) == 0 && !deleted && resolved->path[0] == '/' &&
	       !is_below_proc(resolved->path);
}

/* ---- the walk: component by component ----------------------------------------------------------------------------- */

struct walk {
	struct supervisor *supervisor;
	struct task *task;
	struct resolved *resolved;
	unsigned flags;
	int fd;                      /* the folder reached so far */
	char current[PATH_MAX];      /* its canonical path */
	char pending[PENDING_BYTES]; /* what is left to walk */
	unsigned followed;
};

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

/* The walk ends with an errno; the rest of the name is kept for a decision by name. */
static void walk_fail(struct walk *walk, int number, const char *component)
{
	struct resolved *resolved = walk->resolved;
	resolved->error = number;
	memcpy(resolved->path, walk->current, sizeof(resolved->path));
	bool whole = !component || append_component(resolved->path, component);
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
	strcpy(walk->current, "/");
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
	char rest[PENDING_BYTES];
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

static int fill_object(int fd, struct resolved *resolved)
{
	int failed = own_path(fd, resolved->path, &resolved->deleted);
	if (failed)
		return failed;
	resolved->by_descriptor = true;
	resolved->unnamed = resolved->path[0] != '/';
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
	int failed = fstat(fd, &status) != 0 ? -errno : fill_object(fd, &object);
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
		int fd = open_beneath(walk->fd, component, O_PATH, RESOLVE_NO_MAGICLINKS);
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

static void walk_all(struct walk *walk)
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

/* ---- where the walk begins ---------------------------------------------------------------------------------------- */

static const char *base_entry(int dirfd, char entry[static 32])
{
	if (dirfd == AT_FDCWD)
		return "cwd";
	snprintf(entry, 32, "fd/%d", dirfd);
	return entry;
}

/* The folder that a relative name starts from. 0 or -errno: -EBADF, -ENOTDIR, -ESRCH. */
static int base_path(struct task *task, int dirfd, char path[static PATH_MAX])
{
	char entry[32];
	ssize_t length = proc_read_link(task->tid, base_entry(dirfd, entry), path, PATH_MAX);
	if (length == -ENOENT)
		return dirfd == AT_FDCWD ? -ESRCH : -EBADF;
	if (length < 0)
		return (int)length;
	return path[0] == '/' ? 0 : -ENOTDIR;
}

static int open_base(struct task *task, int dirfd)
{
	char entry[32];
	return proc_open(task->tid, base_entry(dirfd, entry), O_PATH | O_DIRECTORY);
}

static void resolve_by_walk(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, unsigned flags,
			    struct resolved *resolved)
{
	struct walk walk = { .supervisor = supervisor, .task = task, .resolved = resolved, .flags = flags, .fd = -1 };
	bool absolute = name[0] == '/';
	walk.fd = absolute ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : open_base(task, dirfd);
	bool deleted = false;
	int failed = walk.fd < 0 ? (absolute ? -errno : walk.fd) : 0;
	if (!failed && absolute)
		strcpy(walk.current, "/");
	else if (!failed)
		failed = own_path(walk.fd, walk.current, &deleted);
	if (!failed && walk.current[0] != '/')
		failed = -EACCES; /* a folder outside this root: nothing that a policy could name */
	strcpy(walk.pending, name);
	if (failed)
		walk_fail(&walk, -failed, NULL);
	else
		walk_all(&walk);
	if (walk.fd >= 0)
		close(walk.fd);
}

/* Hidden folders hide what is below them, also where the walk met no link. */
static void hide_below_hidden(struct supervisor *supervisor, struct task *task, struct resolved *resolved)
{
	if (!supervisor->hides || resolved->objected)
		return;
	char folder[PATH_MAX];
	memcpy(folder, resolved->path, sizeof(folder));
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		struct path_request request = { .access = ACCESS_READ, .path = folder, .self = task->process->tgid };
		struct decision decision = decide_name(supervisor->policy, &request);
		*slash = '/';
		if (decision.kind == DECISION_HIDE) {
			resolved->objected = true;
			resolved->objection = decision;
			return;
		}
	}
}

int resolve_descriptor(struct supervisor *supervisor, struct task *task, int descriptor, struct resolved *resolved)
{
	(void)supervisor;
	memset(resolved, 0, sizeof(*resolved));
	resolved->holder = task->tid;
	resolved->descriptor = descriptor;
	char entry[32];
	auto_fd int fd = proc_open(task->tid, base_entry(descriptor, entry), O_PATH);
	if (fd == -ESRCH)
		return -ESRCH;
	int failed = fd < 0 ? fd : fill_object(fd, resolved);
	if (failed)
		resolved->error = failed == -ENOENT ? EBADF : -failed;
	return 0;
}

void resolve_held(int fd, struct resolved *resolved)
{
	memset(resolved, 0, sizeof(*resolved));
	resolved->descriptor = -1;
	int failed = fill_object(fd, resolved);
	resolved->error = -failed;
}

/* Sets what callers read; the path's bytes need no clearing. */
static void reset(struct resolved *resolved, const char *name)
{
	memset((char *)resolved + sizeof(resolved->path), 0, sizeof(*resolved) - sizeof(resolved->path));
	resolved->path[0] = '\0';
	resolved->descriptor = -1;

	size_t length = strlen(name);
	resolved->trailing_slash = length > 0 && name[length - 1] == '/';
	while (length > 0 && name[length - 1] == '/')
		length--;
	size_t dots = length > 0 && name[length - 1] == '.' ? (length > 1 && name[length - 2] == '.' ? 2 : 1) : 0;
	resolved->dot_last = *name && (length == 0 || (dots && (dots == length || name[length - dots - 1] == '/')));
}

/* Is the first folder of the path a link (/lib, /bin, /var/run's kin)? Remembered: a stale answer costs a second decision or
 * a slower first one, nothing else. */
static bool begins_with_link(struct supervisor *supervisor, const char *path)
{
	struct first_folder *known = supervisor->first_folders;
	size_t length = 1 + strcspn(path + 1, "/");
	if (length >= sizeof(known->path))
		return true;
	for (size_t i = 0; i < supervisor->first_folder_count; i++)
		if (strncmp(known[i].path, path, length) == 0 && known[i].path[length] == '\0')
			return known[i].is_link;
	struct first_folder entry = { .is_link = false };
	struct stat status;
	memcpy(entry.path, path, length);
	entry.is_link = lstat(entry.path, &status) == 0 && S_ISLNK(status.st_mode);
	if (supervisor->first_folder_count < FIRST_FOLDER_MAX)
		known[supervisor->first_folder_count++] = entry;
	return entry.is_link;
}

bool resolve_as_written(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, struct resolved *resolved)
{
	char joined[2 * PATH_MAX];
	joined[0] = '\0';
	if (*name == '\0' || supervisor->hides || strstr(name, "..") || (name[0] != '/' && base_path(task, dirfd, joined) != 0))
		return false;
	reset(resolved, name);
	size_t base = strlen(joined);
	snprintf(joined + base, sizeof(joined) - base, "%s%s", base ? "/" : "", name);
	return clean(joined, resolved->path) && !is_below_proc(resolved->path) && !begins_with_link(supervisor, resolved->path);
}

int resolve_path(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, unsigned flags,
		 struct resolved *resolved)
{
	reset(resolved, name);
	if (*name == '\0') {
		if (flags & RESOLVE_EMPTY)
			return resolve_descriptor(supervisor, task, dirfd, resolved);
		resolved->error = ENOENT;
		return 0;
	}
	char joined[2 * PATH_MAX];
	joined[0] = '\0';
	if (name[0] != '/') {
		int failed = base_path(task, dirfd, joined);
		if (failed == -ESRCH)
			return failed;
		if (failed) {
			resolved->error = -failed;
			return 0;
		}
	}
	size_t base = strlen(joined);
	size_t length = base + (size_t)snprintf(joined + base, sizeof(joined) - base, "%s%s", base ? "/" : "", name);
	/* An entry's trailing slash would make the kernel follow a link there. */
	while (flags & RESOLVE_NAME && length > 1 && joined[length - 1] == '/')
		joined[--length] = '\0';

	if (!resolve_quickly(supervisor, joined, flags, resolved)) {
		reset(resolved, name);
		resolve_by_walk(supervisor, task, dirfd, name, flags, resolved);
	}
	hide_below_hidden(supervisor, task, resolved);
	return 0;
}
