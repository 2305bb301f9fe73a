/* Landlock's three system calls, and the moment at which a run comes under its ruleset. */
#include "engine/landlock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in uapi/linux/landlock.h of a kernel that has ABI 6. An older kernel takes a shorter struct, and the longer one where
 * the rest is zero (copy_struct_from_user). */
struct ruleset_attribute {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_attribute {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

struct port_attribute {
	uint64_t allowed_access, port;
};

enum { SYS_CREATE_RULESET = 444, SYS_ADD_RULE = 445, SYS_RESTRICT_SELF = 446 };
enum { CREATE_VERSION = 1 << 0, RULE_PATH_BENEATH = 1, RULE_NET_PORT = 2 };

int landlock_kernel_abi(void)
{
	long abi = syscall(SYS_CREATE_RULESET, NULL, 0, CREATE_VERSION);
	return abi < 0 ? 0 : (int)abi;
}

/* ---- a ruleset of the kernel's ------------------------------------------------------------------------------------ */

static int add_rule(int fd, const struct landlock_rule *rule, struct error *error)
{
	auto_fd int object = open(rule->path, O_PATH | O_CLOEXEC);
	if (object < 0)
		return error_system(error, errno, "cannot open %.1000s", rule->path);
	struct path_attribute attribute = { .allowed_access = rule->rights, .parent_fd = object };
	if (syscall(SYS_ADD_RULE, fd, RULE_PATH_BENEATH, &attribute, 0) != 0)
		return error_system(error, errno, "cannot add a rule for %.1000s", rule->path);
	return 0;
}

static int add_port(int fd, const struct landlock_port *port, struct error *error)
{
	struct port_attribute attribute = { .allowed_access = port->rights, .port = port->port };
	if (syscall(SYS_ADD_RULE, fd, RULE_NET_PORT, &attribute, 0) != 0)
		return error_system(error, errno, "cannot add a rule for TCP port %u", port->port);
	return 0;
}

int landlock_load(const struct landlock_ruleset *ruleset, struct error *error)
{
	const struct ruleset_attribute attribute = {
		.handled_access_fs = ruleset->handled_files,
		.handled_access_net = ruleset->handled_ports,
		.scoped = ruleset->scoped,
	};
	auto_fd int fd = (int)syscall(SYS_CREATE_RULESET, &attribute, sizeof(attribute), 0);
	if (fd < 0)
		return error_system(error, errno, "cannot make a ruleset");
	for (size_t i = 0; i < ruleset->rule_count; i++) {
		int failed = add_rule(fd, &ruleset->rules[i], error);
		if (failed)
			return failed;
	}
	for (size_t i = 0; i < ruleset->port_count; i++) {
		int failed = add_port(fd, &ruleset->ports[i], error);
		if (failed)
			return failed;
	}
	return fd_release(&fd);
}

int landlock_restrict(int ruleset)
{
	return syscall(SYS_RESTRICT_SELF, ruleset, 0) == 0 ? 0 : -errno;
}

/* ---- for one run -------------------------------------------------------------------------------------------------- */

static bool restricts_nothing(const struct landlock_ruleset *ruleset)
{
	return !ruleset->handled_files && !ruleset->handled_ports && !ruleset->scoped;
}

/* A descriptor, or -errno with the error saying why there is none. */
static int open_ruleset(const struct policy *policy, int abi, bool keeps_descriptors, struct error *error)
{
	struct landlock_ruleset ruleset;
	const char *objection = landlock_objection(policy);
	if (objection)
		return error_set(error, ENOTSUP, "%s", objection);
	landlock_compile(policy, abi, keeps_descriptors, &ruleset);
	int fd = restricts_nothing(&ruleset) ? error_set(error, ENOTSUP, "the policy leaves nothing to it")
					     : landlock_load(&ruleset, error);
	landlock_ruleset_free(&ruleset);
	return fd;
}

int landlock_prepare(const struct policy *policy, enum landlock_mode mode, bool keeps_descriptors, struct run_record *record,
		     struct landlock *landlock, struct error *error)
{
	struct error why;
	*landlock = (struct landlock){ .ruleset = -1, .required = mode == LANDLOCK_REQUIRE, .record = record };
	int abi = mode == LANDLOCK_OFF ? 0 : landlock_kernel_abi();
	if (abi == 0)
		return landlock->required ? error_set(error, ENOTSUP, "--landlock require: this kernel offers no Landlock") : 0;
	landlock->abi = abi < LANDLOCK_NEWEST_ABI ? abi : LANDLOCK_NEWEST_ABI;
	landlock->ruleset = open_ruleset(policy, landlock->abi, keeps_descriptors, &why);
	if (landlock->ruleset >= 0)
		return 0;
	if (landlock->required)
		return error_set(error, why.number, "--landlock require: %s", why.message);
	record_note(record, "Landlock was not applied: %s", why.message);
	return 0;
}

int landlock_apply(const struct landlock *landlock)
{
	if (landlock->ruleset < 0)
		return 0;
	int failed = landlock_restrict(landlock->ruleset);
	if (failed && landlock->required)
		return -failed;
	/* The kernel stacks 16 of them at most; the decisions stand without it. */
	if (failed)
		record_note(landlock->record, "Landlock was not applied: cannot come under the ruleset: %s", strerror(-failed));
	else
		landlock->record->landlock_abi = landlock->abi;
	return 0;
}
