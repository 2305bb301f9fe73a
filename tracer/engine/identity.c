#include "engine/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

static const uint64_t file_system_capabilities = CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_DAC_OVERRIDE) |
						 CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) |
						 CAPABILITY(CAP_FSETID);

uint64_t identity_kept_capabilities(void)
{
	return CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_FSETID) |
	       CAPABILITY(CAP_KILL) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);
}

const char identity_kept_names[] = "CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETUID and SETGID";

static int capabilities_get(uint64_t *effective, uint64_t *permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	*effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	*permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

static int capabilities_set(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(effective >> 32), .permitted = (uint32_t)(permitted >> 32) },
	};
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

int identity_drop_capabilities(uint64_t kept, bool bounding)
{
	uint64_t effective, permitted;
	int failed = capabilities_get(&effective, &permitted);
	if (failed)
		return failed;
	for (int number = 0; bounding && (effective & CAPABILITY(CAP_SETPCAP)) && prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
		if (!(kept & CAPABILITY(number)) && prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0)
			return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
		return -errno;
	return capabilities_set(permitted & kept, permitted & kept);
}

int identity_begin(struct supervisor *supervisor)
{
	struct proc_status status;
	int failed = proc_read_status(getpid(), &status);
	if (failed)
		return failed;
	supervisor->assumed = status.identity;
	return 0;
}

static bool same_identity(const struct proc_identity *a, const struct proc_identity *b)
{
	return a->fsuid == b->fsuid && a->fsgid == b->fsgid && a->group_count == b->group_count &&
	       (a->effective_capabilities & file_system_capabilities) == (b->effective_capabilities & file_system_capabilities) &&
	       memcmp(a->groups, b->groups, a->group_count * sizeof(a->groups[0])) == 0;
}

/* setfsuid() reports nothing; asking again with an impossible id tells who we are. */
static bool become(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return setfsuid((uid_t)-1) == (int)uid && setfsgid((gid_t)-1) == (int)gid;
}

static int switch_to(struct supervisor *supervisor, const struct proc_identity *wanted)
{
	uint64_t effective, permitted;
	int failed = capabilities_get(&effective, &permitted);
	if (!failed)
		failed = capabilities_set(permitted, permitted); /* the right to change back is needed first */
	if (failed)
		return failed;
	/* The system call, not libc's wrapper: only this thread, and the tracer has only one. */
	if (syscall(SYS_setgroups, wanted->group_count, wanted->groups) != 0)
		return -errno;
	if (!become(wanted->fsuid, wanted->fsgid))
		return -EPERM;
	effective = (permitted & ~file_system_capabilities) | (permitted & file_system_capabilities & wanted->effective_capabilities);
	failed = capabilities_set(effective, permitted);
	if (!failed)
		supervisor->assumed = *wanted;
	return failed;
}

int identity_assume(struct supervisor *supervisor, struct task *task)
{
	if (!supervisor->root)
		return 0;
	if (!task->identity_valid) {
		int failed = proc_read_identity(task->tid, &task->identity);
		if (failed)
			return failed;
		task->identity_valid = true;
	}
	return same_identity(&supervisor->assumed, &task->identity) ? 0 : switch_to(supervisor, &task->identity);
}
