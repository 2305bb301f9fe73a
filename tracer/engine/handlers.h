/* One function per handler word of syscalls.def. Each decides one stop and says how the thread goes on. */
#ifndef ENGINE_HANDLERS_H
#define ENGINE_HANDLERS_H

#include "engine/report.h"
#include "engine/resolve.h"
#include "engine/supervisor.h"

typedef struct resume handler_function(struct stop *stop);

handler_function handle_open, handle_openat2, handle_exec, handle_chdir;
handler_function handle_connect, handle_bind, handle_listen, handle_sendto, handle_sendmsg, handle_sendmmsg, handle_socket,
	handle_setsockopt;
handler_function handle_mkdir, handle_mknod, handle_rmdir, handle_unlink, handle_rename, handle_link, handle_symlink;
handler_function handle_chmod, handle_fchmod, handle_chown, handle_fchown, handle_utime, handle_truncate, handle_fallocate;
handler_function handle_setxattr, handle_fsetxattr, handle_removexattr, handle_fremovexattr, handle_file_setattr;
handler_function handle_stat, handle_statx, handle_access, handle_readlink, handle_statfs, handle_getxattr, handle_listxattr;
handler_function handle_inotify, handle_file_getattr;
handler_function handle_clone, handle_memory, handle_wait, handle_signal, handle_control, handle_affinity, handle_fcntl, handle_ioctl,
	handle_seccomp;
handler_function handle_refuse, handle_switchable, handle_foreign;

/* Decides any seccomp stop: identity, "syscalls.deny", then the row's handler. */
struct resume handle_stop(struct stop *stop);

/* At PTRACE_EVENT_EXEC, before the new image runs: is it a program that may run? True when the tree is being killed. */
bool verify_exec(struct stop *stop);

/* Is `path` a script that this image's interpreter is about to open? Then `object`, the file behind it that we hold, must be
 * the one that was decided, and `copy` (script_copy; less than 0 for none) have its hash: false with *resume set where not. */
bool script_is_awaited(struct stop *stop, const char *path);
struct subject;
bool script_is_bound(struct stop *stop, struct subject *subject, int object, int copy, struct resume *resume);

/* A script that must have a hash and may be written to: its interpreter gets a sealed copy, so that what it reads later is what
 * was hashed. A descriptor or -errno. */
bool script_needs_copy(struct stop *stop, const struct subject *subject);
int script_copy(int object);

/* Is it one of the host's own ELF loaders? By canonical path. */
bool exec_is_system_loader(const struct supervisor *supervisor, const char *path);

/* Has the file behind `fd` the hash that an execute entry for `path` names? True where none does. */
bool exec_hash_agrees(struct stop *stop, const char *path, int fd);

/* ---- what handlers share (handle_path.c) ---- */

/* One name of a call, from its arguments to its decision. */
struct subject {
	char given[PATH_MAX];
	struct resolved resolved;
	bool directory;             /* the call opens nothing but a folder */
	struct operation operation; /* filled for a report; points into this struct */
};

/* Reads the name at `path_role`, relative to the descriptor at `dirfd_role` (0: the current directory), and resolves it.
 * 0, or -errno that the program gets (-EFAULT, -ENAMETOOLONG, …). */
int subject_read(struct stop *stop, unsigned dirfd_role, unsigned path_role, unsigned flags, struct subject *subject);

/* AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH of the call's own flags, as resolve_flags. A call that never follows a link (lchown)
 * says so by itself. */
unsigned subject_flags(const struct stop *stop, bool never_follows);

/* Makes an empty subject, before its name is known. */
void subject_begin(struct subject *subject);

/* The two halves of subject_read. */
int subject_read_name(struct stop *stop, unsigned path_role, struct subject *subject);
int subject_resolve(struct stop *stop, unsigned dirfd_role, unsigned flags, struct subject *subject);

/* Decides `access` to the resolved object. True when the call may go on; else *resume is what to return: a violation, or
 * ENOENT for what is hidden. Takes no account of resolved.error: a caller looks at that first or by itself. */
bool subject_allowed(struct stop *stop, struct subject *subject, unsigned access, struct resume *resume);

/* Does a hide entry hold for the name, or for one on the way? Then it does not exist for the run, whatever is asked of it. */
bool resolved_is_hidden(const struct stop *stop, const struct resolved *resolved);

/* The walk's own errno as the answer, after a decision by name where a folder cannot be searched. */
struct resume subject_walk_error(struct stop *stop, struct subject *subject, unsigned access);

/* The decision alone. */
struct decision subject_decide(struct stop *stop, const struct subject *subject, unsigned access);

/* A path for a system call of ours that means the object behind our own descriptor `fd`. */
void own_descriptor_path(int fd, char path[static 32]);

/* The thread's own umask, for what a call of ours is about to make. A default ACL on the folder replaces it: the kernel sees
 * to that, since the mask is set and not applied by hand. 0 or -errno. */
int names_assume_umask(const struct stop *stop);

/* The name of a control message that sends its packet over another host, NULL where there is none. */
const char *control_route(const void *control, size_t length);

/* A refusal that no policy key could turn into permission. */
struct resume blocked_call(struct stop *stop, const char *access_text, const char *target);

#endif
