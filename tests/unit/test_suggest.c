/* Suggestions: what they say, and that each of them, applied as a JSON Patch to the very file, lets the operation pass. */
#include "base/text.h"
#include "base/units.h"
#include "policy/suggest.h"
#include "tap.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { SELF = 4242, R = ACCESS_READ, W = ACCESS_WRITE, X = ACCESS_EXECUTE, S = ACCESS_STAT };

static const struct policy_variables variables = { .workspace = "/tmp/bailiff-x", .cwd = "/home/u/project", .home = "/home/u" };

static struct policy *bound(const char *text)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	if (policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error) == 0 && policy_bind(policy, &variables, &error) == 0)
		return policy;
	tap_ok(false, "a policy loads: %s: %s", text, error.message);
	policy_free(policy);
	return NULL;
}

/* RFC 6902 "add" for the pointers that suggestions use: members of objects, and "-" for the end of a list. */
static bool patch_add(cJSON *document, const char *pointer, const char *value)
{
	char *path = text_duplicate(pointer), *rest = path + 1, *token;
	cJSON *target = document;
	while ((token = strsep(&rest, "/")) && rest && target)
		target = cJSON_GetObjectItemCaseSensitive(target, token);
	cJSON *added = cJSON_Parse(value);
	bool done = false;
	if (target && added && cJSON_IsArray(target) && strcmp(token, "-") == 0) {
		done = cJSON_AddItemToArray(target, added);
	} else if (target && added && cJSON_IsObject(target)) {
		cJSON_DeleteItemFromObjectCaseSensitive(target, token);
		done = cJSON_AddItemToObject(target, token, added);
	} else {
		cJSON_Delete(added);
	}
	free(path);
	return done;
}

/* The policy with suggestions number `first` to `last` applied; NULL where they cannot be. */
static struct policy *patched(const char *text, const struct suggestion *suggestions, size_t first, size_t last)
{
	cJSON *document = cJSON_Parse(text);
	for (size_t i = first; i <= last; i++)
		if (!patch_add(document, suggestions[i].pointer, suggestions[i].value))
			tap_ok(false, "applies: add %s %s", suggestions[i].pointer, suggestions[i].value);
	char *printed = cJSON_Print(document);
	struct policy *policy = bound(printed);
	cJSON_free(printed);
	cJSON_Delete(document);
	return policy;
}

/* "pointer value (opens)" of each, joined with " | ". */
static void expect(const struct suggestion *suggestions, size_t count, const char *expected, const char *what)
{
	struct text text = { 0 };
	text_append(&text, "");
	for (size_t i = 0; i < count; i++)
		text_printf(&text, "%s%s %s (%s)", i ? " | " : "", suggestions[i].pointer, suggestions[i].value, suggestions[i].opens);
	tap_string(text_string(&text), expected, "suggested for %s", what);
	text_free(&text);
}

static void free_all(struct suggestion *suggestions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		suggestion_free(&suggestions[i]);
}

static const char empty[] = "{}";
static const char some[] = "{\"paths\": {\"read\": [\"/a\"], \"deny\": [\"/denied/**\"], \"hide\": [\"/hidden\"]}, \"network\": {\"connect\": []}}";
static const char listed[] = "{\"paths\": {\"stat\": \"listed\", \"read\": []}}";
static const char nothing_below[] = "{\"paths\": {}, \"network\": {}, \"syscalls\": {}, \"limits\": {\"wall\": \"3s\", \"output\": \"none\"}}";

/* `together`: how many suggestions in a row it takes. */
static const struct path_case {
	const char *policy;
	unsigned access;
	const char *path;
	unsigned together;
	const char *expected;
} path_cases[] = {
	{ some, R, "/data/in.csv", 1,
	  "/paths/read/- \"/data/in.csv\" (read: /data/in.csv alone) | /paths/read/- \"/data/**\" (read: /data and everything below it)" },
	{ some, W, "/data/out", 1,
	  "/paths/write [\"/data/out\"] (write: /data/out alone) | /paths/write [\"/data/**\"] (write: /data and everything below it)" },
	{ empty, X, "/opt/tool", 1,
	  "/paths {\"execute\": [\"/opt/tool\"]} (execute: /opt/tool alone) | /paths {\"execute\": [\"/opt/**\"]} (execute: /opt and everything "
	  "below it)" },
	{ nothing_below, R, "/x", 1, "/paths/read [\"/x\"] (read: /x alone)" },
	{ nothing_below, R, "/", 1, "/paths/read [\"/\"] (read: / alone)" },
	{ some, R | W, "/data/x", 2,
	  "/paths/read/- \"/data/x\" (read: /data/x alone; the call needs one entry in each list) | /paths/write [\"/data/x\"] (write: /data/x "
	  "alone; the call needs one entry in each list) | /paths/read/- \"/data/**\" (read: /data and everything below it; the call needs one "
	  "entry in each list) | /paths/write [\"/data/**\"] (write: /data and everything below it; the call needs one entry in each list)" },
	{ empty, R | W, "/data/x", 1,
	  "/paths {\"read\": [\"/data/x\"], \"write\": [\"/data/x\"]} (read and write: /data/x alone) | /paths {\"read\": [\"/data/**\"], \"write\": "
	  "[\"/data/**\"]} (read and write: /data and everything below it)" },
	{ some, R | W, "/a", 1, "/paths/write [\"/a\"] (write: /a alone)" },
	/* odd names */
	{ some, R, "/d/a*b?[c]\\ \"q\"", 1,
	  "/paths/read/- \"/d/a\\\\*b\\\\?\\\\[c\\\\]\\\\\\\\ \\\"q\\\"\" (read: /d/a\\*b\\?\\[c\\]\\\\ \"q\" alone) | /paths/read/- \"/d/**\" (read: /d "
	  "and everything below it)" },
	{ some, R, "/d/${HOME}", 1,
	  "/paths/read/- \"/d/\\\\$\\\\{HOME}\" (read: /d/\\$\\{HOME} alone) | /paths/read/- \"/d/**\" (read: /d and everything below it)" },
	{ some, R, "/d/\xFF", 1, "" },
	/* what is another name in the next run */
	{ some, R, "/tmp/bailiff-x/a/b", 1,
	  "/paths/read/- \"${WORKSPACE}/a/b\" (read: ${WORKSPACE}/a/b alone) | /paths/read/- \"${WORKSPACE}/a/**\" (read: ${WORKSPACE}/a and "
	  "everything below it)" },
	{ some, R, "/tmp/bailiff-x", 1, "/paths/read/- \"${WORKSPACE}\" (read: ${WORKSPACE} alone)" },
	{ some, R, "/proc/4242/maps", 1, "/paths/read/- \"/proc/self/maps\" (read: /proc/self/maps alone)" },
	{ some, R, "/proc/4242/task/4243/comm", 1, "/paths/read/- \"/proc/self/task/*/comm\" (read: /proc/self/task/*/comm alone)" },
	{ some, R, "/proc/1/status", 1, "/paths/read/- \"/proc/[0-9]*/status\" (read: /proc/[0-9]*/status alone)" },
	{ some, R, "/proc/4242", 1, "/paths/read/- \"/proc/self\" (read: /proc/self alone)" },
	/* metadata */
	{ listed, S, "/etc/x", 1, "/paths/read/- \"/etc/x\" (reading /etc/x, and its metadata) | /paths/stat \"any\" (the metadata of every object; "
				   "nothing is read or written)" },
	{ listed, S | R, "/etc/x", 1,
	  "/paths/read/- \"/etc/x\" (read: /etc/x alone) | /paths/read/- \"/etc/**\" (read: /etc and everything below it)" },
	/* no key opens these */
	{ some, R, "/denied/x", 1, "" },
	{ some, R, "/hidden", 1, "" },
	{ some, R, "/a", 1, "" },
	{ some, R, "/data/../x", 1, "" },
	{ some, R, "/tmp/bailiff-x/../x", 1, "" },
	{ some, R, "relative", 1, "" },
};

static void test_paths(void)
{
	for (size_t i = 0; i < sizeof(path_cases) / sizeof(*path_cases); i++) {
		const struct path_case *row = &path_cases[i];
		const struct path_request request = { .access = row->access, .path = row->path, .self = SELF };
		struct suggestion suggestions[SUGGESTION_MAX];
		struct policy *policy = bound(row->policy);
		size_t count = suggest_path(policy, &request, &variables, suggestions);
		expect(suggestions, count, row->expected, row->path);
		for (size_t first = 0; first + row->together <= count; first += row->together) {
			struct policy *opened = patched(row->policy, suggestions, first, first + row->together - 1);
			tap_ok(opened && decide_path(opened, &request).kind == DECISION_ALLOW, "suggestion %zu opens %s", first, row->path);
			policy_free(opened);
		}
		free_all(suggestions, count);
		policy_free(policy);
	}
}

static const struct network_case {
	const char *policy;
	enum rule_list list;
	const char *address, *expected;
} network_cases[] = {
	{ some, LIST_CONNECT, "tcp:192.0.2.1:443",
	  "/network/connect/- \"tcp:192.0.2.1:443\" (connecting to port 443 of 192.0.2.1 by TCP) | /network/connect/- \"tcp:192.0.2.1:*\" (connecting "
	  "to every port of 192.0.2.1 by TCP)" },
	{ some, LIST_CONNECT, "udp:[2001:db8::1]:53",
	  "/network/connect/- \"udp:[2001:db8::1]:53\" (connecting to port 53 of 2001:db8::1 by UDP) | /network/connect/- \"udp:[2001:db8::1]:*\" "
	  "(connecting to every port of 2001:db8::1 by UDP)" },
	{ some, LIST_CONNECT, "192.0.2.1:9",
	  "/network/connect/- \"192.0.2.1:9\" (connecting to port 9 of 192.0.2.1) | /network/connect/- \"192.0.2.1:*\" (connecting to every port of "
	  "192.0.2.1)" },
	{ some, LIST_CONNECT, "tcp:0.0.0.0:80",
	  "/network/connect/- \"tcp:127.0.0.1:80\" (connecting to port 80 of 127.0.0.1 by TCP) | /network/connect/- \"tcp:127.0.0.1:*\" (connecting to "
	  "every port of 127.0.0.1 by TCP)" },
	{ some, LIST_BIND, "tcp:0.0.0.0:80",
	  "/network/bind [\"tcp:0.0.0.0:80\"] (binding port 80 of 0.0.0.0 by TCP) | /network/bind [\"tcp:0.0.0.0:*\"] (binding every port of 0.0.0.0 "
	  "by TCP)" },
	{ empty, LIST_BIND, "tcp:127.0.0.1:0",
	  "/network {\"bind\": [\"tcp:127.0.0.1:0\"]} (binding port 0 of 127.0.0.1 by TCP) | /network {\"bind\": [\"tcp:127.0.0.1:*\"]} (binding every "
	  "port of 127.0.0.1 by TCP)" },
	{ some, LIST_CONNECT, "unix:/run/x*", "/network/connect/- \"unix:/run/x\\\\*\" (whatever serves /run/x*, with the rights that it has)" },
	{ some, LIST_CONNECT, "unix:@a/b*c", "/network/connect/- \"unix:@a/b\\\\*c\" (the abstract name a/b*c)" },
	{ some, LIST_CONNECT, "unix:/denied/s", "" },
	{ some, LIST_CONNECT, "unix:/a/../s", "" },
	{ some, LIST_CONNECT, "unix:@\xFF", "" },
	{ some, LIST_BIND, "unix:/run/x", "/paths/write [\"/run/x\"] (write: /run/x alone) | /paths/write [\"/run/**\"] (write: /run and everything below "
					  "it)" },
};

static struct decision decide(const struct policy *policy, enum rule_list list, const struct address *address)
{
	return list == LIST_BIND ? decide_bind(policy, address) : decide_connect(policy, address);
}

static void test_network(void)
{
	for (size_t i = 0; i < sizeof(network_cases) / sizeof(*network_cases); i++) {
		const struct network_case *row = &network_cases[i];
		struct suggestion suggestions[SUGGESTION_MAX];
		struct address address;
		struct policy *policy = bound(row->policy);
		if (address_parse(row->address, &address, NULL) != 0)
			tap_ok(false, "%s is an address", row->address);
		size_t count = suggest_network(policy, row->list, &address, suggestions);
		expect(suggestions, count, row->expected, row->address);
		for (size_t j = 0; j < count; j++) {
			struct policy *opened = patched(row->policy, suggestions, j, j);
			tap_ok(opened && decide(opened, row->list, &address).kind == DECISION_ALLOW, "suggestion %zu opens %s", j, row->address);
			policy_free(opened);
		}
		free_all(suggestions, count);
		policy_free(policy);
	}
}

static void test_odd_addresses(void)
{
	struct suggestion suggestions[SUGGESTION_MAX];
	struct policy *policy = bound(some);
	struct address unnamed = { .kind = ADDRESS_UNIX_UNNAMED }, netlink = { .kind = ADDRESS_OTHER, .family = 16 };
	struct address zero = { .kind = ADDRESS_UNIX_ABSTRACT, .path = "a\0b", .path_length = 3 };
	size_t count = suggest_network(policy, LIST_BIND, &unnamed, suggestions);
	expect(suggestions, count, "/network/bind [\"unix:@*\"] (every abstract name)", "a name that the kernel picks");
	free_all(suggestions, count);
	tap_number((long long)suggest_network(policy, LIST_CONNECT, &unnamed, suggestions), 0, "nothing to connect to");
	tap_number((long long)suggest_network(policy, LIST_CONNECT, &netlink, suggestions), 0, "no key opens another family");
	tap_number((long long)suggest_network(policy, LIST_CONNECT, &zero, suggestions), 0, "JSON cannot hold a zero byte");
	policy_free(policy);
}

static void test_calls(void)
{
	static const struct {
		const char *policy;
		int number;
		const char *expected;
	} rows[] = {
		{ empty, SYS_memfd_create,
		  "/syscalls {\"allow\": [\"memfd_create\"]} (the system call memfd_create and those that only make sense with it)" },
		{ nothing_below, SYS_shmat, "/syscalls/allow [\"shmget\"] (shmat, with shmget and those that only make sense with it)" },
		{ "{\"syscalls\": {\"allow\": [\"shmget\"]}}", SYS_mq_open,
		  "/syscalls/allow/- \"mq_open\" (the system call mq_open and those that only make sense with it)" },
		{ "{\"syscalls\": {\"allow\": [\"shmget\"]}}", SYS_shmat, "" },
		{ "{\"syscalls\": {\"deny\": [\"memfd_create\"]}}", SYS_memfd_create, "" },
		{ empty, SYS_ptrace, "" },
		{ empty, 100000, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct suggestion suggestions[SUGGESTION_MAX];
		struct policy *policy = bound(rows[i].policy);
		size_t count = suggest_syscall(policy, rows[i].number, suggestions);
		char what[32];
		snprintf(what, sizeof(what), "call %d", rows[i].number);
		expect(suggestions, count, rows[i].expected, what);
		for (size_t j = 0; j < count; j++) {
			struct policy *opened = patched(rows[i].policy, suggestions, j, j);
			tap_ok(opened && decide_syscall(opened, rows[i].number, true).kind == DECISION_ALLOW, "suggestion %zu opens it", j);
			policy_free(opened);
		}
		free_all(suggestions, count);
		policy_free(policy);
	}
}

static void test_limits(void)
{
	static const struct {
		const char *policy;
		enum limit_id limit;
		const char *expected;
	} rows[] = {
		{ nothing_below, LIMIT_WALL, "/limits/wall \"6s\" (time from start to end: up to 6s) | /limits/wall \"30s\" (time from start to end: up to 30s)" },
		{ empty, LIMIT_CPU,
		  "/limits {\"cpu\": \"20s\"} (CPU time of the whole tree, user and system: up to 20s) | /limits {\"cpu\": \"100s\"} (CPU time of the whole "
		  "tree, user and system: up to 100s)" },
		{ nothing_below, LIMIT_OUTPUT, "" },
		{ empty, LIMIT_WORKSPACE, "" },
		{ empty, LIMIT_MEMORY, "/limits {\"memory\": \"1G\"} (memory of the whole tree: up to 1G) | /limits {\"memory\": \"5G\"} (memory of "
		  "the whole tree: up to 5G)" },
		{ "{\"limits\": {\"output\": 9007199254740991}}", LIMIT_OUTPUT, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct suggestion suggestions[SUGGESTION_MAX];
		struct policy *policy = bound(rows[i].policy);
		size_t count = suggest_limit(policy, rows[i].limit, suggestions);
		expect(suggestions, count, rows[i].expected, limit_rows[rows[i].limit].key);
		for (size_t j = 0; j < count; j++) {
			struct policy *opened = patched(rows[i].policy, suggestions, j, j);
			tap_ok(opened && opened->limits[rows[i].limit].value > policy->limits[rows[i].limit].value, "suggestion %zu is a higher limit", j);
			policy_free(opened);
		}
		free_all(suggestions, count);
		policy_free(policy);
	}
}

int main(void)
{
	test_paths();
	test_network();
	test_odd_addresses();
	test_calls();
	test_limits();
	return tap_done();
}
