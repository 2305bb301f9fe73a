/* From a seccomp stop to its handler. */
#include "engine/handlers.h"

#include "engine/identity.h"
#include "engine/limits.h"

#include <errno.h>
#include <linux/audit.h>

static handler_function *const handlers[HANDLER_COUNT] = {
	[HANDLER_OPEN] = handle_open,
	[HANDLER_OPENAT2] = handle_openat2,
	[HANDLER_EXEC] = handle_exec,
	[HANDLER_CHDIR] = handle_chdir,
	[HANDLER_CONNECT] = handle_connect,
	[HANDLER_BIND] = handle_bind,
	[HANDLER_LISTEN] = handle_listen,
	[HANDLER_SETSOCKOPT] = handle_setsockopt,
	[HANDLER_SENDTO] = handle_sendto,
	[HANDLER_SENDMSG] = handle_sendmsg,
	[HANDLER_SENDMMSG] = handle_sendmmsg,
	[HANDLER_SOCKET] = handle_socket,
	[HANDLER_MKDIR] = handle_mkdir,
	[HANDLER_MKNOD] = handle_mknod,
	[HANDLER_RMDIR] = handle_rmdir,
	[HANDLER_UNLINK] = handle_unlink,
	[HANDLER_RENAME] = handle_rename,
	[HANDLER_LINK] = handle_link,
	[HANDLER_SYMLINK] = handle_symlink,
	[HANDLER_CHMOD] = handle_chmod,
	[HANDLER_FCHMOD] = handle_fchmod,
	[HANDLER_CHOWN] = handle_chown,
	[HANDLER_FCHOWN] = handle_fchown,
	[HANDLER_UTIME] = handle_utime,
	[HANDLER_TRUNCATE] = handle_truncate,
	[HANDLER_FALLOCATE] = handle_fallocate,
	[HANDLER_SETXATTR] = handle_setxattr,
	[HANDLER_FSETXATTR] = handle_fsetxattr,
	[HANDLER_REMOVEXATTR] = handle_removexattr,
	[HANDLER_FREMOVEXATTR] = handle_fremovexattr,
	[HANDLER_FILE_SETATTR] = handle_file_setattr,
	[HANDLER_STAT] = handle_stat,
	[HANDLER_STATX] = handle_statx,
	[HANDLER_ACCESS] = handle_access,
	[HANDLER_READLINK] = handle_readlink,
	[HANDLER_STATFS] = handle_statfs,
	[HANDLER_GETXATTR] = handle_getxattr,
	[HANDLER_LISTXATTR] = handle_listxattr,
	[HANDLER_INOTIFY] = handle_inotify,
	[HANDLER_FILE_GETATTR] = handle_file_getattr,
	[HANDLER_CLONE] = handle_clone,
	[HANDLER_MEMORY] = handle_memory,
	[HANDLER_WAIT] = handle_wait,
	[HANDLER_SIGNAL] = handle_signal,
	[HANDLER_CONTROL] = handle_control,
	[HANDLER_AFFINITY] = handle_affinity,
	[HANDLER_FCNTL] = handle_fcntl,
	[HANDLER_IOCTL] = handle_ioctl,
	[HANDLER_SECCOMP] = handle_seccomp,
	[HANDLER_PRCTL] = handle_seccomp,
	[HANDLER_REFUSE] = handle_refuse,
	[HANDLER_SWITCHABLE] = handle_switchable,
};

/* fork, vfork and a clone that makes a process are one thing to whoever denies "fork"; "clone" denies threads as well. */
static bool is_denied_as_process(const struct stop *stop, const struct decision *by_name)
{
	if (stop->row->handler != HANDLER_CLONE || !by_name->matched)
		return false;
	const uint64_t thread = 0x00010000; /* CLONE_THREAD */
	bool makes_thread = stop->row->roles.flags && (stop_argument(stop, stop->row->roles.flags) & thread);
	return !makes_thread;
}

static struct decision denied_by_policy(struct stop *stop)
{
	static const char *const process_calls[] = { "fork", "vfork", "clone" };
	const struct policy *policy = stop->supervisor->policy;
	struct decision decision = decide_syscall(policy, stop->row->number, false);
	if (decision.kind != DECISION_ALLOW || stop->row->handler != HANDLER_CLONE)
		return decision;
	for (size_t i = 0; i < sizeof(process_calls) / sizeof(*process_calls); i++) {
		struct decision other = decide_syscall(policy, syscall_by_name(process_calls[i])->number, false);
		if (other.kind == DECISION_DENY && is_denied_as_process(stop, &other))
			return other;
	}
	return decision;
}

static struct resume blocked_by_name(struct stop *stop, const struct decision *decision)
{
	struct operation operation = {
		.rule = RULE_BLOCKED_SYSCALL,
		.position = decision->position,
		.access_text = "syscall",
		.target = stop->row->name,
		.list = LIST_COUNT,
		.answer = EPERM,
	};
	return report_blocked(stop, &operation);
}

static bool changes_identity(const struct stop *stop)
{
	return stop->row->handler == HANDLER_NONE && stop->supervisor->root;
}

/* Dispatch is on number and architecture alone: a filter of the target's own may put other data behind the same stop, and
 * may stop calls that we never asked for. Those go on. */
struct resume handle_stop(struct stop *stop)
{
	const uint64_t x32_bit = 0x40000000;
	if (stop->call.arch != AUDIT_ARCH_X86_64 || stop->call.number >= x32_bit)
		return handle_foreign(stop);
	stop->row = syscall_by_number((long)stop->call.number);
	limit_after_refusal(stop);
	if (!stop->row || stop->row->disposition == CALL_NOSYS)
		return resume_answer(-ENOSYS);

	if (stop->supervisor->policy->lists[LIST_SYSCALL_DENY].count) {
		struct decision decision = denied_by_policy(stop);
		if (decision.kind != DECISION_ALLOW) {
			struct resume resume = blocked_by_name(stop, &decision);
			if (resume.kind != RESUME_RUN)
				return resume;
		}
	}
	int failed = identity_assume(stop->supervisor, stop->task);
	if (failed)
		return failed == -ESRCH ? resume_nothing() : resume_answer(-EACCES);
	if (changes_identity(stop))
		stop->task->identity_valid = false;
	handler_function *handler = handlers[stop->row->handler];
	return handler ? handler(stop) : resume_run();
}
