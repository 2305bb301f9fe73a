#include "policy/suggest.h"

#include "base/cleanup.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "policy/limits.h"
#include "policy/rules.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Suggestions in the making. */
struct list {
	const struct policy *policy;
	struct suggestion *out;
	size_t count;
};

static char *json_string(const char *string)
{
	struct text text = { 0 };
	text_append_json_string(&text, string, strlen(string));
	return text.bytes;
}

/* Takes `pointer`, `value` and `opens` over. */
static void add(struct list *list, char *pointer, char *value, char *opens)
{
	if (list->count == SUGGESTION_MAX) {
		free(pointer);
		free(value);
		free(opens);
		return;
	}
	list->out[list->count++] = (struct suggestion){ pointer, value, opens };
}

static bool has_parent(const struct policy *policy, const char *pointer)
{
	if (strncmp(pointer, "/paths/", 7) == 0)
		return policy->has.paths;
	if (strncmp(pointer, "/network/", 9) == 0)
		return policy->has.network;
	if (strncmp(pointer, "/syscalls/", 10) == 0)
		return policy->has.syscalls;
	return policy->has.limits;
}

/* A JSON Patch "add" needs the parent of what it adds: the parts that are missing become part of the value. `key`
 * points to "/parent/key"; `value` is JSON text. */
static void add_member(struct list *list, const char *key, char *value, char *opens)
{
	const char *name = strrchr(key, '/');
	if (has_parent(list->policy, key)) {
		add(list, text_duplicate(key), value, opens);
		return;
	}
	add(list, text_duplicate_bytes(key, (size_t)(name - key)), text_format("{\"%s\": %s}", name + 1, value), opens);
	free(value);
}

/* What no policy could say (a name with `..` in it) is not suggested. */
static void add_entry(struct list *list, enum rule_list id, const char *entry, char *opens)
{
	auto_free char *quoted = json_string(entry);
	if (rule_check(id, entry, false, NULL) != 0) {
		free(opens);
		return;
	}
	const char *pointer = rule_list_pointer(id);
	if (list->policy->has.lists[id])
		add(list, text_format("%s/-", pointer), text_duplicate(quoted), opens);
	else
		add_member(list, pointer, text_format("[%s]", quoted), opens);
}

void suggestion_free(struct suggestion *suggestion)
{
	free(suggestion->pointer);
	free(suggestion->value);
	free(suggestion->opens);
	*suggestion = (struct suggestion){ 0 };
}

/* ---- paths ---- */

static const char *const list_words[] = { [LIST_READ] = "read", [LIST_WRITE] = "write", [LIST_EXECUTE] = "execute" };

/* The pattern that names the request's object in the next run too: numbers of processes and threads are others then. */
static char *stable_pattern(const struct path_request *request, const struct policy_variables *variables)
{
	const char *path = request->path;
	size_t digits = strncmp(path, "/proc/", 6) == 0 ? strspn(path + 6, "0123456789") : 0;
	const char *rest = path + 6 + digits;
	if (digits == 0 || (*rest != '/' && *rest != '\0'))
		return policy_unexpand(path, variables);
	auto_free char *number = text_duplicate_bytes(path + 6, digits);
	bool own = request->self > 0 && strtol(number, NULL, 10) == request->self;
	size_t thread = strncmp(rest, "/task/", 6) == 0 ? strspn(rest + 6, "0123456789") : 0;
	auto_free char *quoted = pattern_quote(thread ? rest + 6 + thread : rest);
	return text_format("/proc/%s%s%s", own ? "self" : "[0-9]*", thread ? "/task/*" : "", quoted);
}

/* The folder that holds what `pattern` names; NULL where it is not worth a suggestion: the root, or a process' own. */
static char *folder_of(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	if (!slash || slash == pattern || strncmp(pattern, "/proc/", 6) == 0)
		return NULL;
	return text_duplicate_bytes(pattern, (size_t)(slash - pattern));
}

/* Which of the three lists lack an entry for the request; 0 where none does. */
static size_t missing_lists(const struct policy *policy, const struct path_request *request, enum rule_list lists[3])
{
	static const unsigned accesses[] = {
		[LIST_READ] = ACCESS_READ, [LIST_WRITE] = ACCESS_WRITE, [LIST_EXECUTE] = ACCESS_EXECUTE
	};
	size_t count = 0;
	for (unsigned list = LIST_READ; list <= LIST_EXECUTE; list++) {
		struct path_request one = *request;
		one.access = request->access & accesses[list];
		if (one.access && decide_path(policy, &one).kind == DECISION_DENY)
			lists[count++] = (enum rule_list)list;
	}
	return count;
}

/* One entry in each of the lists that lack one: "read", or "read" and "write". */
static void add_entries(struct list *list, const enum rule_list *missing, size_t count, const char *entry,
			const char *what)
{
	const char *together = count > 1 ? "; the call needs one entry in each list" : "";
	for (size_t i = 0; i < count; i++)
		add_entry(list, missing[i], entry, text_format("%s: %s%s", list_words[missing[i]], what, together));
}

/* Two additions of the same missing parent would replace each other: they become one. */
static void add_paths(struct list *list, const enum rule_list *missing, size_t count, const char *entry,
		      const char *what)
{
	auto_free char *quoted = json_string(entry);
	struct text value = { 0 }, opens = { 0 };
	for (size_t i = 0; i < count; i++) {
		text_printf(&value, "%s\"%s\": [%s]", i ? ", " : "{", list_words[missing[i]], quoted);
		text_printf(&opens, "%s%s", i ? " and " : "", list_words[missing[i]]);
	}
	text_append(&value, "}");
	text_printf(&opens, ": %s", what);
	add(list, text_duplicate("/paths"), value.bytes, opens.bytes);
}

static void suggest_pattern(struct list *list, const enum rule_list *missing, size_t count, const char *entry,
			    const char *what)
{
	if (rule_check(LIST_READ, entry, false, NULL) != 0)
		return;
	if (count > 1 && !list->policy->has.paths)
		add_paths(list, missing, count, entry, what);
	else if (list->count + count <= SUGGESTION_MAX)
		add_entries(list, missing, count, entry, what);
}

static void suggest_stat(struct list *list, const char *pattern)
{
	add_entry(list, LIST_READ, pattern, text_format("reading %s, and its metadata", pattern));
	add_member(list, "/paths/stat", text_duplicate("\"any\""),
		   text_duplicate("the metadata of every object; nothing is read or written"));
}

size_t suggest_path(const struct policy *policy, const struct path_request *request,
		    const struct policy_variables *variables, struct suggestion out[SUGGESTION_MAX])
{
	struct list list = { .policy = policy, .out = out };
	struct decision decision = decide_path(policy, request);
	/* No key lifts a deny or hide entry, and JSON cannot hold a name that is not UTF-8. */
	if (decision.kind != DECISION_DENY || decision.matched || !utf8_valid(request->path, strlen(request->path)))
		return 0;

	enum rule_list missing[3];
	size_t count = missing_lists(policy, request, missing);
	auto_free char *pattern = stable_pattern(request, variables);
	if (count == 0) {
		suggest_stat(&list, pattern);
		return list.count;
	}
	auto_free char *alone = text_format("%s alone", pattern);
	suggest_pattern(&list, missing, count, pattern, alone);
	auto_free char *folder = folder_of(pattern);
	if (folder) {
		auto_free char *all = text_format("%s/**", folder);
		auto_free char *below = text_format("%s and everything below it", folder);
		suggest_pattern(&list, missing, count, all, below);
	}
	return list.count;
}

/* ---- network ---- */

static const char *transport_prefix(enum transport transport)
{
	return transport == TRANSPORT_TCP ? "tcp:" : transport == TRANSPORT_UDP ? "udp:" : "";
}

static void suggest_inet(struct list *list, enum rule_list id, const struct address *address)
{
	char host[INET6_ADDRSTRLEN] = "";
	bool four = address->kind == ADDRESS_IPV4;
	inet_ntop(four ? AF_INET : AF_INET6, address->bytes, host, sizeof(host));
	const char *verb = id == LIST_BIND ? "binding" : "connecting to";
	const char *open = four ? "" : "[", *close = four ? "" : "]", *prefix = transport_prefix(address->transport);
	auto_free char *exact = text_format("%s%s%s%s:%u", prefix, open, host, close, address->port);
	auto_free char *ports = text_format("%s%s%s%s:*", prefix, open, host, close);
	static const char *const transports[] = {
		[TRANSPORT_ANY] = "", [TRANSPORT_TCP] = " by TCP", [TRANSPORT_UDP] = " by UDP"
	};
	const char *by = transports[address->transport];
	add_entry(list, id, exact, text_format("%s port %u of %s%s", verb, address->port, host, by));
	add_entry(list, id, ports, text_format("%s every port of %s%s", verb, host, by));
}

static void suggest_socket(struct list *list, const struct address *address)
{
	auto_free char *quoted = pattern_quote(address->path);
	auto_free char *entry = text_format("unix:%s", quoted);
	if (utf8_valid(entry, strlen(entry)))
		add_entry(list, LIST_CONNECT, entry,
			  text_format("whatever serves %s, with the rights that it has", address->path));
}

static void suggest_abstract(struct list *list, enum rule_list id, const struct address *address)
{
	bool plain = address->path_length > 0 && strlen(address->path) == address->path_length &&
		     utf8_valid(address->path, address->path_length);
	if (plain) {
		auto_free char *quoted = pattern_quote(address->path);
		auto_free char *entry = text_format("unix:@%s", quoted);
		add_entry(list, id, entry, text_format("the abstract name %s", address->path));
	}
	if (address->kind == ADDRESS_UNIX_UNNAMED && id == LIST_BIND)
		add_entry(list, id, "unix:@*", text_duplicate("every abstract name"));
}

size_t suggest_network(const struct policy *policy, enum rule_list id, const struct address *address,
		       struct suggestion out[SUGGESTION_MAX])
{
	struct list list = { .policy = policy, .out = out };
	struct decision decision = id == LIST_BIND ? decide_bind(policy, address) : decide_connect(policy, address);
	if (decision.kind != DECISION_DENY || decision.matched)
		return 0;
	if (address->kind == ADDRESS_UNIX_PATH && id == LIST_BIND) {
		const struct path_request request = { .access = ACCESS_WRITE, .path = address->path };
		return suggest_path(policy, &request, NULL, out);
	}
	struct address folded = *address;
	if (id == LIST_CONNECT)
		address_fold_wildcard(&folded);
	if (address->kind == ADDRESS_IPV4 || address->kind == ADDRESS_IPV6)
		suggest_inet(&list, id, &folded);
	else if (address->kind == ADDRESS_UNIX_PATH && address->path[0] == '/')
		suggest_socket(&list, address);
	else if (address->kind == ADDRESS_UNIX_ABSTRACT || address->kind == ADDRESS_UNIX_UNNAMED)
		suggest_abstract(&list, id, address);
	return list.count;
}

/* ---- system calls and limits ---- */

size_t suggest_syscall(const struct policy *policy, int number, struct suggestion out[SUGGESTION_MAX])
{
	struct list list = { .policy = policy, .out = out };
	const struct syscall_row *row = syscall_by_number(number);
	struct decision decision = decide_syscall(policy, number, true);
	if (!row || !syscall_is_switchable(row) || decision.kind != DECISION_DENY || decision.matched)
		return 0;
	const struct syscall_row *family = row->roles.family ? syscall_by_number(row->roles.family) : row;
	add_entry(&list, LIST_SYSCALL_ALLOW, family->name,
		  family == row
			  ? text_format("the system call %s and those that only make sense with it", row->name)
			  : text_format("%s, with %s and those that only make sense with it", row->name, family->name));
	return list.count;
}

static void suggest_value(struct list *list, enum limit_id limit, uint64_t value)
{
	char shown[UNITS_TEXT];
	limit_format(limit, value, shown);
	auto_free char *key = text_format("/limits/%s", limit_rows[limit].key);
	add_member(list, key, json_string(shown), text_format("%s: up to %s", limit_rows[limit].summary, shown));
}

size_t suggest_limit(const struct policy *policy, enum limit_id limit, struct suggestion out[SUGGESTION_MAX])
{
	static const uint64_t factors[] = { 2, 10 };
	struct list list = { .policy = policy, .out = out };
	const uint64_t most = INT64_MAX / 1024; /* what a policy may say (units.h) */
	uint64_t value = policy->limits[limit].value;
	if (!policy->limits[limit].set || value == UNITS_NONE)
		return 0;
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++)
		if (value <= most / factors[i])
			suggest_value(&list, limit, value * factors[i]);
	return list.count;
}
