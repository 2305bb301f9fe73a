#include "engine/resolve.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/held.h"
#include "engine/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int resolve_open(const char *path, bool link)
{
	return held_open_beneath(AT_FDCWD, path, O_PATH | (link ? O_NOFOLLOW : 0), RESOLVE_NO_SYMLINKS);
}

void resolve_split(const char *path, char folder[static PATH_MAX], const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash == path ? 1 : (size_t)(slash - path);
	memcpy(folder, path, length);
	folder[length] = '\0';
	*name = slash + 1;
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
	int fd = held_open_beneath(AT_FDCWD, joined, open_flags, RESOLVE_NO_SYMLINKS);
	if (fd >= 0) {
		close(fd);
		return clean(joined, resolved->path);
	}
	/* Links: the kernel's own walk serves where no deny or hide entry has to see the names in between. /proc is walked
	 * by hand, since /proc/self would mean the supervisor here. */
	if (fd != -ELOOP || supervisor->names_matter)
		return false;
	auto_fd int linked = held_open_beneath(AT_FDCWD, joined, open_flags, RESOLVE_NO_MAGICLINKS);
	bool deleted;
	return linked >= 0 && held_path(linked, resolved->path, &deleted) == 0 && !deleted && resolved->path[0] == '/' &&
	       !is_below_proc(resolved->path);
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

static bool is_removed(int folder)
{
	struct stat status;
	return folder >= 0 && fstat(folder, &status) == 0 && status.st_nlink == 0;
}

static void resolve_by_walk(struct supervisor *supervisor, struct task *task, int dirfd, const char *name, unsigned flags,
			    struct resolved *resolved)
{
	struct walk walk = { .supervisor = supervisor, .task = task, .resolved = resolved, .flags = flags, .fd = -1 };
	bool absolute = name[0] == '/';
	walk.fd = absolute ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : held_take(task->tid, dirfd, O_DIRECTORY);
	bool deleted = false;
	int failed = walk.fd < 0 ? (absolute ? -errno : walk.fd) : 0;
	if (!failed && absolute)
		text_copy(walk.current, sizeof(walk.current), "/");
	else if (!failed)
		failed = held_path(walk.fd, walk.current, &deleted);
	if (!failed && walk.current[0] != '/')
		failed = -EACCES; /* a folder outside this root: nothing that a policy could name */
	text_copy(walk.pending, sizeof(walk.pending), name);
	if (failed)
		walk_fail(&walk, -failed, NULL);
	else
		walk_all(&walk);
	/* Of a folder that was removed only the way up leads anywhere. */
	resolved->deleted = resolved->deleted || (deleted && !failed && !resolved->error && is_removed(walk.fd));
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

/* The object behind one of the thread's descriptors. */
static int resolve_descriptor(const struct task *task, int descriptor, struct resolved *resolved)
{
	memset(resolved, 0, sizeof(*resolved));
	resolved->holder = task->tid;
	resolved->descriptor = descriptor;
	auto_fd int fd = held_take(task->tid, descriptor, 0);
	if (fd == -ESRCH)
		return -ESRCH;
	int failed = fd < 0 ? fd : held_object(fd, resolved);
	resolved->error = -failed;
	return 0;
}

void resolve_held(int fd, struct resolved *resolved)
{
	memset(resolved, 0, sizeof(*resolved));
	resolved->descriptor = -1;
	int failed = held_object(fd, resolved);
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
	if (resolved->dot_last)
		return false; /* "file/." is ENOTDIR: without its end the name would open the file */
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
			return resolve_descriptor(task, dirfd, resolved);
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
