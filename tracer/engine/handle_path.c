/* What all handlers of names share. */
#include "engine/handlers.h"

#include "base/text.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

unsigned subject_flags(const struct stop *stop, bool never_follows)
{
	int flags = stop_int(stop, stop->row->roles.flags);
	return (never_follows || flags & AT_SYMLINK_NOFOLLOW ? RESOLVE_LINK : 0) | (flags & AT_EMPTY_PATH ? RESOLVE_EMPTY : 0);
}

void subject_begin(struct subject *subject)
{
	memset(&subject->operation, 0, sizeof(subject->operation));
	subject->directory = false;
	subject->operation.given = subject->given;
	subject->operation.resolved = subject->resolved.path;
	subject->operation.list = LIST_COUNT;
}

int subject_read_name(struct stop *stop, unsigned path_role, struct subject *subject)
{
	subject_begin(subject);
	tracee_address address = tracee_address_of(stop_argument(stop, path_role));
	ssize_t length = memory_read_string(stop->task->tid, address, subject->given, sizeof(subject->given));
	return length < 0 ? (int)length : 0;
}

static int base_descriptor(const struct stop *stop, unsigned dirfd_role)
{
	return dirfd_role ? stop_int(stop, dirfd_role) : AT_FDCWD;
}

int subject_resolve(struct stop *stop, unsigned dirfd_role, unsigned flags, struct subject *subject)
{
	return resolve_path(stop->supervisor, stop->task, base_descriptor(stop, dirfd_role), subject->given, flags, &subject->resolved);
}

int subject_read(struct stop *stop, unsigned dirfd_role, unsigned path_role, unsigned flags, struct subject *subject)
{
	int failed = subject_read_name(stop, path_role, subject);
	return failed ? failed : subject_resolve(stop, dirfd_role, flags, subject);
}

struct decision subject_decide(struct stop *stop, const struct subject *subject, unsigned access)
{
	if (subject->resolved.objected)
		return subject->resolved.objection;
	struct path_request request = {
		.access = access,
		.path = subject->resolved.path,
		.self = stop->task->process->tgid,
		.directory = subject->directory,
	};
	return decide_path(stop->supervisor->policy, &request);
}

/* The errno that the kernel itself would give for this access to an existing object: its mode bits come second to the
 * policy, and are told as a note beside the rule. */
static int kernel_would_answer(const struct subject *subject, unsigned access)
{
	int mode = (access & ACCESS_READ ? R_OK : 0) | (access & ACCESS_WRITE ? W_OK : 0) | (access & ACCESS_EXECUTE ? X_OK : 0);
	if (mode == 0 || subject->resolved.error || subject->resolved.by_descriptor)
		return 0;
	return faccessat(AT_FDCWD, subject->resolved.path, mode, AT_EACCESS) == 0 ? 0 : errno;
}

static enum rule_id rule_of(const struct decision *decision)
{
	return decision->rule == RULE_NONE ? RULE_BLOCKED_READ : decision->rule;
}

bool resolved_is_hidden(const struct stop *stop, const struct resolved *resolved)
{
	if (resolved->objected)
		return resolved->objection.kind == DECISION_HIDE;
	const struct path_request request = { .access = ACCESS_STAT, .path = resolved->path, .self = stop->task->process->tgid };
	return stop->supervisor->hides && decide_name(stop->supervisor->policy, &request).kind == DECISION_HIDE;
}

bool subject_allowed(struct stop *stop, struct subject *subject, unsigned access, struct resume *resume)
{
	struct decision decision = subject_decide(stop, subject, access);
	struct operation *operation = &subject->operation;
	operation->access = access;
	if (decision.kind == DECISION_ALLOW) {
		report_allowed(stop, operation, subject->resolved.error);
		return true;
	}
	if (decision.kind == DECISION_HIDE) {
		*resume = resume_answer(-ENOENT);
		report_allowed(stop, operation, ENOENT);
		return false;
	}
	operation->rule = rule_of(&decision);
	operation->position = decision.position;
	operation->list = decision.matched ? LIST_COUNT : decision.list;
	operation->answer = EACCES;
	operation->kernel_would = kernel_would_answer(subject, access);
	*resume = report_blocked(stop, operation);
	return resume->kind == RESUME_RUN; /* under `log` the call goes on */
}

/* A folder on the way that cannot be searched: whether the object exists is not to be had, so the name decides, and what it
 * would allow gets the kernel's own EACCES. Every other errno of a walk means that nothing is there to be touched. */
struct resume subject_walk_error(struct stop *stop, struct subject *subject, unsigned access)
{
	int number = subject->resolved.error;
	struct resume resume;
	if (number == EACCES && !subject_allowed(stop, subject, access, &resume))
		return resume;
	subject->operation.access = access;
	report_allowed(stop, &subject->operation, number);
	return resume_answer(-number);
}

void own_descriptor_path(int fd, char path[static 32])
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

struct resume blocked_call(struct stop *stop, const char *access_text, const char *target)
{
	struct operation operation = {
		.rule = RULE_BLOCKED_SYSCALL,
		.access_text = access_text,
		.target = target,
		.list = LIST_COUNT,
		.answer = EPERM,
	};
	return report_blocked(stop, &operation);
}
