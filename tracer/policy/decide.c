#include "policy/decide.h"

#include "base/syscalls.h"

#include <string.h>

/* In the order in which a missing access is named. */
static const struct {
	unsigned access;
	enum rule_list list;
	enum rule_id rule;
} accesses[] = {
	{ ACCESS_READ, LIST_READ, RULE_BLOCKED_READ },
	{ ACCESS_WRITE, LIST_WRITE, RULE_BLOCKED_WRITE },
	{ ACCESS_EXECUTE, LIST_EXECUTE, RULE_BLOCKED_EXECUTE },
};

enum { ACCESS_KINDS = sizeof(accesses) / sizeof(*accesses) };

static bool rule_matches(const struct rule *rule, const char *path, pid_t self)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		if (pattern_matches(rule->patterns[i], path, self))
			return true;
	return false;
}

/* The first entry of a list that matches. A dropped one has no patterns. One for folders counts where the call itself
 * says that it opens nothing else: the kernel refuses everything but a folder then, whatever lies there by now. */
static const struct rule *list_find(const struct policy *policy, enum rule_list list, const struct path_request *request)
{
	const struct rules *rules = &policy->lists[list];
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if ((!rule->folders_only || request->directory) && rule_matches(rule, request->path, request->self))
			return rule;
	}
	return NULL;
}

/* ---- the three answers ---- */

static struct decision decide_allow(const struct rule *matched, enum rule_list list)
{
	return (struct decision){ .kind = DECISION_ALLOW,
				  .matched = matched,
				  .position = matched ? &matched->position : NULL,
				  .list = list };
}

static struct decision decide_hidden(const struct rule *matched)
{
	return (struct decision){
		.kind = DECISION_HIDE, .matched = matched, .position = &matched->position, .list = LIST_HIDE
	};
}

/* `matched` is the entry that denies; without one it is the list that lacks one. */
static struct decision decide_deny(const struct policy *policy, enum rule_id rule, const struct rule *matched,
				   enum rule_list list)
{
	return (struct decision){ .kind = DECISION_DENY, .rule = rule, .matched = matched, .list = list,
				  .position = matched ? &matched->position : &policy->missing[list] };
}

/* ---- paths ---- */

static enum rule_id first_rule(unsigned access)
{
	for (size_t i = 0; i < ACCESS_KINDS; i++)
		if (access & accesses[i].access)
			return accesses[i].rule;
	return RULE_BLOCKED_STAT;
}

static enum rule_list first_list(unsigned access)
{
	for (size_t i = 0; i < ACCESS_KINDS; i++)
		if (access & accesses[i].access)
			return accesses[i].list;
	return LIST_READ;
}

/* Patterns are compared component by component. A path with `..` would be compared by its letters and used by its
 * meaning ("/data/../etc" lies in "/data/" by its letters): what is not canonical is never allowed. */
static bool path_is_canonical(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at++;
		size_t length = strcspn(at, "/");
		bool dots = (length == 1 && at[0] == '.') || (length == 2 && at[0] == '.' && at[1] == '.');
		if (length == 0 || dots)
			return false;
	}
	return true;
}

/* Metadata that nobody inspects is not denied either: under "stat": "any" a deny entry closes the object, not its
 * name. */
static bool deny_applies(const struct policy *policy, unsigned access)
{
	return policy->stat_listed || (access & ~(unsigned)ACCESS_STAT) != 0;
}

struct decision decide_name(const struct policy *policy, const struct path_request *request)
{
	const struct rule *hidden = list_find(policy, LIST_HIDE, request);
	if (hidden)
		return decide_hidden(hidden);
	const struct rule *denied = NULL;
	if (deny_applies(policy, request->access))
		denied = list_find(policy, LIST_DENY, request);
	if (denied)
		return decide_deny(policy, first_rule(request->access), denied, LIST_DENY);
	return decide_allow(NULL, LIST_READ);
}

static bool rule_reaches(const struct rule *rule, const char *path, pid_t self)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		if (pattern_matches(rule->patterns[i], path, self) ||
		    pattern_reaches_below(rule->patterns[i], path, self))
			return true;
	return false;
}

static const struct rule *list_find_reaching(const struct policy *policy, enum rule_list list, const char *path,
					     pid_t self)
{
	const struct rules *rules = &policy->lists[list];
	for (size_t i = 0; i < rules->count; i++)
		if (rule_reaches(&rules->items[i], path, self))
			return &rules->items[i];
	return NULL;
}

/* A socket's address is the first spelling, kept apart from the others. */
static const struct rule *find_socket_reaching(const struct policy *policy, const char *path, pid_t self)
{
	const struct rules *rules = &policy->lists[LIST_CONNECT];
	for (size_t i = 0; i < rules->count; i++) {
		const struct path_pattern *pattern = rules->items[i].address.path;
		if (pattern && (pattern_matches(pattern, path, self) || pattern_reaches_below(pattern, path, self)))
			return &rules->items[i];
		if (rule_reaches(&rules->items[i], path, self))
			return &rules->items[i];
	}
	return NULL;
}

/* Metadata of what some list names, and of the folders above: realpath() of an allowed file asks for each of them. */
static struct decision decide_stat(const struct policy *policy, const struct path_request *request)
{
	static const enum rule_list lists[] = { LIST_READ, LIST_WRITE, LIST_EXECUTE };
	if (!policy->stat_listed)
		return decide_allow(NULL, LIST_READ);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct rule *rule = list_find_reaching(policy, lists[i], request->path, request->self);
		if (rule)
			return decide_allow(rule, lists[i]);
	}
	const struct rule *socket = find_socket_reaching(policy, request->path, request->self);
	if (socket)
		return decide_allow(socket, LIST_CONNECT);
	struct decision decision = decide_deny(policy, RULE_BLOCKED_STAT, NULL, LIST_READ);
	if (policy->stat_position.file)
		decision.position = &policy->stat_position;
	return decision;
}

static struct decision decide_accesses(const struct policy *policy, const struct path_request *request)
{
	struct decision decision = decide_deny(policy, first_rule(request->access), NULL, first_list(request->access));
	for (size_t i = 0; i < ACCESS_KINDS; i++) {
		if (!(request->access & accesses[i].access))
			continue;
		const struct rule *rule = list_find(policy, accesses[i].list, request);
		if (!rule)
			return decide_deny(policy, accesses[i].rule, NULL, accesses[i].list);
		decision = decide_allow(rule, accesses[i].list);
	}
	/* What may be read, written or executed shows its metadata as well. */
	if (decision.kind == DECISION_ALLOW || !(request->access & ACCESS_STAT))
		return decision;
	return decide_stat(policy, request);
}

struct decision decide_path(const struct policy *policy, const struct path_request *request)
{
	if (!path_is_canonical(request->path))
		return decide_deny(policy, first_rule(request->access), NULL, first_list(request->access));
	struct decision named = decide_name(policy, request);
	return named.kind == DECISION_ALLOW ? decide_accesses(policy, request) : named;
}

/* ---- what a move would take out of force, and hashes ---- */

static bool rule_is_tied_to(const struct rule *rule, const char *path, pid_t self)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		if (pattern_tied_to(rule->patterns[i], path, self))
			return true;
	return false;
}

const struct rule *decide_protected_below(const struct policy *policy, const char *path, pid_t self)
{
	static const enum rule_list lists[] = { LIST_DENY, LIST_HIDE, LIST_EXECUTE };
	for (size_t list = 0; list < sizeof(lists) / sizeof(*lists); list++) {
		const struct rules *rules = &policy->lists[lists[list]];
		for (size_t i = 0; i < rules->count; i++) {
			const struct rule *rule = &rules->items[i];
			bool protects = lists[list] != LIST_EXECUTE || rule->sha256[0];
			if (protects && rule_is_tied_to(rule, path, self))
				return rule;
		}
	}
	return NULL;
}

unsigned decide_gained(const struct policy *policy, const char *from, const char *to, bool directory, pid_t self)
{
	static const unsigned looked_at[] = { ACCESS_READ, ACCESS_EXECUTE };
	unsigned gained = 0;
	for (size_t i = 0; i < sizeof(looked_at) / sizeof(*looked_at); i++) {
		struct path_request request = { .access = looked_at[i], .path = to, .self = self, .directory = directory };
		bool after = decide_path(policy, &request).kind == DECISION_ALLOW;
		request.path = from;
		if (after && decide_path(policy, &request).kind != DECISION_ALLOW)
			gained |= looked_at[i];
	}
	return gained;
}

static bool rule_gains_below(const struct rule *rule, const char *from, const char *to, pid_t self)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		if (pattern_gains_below(rule->patterns[i], from, to, self))
			return true;
	return false;
}

static bool list_covers_below(const struct rules *rules, const char *path, pid_t self)
{
	for (size_t i = 0; i < rules->count; i++)
		for (size_t j = 0; j < rules->items[i].pattern_count && !rules->items[i].folders_only; j++)
			if (pattern_covers_below(rules->items[i].patterns[j], path, self))
				return true;
	return false;
}

const struct rule *decide_gained_below(const struct policy *policy, const char *from, const char *to, pid_t self,
				       enum rule_list *list)
{
	static const enum rule_list lists[] = { LIST_READ, LIST_WRITE, LIST_EXECUTE };
	for (size_t which = 0; which < sizeof(lists) / sizeof(*lists); which++) {
		const struct rules *rules = &policy->lists[lists[which]];
		*list = lists[which];
		for (size_t i = 0; i < rules->count; i++)
			if (!rules->items[i].folders_only && rule_gains_below(&rules->items[i], from, to, self) &&
			    !list_covers_below(rules, from, self))
				return &rules->items[i];
	}
	return NULL;
}

const char *decide_required_sha256(const struct policy *policy, const char *path, pid_t self)
{
	const struct rules *rules = &policy->lists[LIST_EXECUTE];
	for (size_t i = 0; i < rules->count; i++)
		if (rules->items[i].sha256[0] && rule_matches(&rules->items[i], path, self))
			return rules->items[i].sha256;
	return NULL;
}

/* ---- network ---- */

static bool rule_covers(const struct rule *rule, const struct address *address)
{
	if (rule->dropped)
		return false;
	if (address_matches(&rule->address, address))
		return true;
	return address->kind == ADDRESS_UNIX_PATH && rule_matches(rule, address->path, 0);
}

static struct decision decide_address(const struct policy *policy, enum rule_list list, const struct address *address)
{
	const struct rules *rules = &policy->lists[list];
	for (size_t i = 0; i < rules->count; i++)
		if (rule_covers(&rules->items[i], address))
			return decide_allow(&rules->items[i], list);
	return decide_deny(policy, list == LIST_BIND ? RULE_BLOCKED_BIND : RULE_BLOCKED_NETWORK, NULL, list);
}

/* A socket in the file system has a name: deny and hide hold for it as for every other, before any network entry. */
static struct decision decide_socket_path(const struct policy *policy, const struct address *address)
{
	if (!path_is_canonical(address->path))
		return decide_deny(policy, RULE_BLOCKED_NETWORK, NULL, LIST_CONNECT);
	const struct path_request request = { .access = ACCESS_WRITE, .path = address->path };
	struct decision named = decide_name(policy, &request);
	if (named.kind == DECISION_ALLOW)
		return decide_address(policy, LIST_CONNECT, address);
	if (named.kind == DECISION_DENY)
		named.rule = RULE_BLOCKED_NETWORK;
	return named;
}

/* The kernel connects the wildcard to this host: it is judged as the loopback address, whoever decoded it. */
struct decision decide_connect(const struct policy *policy, const struct address *address)
{
	if (address->kind == ADDRESS_UNIX_PATH)
		return decide_socket_path(policy, address);
	if (!address_is_wildcard(address))
		return decide_address(policy, LIST_CONNECT, address);
	struct address folded = *address;
	address_fold_wildcard(&folded);
	return decide_address(policy, LIST_CONNECT, &folded);
}

/* Binding a path makes a file there. */
struct decision decide_bind(const struct policy *policy, const struct address *address)
{
	if (address->kind != ADDRESS_UNIX_PATH)
		return decide_address(policy, LIST_BIND, address);
	const struct path_request request = { .access = ACCESS_WRITE, .path = address->path };
	return decide_path(policy, &request);
}

bool decide_has_network(const struct policy *policy)
{
	static const enum rule_list lists[] = { LIST_CONNECT, LIST_BIND };
	for (size_t list = 0; list < sizeof(lists) / sizeof(*lists); list++)
		for (size_t i = 0; i < policy->lists[lists[list]].count; i++)
			if (!policy->lists[lists[list]].items[i].dropped)
				return true;
	return false;
}

/* ---- system calls ---- */

/* A name covers its family: the calls that only make sense with it. */
static const struct rule *find_call(const struct policy *policy, enum rule_list list, int number)
{
	const struct syscall_row *row = syscall_by_number(number);
	int family = row ? row->roles.family : 0;
	const struct rules *rules = &policy->lists[list];
	for (size_t i = 0; i < rules->count; i++) {
		int listed = rules->items[i].syscall_number;
		if (listed == number || (family != 0 && listed == family))
			return &rules->items[i];
	}
	return NULL;
}

struct decision decide_syscall(const struct policy *policy, int number, bool denied_by_table)
{
	const struct rule *denied = find_call(policy, LIST_SYSCALL_DENY, number);
	if (denied)
		return decide_deny(policy, RULE_BLOCKED_SYSCALL, denied, LIST_SYSCALL_DENY);
	if (!denied_by_table)
		return decide_allow(NULL, LIST_SYSCALL_ALLOW);
	const struct rule *allowed = find_call(policy, LIST_SYSCALL_ALLOW, number);
	if (allowed)
		return decide_allow(allowed, LIST_SYSCALL_ALLOW);
	return decide_deny(policy, RULE_BLOCKED_SYSCALL, NULL, LIST_SYSCALL_ALLOW);
}
