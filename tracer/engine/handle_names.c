/* Calls that make, move or remove names: decided, then done by the supervisor itself.
 *
 * Why not by the thread: after the decision another process may put a link where a folder was. The supervisor holds the
 * parent folder as an O_PATH descriptor that was opened through no link (RESOLVE_NO_SYMLINKS), and acts on one last
 * component in it: 0 races won in 30,000 tries, against 1,623 when only the bytes of the name were pinned. */
#include "engine/object.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/pin.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of a folder that we hold. */
struct entry {
	struct subject subject;
	int folder;
	char name[NAME_MAX + 2]; /* with its trailing slash, which the kernel gives a meaning */
};

static void entry_release(struct entry *entry)
{
	if (entry->folder >= 0)
		close(entry->folder);
}

#define auto_entry __attribute__((cleanup(entry_release)))

static bool entry_hold(struct stop *stop, struct entry *entry, struct resume *resume)
{
	char folder[PATH_MAX];
	const char *name;
	/* Another thread's call is on its way through this name: it was decided for what is there now. */
	if (pin_is_guarded(stop, entry->subject.resolved.path)) {
		*resume = resume_answer(-EBUSY);
		return false;
	}
	resolve_split(entry->subject.resolved.path, folder, &name);
	snprintf(entry->name, sizeof(entry->name), "%s%s", name, entry->subject.resolved.trailing_slash ? "/" : "");
	entry->folder = resolve_open(folder, false);
	if (entry->folder >= 0)
		return true;
	*resume = resume_answer(entry->folder);
	return false;
}

/* Reads the name; false with *resume set where the call is answered already. */
static bool entry_read(struct stop *stop, unsigned dirfd_role, unsigned path_role, struct entry *entry, struct resume *resume)
{
	entry->folder = -1;
	int failed = subject_read(stop, dirfd_role, path_role, RESOLVE_NAME, &entry->subject);
	if (failed)
		*resume = resume_failed(failed);
	return failed == 0;
}

/* A name that is to be made. What exists already is EEXIST and no violation: mkdir -p asks so. */
static bool entry_to_make(struct stop *stop, unsigned dirfd_role, unsigned path_role, struct entry *entry, struct resume *resume)
{
	if (!entry_read(stop, dirfd_role, path_role, entry, resume))
		return false;
	struct resolved *resolved = &entry->subject.resolved;
	bool missing = resolved->error == ENOENT && resolved->parent_exists;
	if (resolved_is_hidden(stop, resolved)) {
		*resume = resume_answer(-ENOENT);
		return false;
	}
	if (!resolved->objected && (resolved->error == 0 || resolved->dot_last)) {
		*resume = resume_answer(resolved->error ? -resolved->error : -EEXIST);
		report_allowed(stop, &entry->subject.operation, EEXIST);
		return false;
	}
	if (!resolved->objected && !missing) {
		*resume = subject_walk_error(stop, &entry->subject, ACCESS_WRITE);
		return false;
	}
	return subject_allowed(stop, &entry->subject, ACCESS_WRITE, resume) && entry_hold(stop, entry, resume);
}

/* What rmdir answers for a name that is the root, or ends in `.` or `..` (fs/namei.c, do_rmdir). */
static int rmdir_error(const char *given)
{
	size_t length = strlen(given);
	while (length > 0 && given[length - 1] == '/')
		length--;
	if (length == 0)
		return EBUSY;
	return length > 1 && given[length - 1] == '.' && given[length - 2] == '.' ? ENOTEMPTY : EINVAL;
}

/* A name that is there and changes. `dots` is the kernel's errno for a name that ends in `.` or `..`, 0 for rmdir's own. */
static bool entry_to_change(struct stop *stop, unsigned dirfd_role, unsigned path_role, int dots, struct entry *entry,
			    struct resume *resume)
{
	if (!entry_read(stop, dirfd_role, path_role, entry, resume))
		return false;
	struct resolved *resolved = &entry->subject.resolved;
	if (resolved->error && !resolved->objected) {
		*resume = subject_walk_error(stop, &entry->subject, ACCESS_WRITE);
		return false;
	}
	if (resolved->dot_last && !resolved->objected) {
		*resume = resume_answer(-(dots ? dots : rmdir_error(entry->subject.given)));
		return false;
	}
	return subject_allowed(stop, &entry->subject, ACCESS_WRITE, resume) && entry_hold(stop, entry, resume);
}

/* ---- what a further name may not give ----------------------------------------------------------------------------- */

/* `write` alone does not open what a file held before the run: a name under which it may be read as well would. What the run
 * made itself it may read wherever it puts it; a file system that does not tell when a file was made tells of none. */
static bool is_made_by_run(const struct stop *stop, int folder, const char *name)
{
	enum { SECOND_NS = 1000000000 };
	struct statx status;
	if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME))
		return false;
	return status.stx_btime.tv_sec * SECOND_NS + status.stx_btime.tv_nsec >= stop->supervisor->shared->began.tick_ns;
}

static bool is_folder(int folder, const char *name)
{
	struct stat status;
	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static bool opens_nothing_below(struct stop *stop, struct subject *subject, const char *to, struct resume *resume)
{
	static const enum rule_id rules[] = { [LIST_READ] = RULE_BLOCKED_READ, [LIST_WRITE] = RULE_BLOCKED_WRITE,
					      [LIST_EXECUTE] = RULE_BLOCKED_EXECUTE };
	enum rule_list list;
	const struct rule *rule = decide_gained_below(stop->supervisor->policy, subject->resolved.path, to, stop->task->process->tgid,
						      &list);
	if (!rule)
		return true;
	struct operation *operation = &subject->operation;
	operation->rule = rules[list];
	operation->position = &rule->position;
	operation->list = LIST_COUNT;
	operation->answer = EACCES;
	operation->flags = "under its new name the entry would open what is in this folder";
	*resume = report_blocked(stop, operation);
	return resume->kind == RESUME_RUN;
}

/* The object `name` in `folder`, which is `from`, is about to be called `to` (too). */
static bool name_gains_nothing(struct stop *stop, struct subject *from, int folder, const char *name, const char *to,
			       struct resume *resume)
{
	const char *path = from->resolved.path;
	bool directory = is_folder(folder, name);
	if (directory && !opens_nothing_below(stop, from, to, resume))
		return false;
	unsigned gained = decide_gained(stop->supervisor->policy, path, to, directory, stop->task->process->tgid);
	if (!gained || is_made_by_run(stop, folder, name))
		return true;
	from->operation.flags = "under its new name that would be allowed";
	return subject_allowed(stop, from, gained, resume);
}

static bool move_gains_nothing(struct stop *stop, struct entry *from, const struct entry *to, struct resume *resume)
{
	return name_gains_nothing(stop, &from->subject, from->folder, from->name, to->subject.resolved.path, resume);
}

/* Moving a folder must not take a deny, hide or hash entry below it out of force. */
static bool move_is_harmless(struct stop *stop, struct entry *entry, struct resume *resume)
{
	if (!is_folder(entry->folder, entry->subject.resolved.path[1] ? entry->name : "."))
		return true;
	const struct rule *rule =
		decide_protected_below(stop->supervisor->policy, entry->subject.resolved.path, stop->task->process->tgid);
	if (!rule)
		return true;
	struct operation *operation = &entry->subject.operation;
	operation->rule = RULE_BLOCKED_WRITE;
	operation->position = &rule->position;
	operation->list = LIST_COUNT;
	operation->answer = EACCES;
	operation->flags = "moving this folder would take the entry out of force";
	*resume = report_blocked(stop, operation);
	return resume->kind == RESUME_RUN;
}

int names_assume_umask(const struct stop *stop)
{
	struct proc_status status;
	int failed = proc_read_status(stop->task->tid, &status);
	if (!failed)
		umask(status.umask);
	return failed;
}

struct resume handle_mkdir(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct resume resume;
	auto_entry struct entry entry;
	if (!entry_to_make(stop, roles->dirfd, roles->path, &entry, &resume))
		return resume;
	int failed = names_assume_umask(stop);
	if (failed)
		return resume_failed(failed);
	return resume_result(mkdirat(entry.folder, entry.name, (mode_t)stop_int(stop, roles->mode)));
}

/* Files, FIFOs and sockets only: a device node made in a writable folder would open the device behind it. */
struct resume handle_mknod(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	struct resume resume;
	auto_entry struct entry entry;
	if (!entry_to_make(stop, roles->dirfd, roles->path, &entry, &resume))
		return resume;
	mode_t mode = (mode_t)stop_int(stop, roles->mode);
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return resume_answer(-EPERM);
	int failed = names_assume_umask(stop);
	if (failed)
		return resume_failed(failed);
	return resume_result(mknodat(entry.folder, entry.name, mode, 0));
}

struct resume handle_rmdir(struct stop *stop)
{
	struct resume resume;
	auto_entry struct entry entry;
	if (!entry_to_change(stop, 0, stop->row->roles.path, 0, &entry, &resume))
		return resume;
	return resume_result(unlinkat(entry.folder, entry.name, AT_REMOVEDIR));
}

struct resume handle_unlink(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	int flags = stop_int(stop, roles->flags);
	struct resume resume;
	if (flags & ~AT_REMOVEDIR)
		return resume_answer(-EINVAL);
	auto_entry struct entry entry;
	if (!entry_to_change(stop, roles->dirfd, roles->path, flags ? 0 : EISDIR, &entry, &resume))
		return resume;
	return resume_result(unlinkat(entry.folder, entry.name, flags));
}

/* The text of a link is free; what it leads to is judged when somebody follows it. */
struct resume handle_symlink(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	char text[PATH_MAX];
	ssize_t length = memory_read_string(stop->task->tid, tracee_address_of(stop->call.args[0]), text, sizeof(text));
	if (length < 0)
		return resume_failed(length);
	struct resume resume;
	auto_entry struct entry entry;
	if (!entry_to_make(stop, roles->dirfd2, roles->path2, &entry, &resume))
		return resume;
	return resume_result(symlinkat(text, entry.folder, entry.name));
}

/* ---- rename ------------------------------------------------------------------------------------------------------- */

/* The new name of a rename may exist or not; exchanging needs it. */
static bool rename_target(struct stop *stop, unsigned flags, struct entry *entry, struct resume *resume)
{
	const struct syscall_roles *roles = &stop->row->roles;
	if (!entry_read(stop, roles->dirfd2, roles->path2, entry, resume))
		return false;
	struct resolved *resolved = &entry->subject.resolved;
	bool missing = resolved->error == ENOENT && resolved->parent_exists && !(flags & RENAME_EXCHANGE);
	if (!resolved->objected && resolved->error && !missing) {
		*resume = subject_walk_error(stop, &entry->subject, ACCESS_WRITE);
		return false;
	}
	if (resolved_is_hidden(stop, resolved)) {
		*resume = resume_answer(-ENOENT);
		return false;
	}
	if (!resolved->objected && resolved->dot_last) {
		*resume = resume_answer(flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY);
		return false;
	}
	if (!resolved->objected && !resolved->error && (flags & RENAME_NOREPLACE)) {
		*resume = resume_answer(-EEXIST);
		return false;
	}
	return subject_allowed(stop, &entry->subject, ACCESS_WRITE, resume) && entry_hold(stop, entry, resume);
}

struct resume handle_rename(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	unsigned flags = (unsigned)stop_int(stop, roles->flags);
	struct resume resume;
	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    ((flags & RENAME_EXCHANGE) && (flags & (RENAME_NOREPLACE | RENAME_WHITEOUT))))
		return resume_answer(-EINVAL);
	if (flags & RENAME_WHITEOUT)
		return resume_answer(-EPERM); /* makes a device node */
	auto_entry struct entry from, to = { .folder = -1 };
	if (!entry_to_change(stop, roles->dirfd, roles->path, EBUSY, &from, &resume) ||
	    !rename_target(stop, flags, &to, &resume) || !move_is_harmless(stop, &from, &resume) ||
	    !move_gains_nothing(stop, &from, &to, &resume))
		return resume;
	if ((flags & RENAME_EXCHANGE) && (!move_is_harmless(stop, &to, &resume) || !move_gains_nothing(stop, &to, &from, &resume)))
		return resume;
	return resume_result(syscall(SYS_renameat2, from.folder, from.name, to.folder, to.name, flags));
}

/* ---- link --------------------------------------------------------------------------------------------------------- */

/* What a hard link gives a second name to needs `write` under its own name as well: else a file that may only be read, or not
 * at all, would get a name under which more is allowed. The file is held before it is decided: a thread that puts another
 * one under the same descriptor number in between gave a name to 454 files of 14,767 that it may not write. */
struct resume handle_link(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	int flags = stop_int(stop, roles->flags);
	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return resume_answer(-EINVAL);
	unsigned how = (flags & AT_SYMLINK_FOLLOW ? 0 : RESOLVE_LINK) | (flags & AT_EMPTY_PATH ? RESOLVE_EMPTY : 0);
	struct resume resume;
	auto_object struct object source = { .fd = -1 };
	if (!object_by_name(stop, roles->dirfd, roles->path, how, ACCESS_WRITE, &source, &resume))
		return resume;
	auto_entry struct entry to = { .folder = -1 };
	if (!entry_to_make(stop, roles->dirfd2, roles->path2, &to, &resume) ||
	    !name_gains_nothing(stop, &source.subject, source.fd, "", to.subject.resolved.path, &resume))
		return resume;

	char folder[PATH_MAX];
	const char *name;
	if (!source.is_link)
		return resume_result(linkat(AT_FDCWD, source.path, to.folder, to.name, AT_SYMLINK_FOLLOW));
	/* A link to a link: by its name in its folder, since a descriptor of a link cannot be followed to itself. */
	resolve_split(source.subject.resolved.path, folder, &name);
	auto_fd int parent = resolve_open(folder, false);
	if (parent < 0)
		return resume_answer(parent);
	return resume_result(linkat(parent, name, to.folder, to.name, 0));
}
