#include "cli/user.h"

#include "engine/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* The group of a number that no account belongs to: the one that files of unknown owners show (/proc/sys/kernel/overflowgid).
 * The same number as a group could be anybody's, shadow's for one. */
enum { GROUP_OF_NOBODY = 65534 };

struct account {
	const char *name; /* NULL for a bare number; borrowed from the C library */
	uid_t uid;
	gid_t gid;
};

static bool parse_uid(const char *text, uid_t *uid)
{
	char *end;
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || number >= UINT32_MAX)
		return false;
	*uid = (uid_t)number;
	return true;
}

static int find_account(const char *text, struct account *account, struct error *error)
{
	uid_t uid;
	bool is_number = parse_uid(text, &uid);
	errno = 0;
	const struct passwd *entry = getpwnam(text);
	if (!entry && is_number)
		entry = getpwuid(uid);
	if (entry) {
		*account = (struct account){ entry->pw_name, entry->pw_uid, entry->pw_gid };
		return 0;
	}
	if (!is_number)
		return error_set(error, ENOENT, "--user: no such user: %.100s", text);
	*account = (struct account){ NULL, uid, GROUP_OF_NOBODY };
	return 0;
}

static int give_up_groups(const struct account *account)
{
	int failed = account->name ? initgroups(account->name, account->gid) : setgroups(0, NULL);
	return failed == 0 && setresgid(account->gid, account->gid, account->gid) == 0 ? 0 : -errno;
}

/* Is nothing of the former identity left? The kernel drops root's capabilities by itself, but for a process that was told to
 * keep them (SECBIT_KEEP_CAPS, SECBIT_NO_SETUID_FIXUP). */
static bool is_only(const struct account *account)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;
	return getresuid(&real, &effective, &saved) == 0 && getresgid(&real_group, &effective_group, &saved_group) == 0 &&
	       real == account->uid && effective == account->uid && saved == account->uid && real_group == account->gid &&
	       effective_group == account->gid && saved_group == account->gid && setresuid(0, 0, 0) != 0;
}

int user_become(const char *name, struct error *error)
{
	struct account account = { NULL, (uid_t)-1, (gid_t)-1 };
	int failed = find_account(name, &account, error);
	if (failed)
		return failed;
	if (account.uid == getuid() && account.uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return error_set(error, EPERM, "--user: only root can become another user");
	failed = give_up_groups(&account);
	if (!failed && setresuid(account.uid, account.uid, account.uid) != 0)
		failed = -errno;
	if (!failed)
		failed = identity_drop_capabilities(0, false);
	if (failed)
		return error_system(error, -failed, "--user: cannot become user %.100s", name);
	return is_only(&account) ? 0 : error_set(error, EPERM, "--user: something of the former user is left");
}
