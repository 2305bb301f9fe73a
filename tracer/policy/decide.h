/* The decision: pure functions of a bound policy and one request. Nothing here looks at the file system or a process. */
#ifndef POLICY_DECIDE_H
#define POLICY_DECIDE_H

#include "policy/policy.h"

enum access {
	ACCESS_READ = 1 << 0,
	ACCESS_WRITE = 1 << 1,
	ACCESS_EXECUTE = 1 << 2,
	ACCESS_STAT = 1 << 3, /* metadata; allowed at once under "stat": "any" unless hidden */
};

/* DENY is zero: what was never decided is denied. ALLOW is written in decide.c alone. */
enum decision_kind { DECISION_DENY = 0, DECISION_ALLOW, DECISION_HIDE };

struct decision {
	enum decision_kind kind;
	enum rule_id rule;                /* RULE_NONE when allowed or hidden */
	const struct position *position;  /* the entry that decided, or the list where nothing matched */
	const struct rule *matched;       /* the entry that denied, hid or (one of those that) allowed; NULL where none did */
	enum rule_list list;              /* the list that decides: the first missing access where nothing matched */
};

/* The rest of the request that patterns need. */
struct path_request {
	unsigned access;  /* enum access bits, at least one; all must be allowed */
	const char *path; /* canonical, absolute */
	pid_t self;       /* tgid of the caller: what /proc/self means */
	bool directory;   /* the call can open nothing but a folder (O_DIRECTORY and no O_TMPFILE): read entries that end
			   * in a slash count. Where that is not sure, false */
	const char *given; /* the name before its links were followed, absolute; NULL where nobody knows. Explains a
			    * refusal (decide_consider_path), and decides nothing */
};

/* hide, then deny, then each access against its own list. */
struct decision decide_path(const struct policy *policy, const struct path_request *request);

/* hide and deny alone: for the name after each link step of a walk. ALLOW means "this name does not object". */
struct decision decide_name(const struct policy *policy, const struct path_request *request);

/* Would moving or replacing the directory `path` take a deny, hide or hash entry below it out of force? Returns the entry. */
const struct rule *decide_protected_below(const struct policy *policy, const char *path, pid_t self);

/* What may be read or executed under the name `to`, and not under `from`: access bits, 0 for nothing. */
unsigned decide_gained(const struct policy *policy, const char *from, const char *to, bool directory, pid_t self);

/* The entry that would open something below the directory `from` once that is called `to`: NULL where none would. May name
 * one where there is nothing. */
const struct rule *decide_gained_below(const struct policy *policy, const char *from, const char *to, pid_t self,
				       enum rule_list *list);

/* The hash that an execute of `path` must have: of the first execute entry that matches. NULL: any content. An entry
 * without a hash that matches as well does not lift it. */
const char *decide_required_sha256(const struct policy *policy, const char *path, pid_t self);

struct decision decide_connect(const struct policy *policy, const struct address *address);
struct decision decide_bind(const struct policy *policy, const struct address *address);

/* Is there any network entry (connect or bind)? Decides what a refused datagram connect means. */
bool decide_has_network(const struct policy *policy);

/* A call by number. `denied_by_table`: the table refuses it unless syscalls.allow opens it. */
struct decision decide_syscall(const struct policy *policy, int number, bool denied_by_table);

/* The nearest entries and why each did not match, nearest first; for the verdict's `considered`. */
struct considered {
	const struct rule *rule;
	enum rule_list list;
	char why[160]; /* "port 443 is not 80", "component 3 is \"log\", not \"lib\"", "allows read, not write" */
};
size_t decide_consider_path(const struct policy *policy, const struct path_request *request, struct considered *out, size_t most);
size_t decide_consider_connect(const struct policy *policy, enum rule_list list, const struct address *address,
			       struct considered *out, size_t most);

#endif
