/* Decisions: which entry decides, which rule is named, where a refusal points to, and which entries came near. */
#include "base/syscalls.h"
#include "policy/decide.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/syscall.h>

enum { SELF = 4242, R = ACCESS_READ, W = ACCESS_WRITE, X = ACCESS_EXECUTE, S = ACCESS_STAT };

static const char main_policy[] =
	"{\"paths\": {\n"
	" \"read\": [\"/data/**\", \"/etc/passwd\", \"/proc/self/**\", \"/both\"],\n"
	" \"write\": [\"/out/*\", \"/both\", \"/data/deep/er/log\"],\n"
	" \"execute\": [\"/bin/*\", {\"path\": \"/bin/tool\", \"sha256\": \"1111111111111111111111111111111111111111111111111111111111111111\"},\n"
	"  {\"path\": \"/bin/t*\", \"sha256\": \"2222222222222222222222222222222222222222222222222222222222222222\"}],\n"
	" \"deny\": [\"/data/secret/**\", \"/data/*.key\"],\n"
	" \"hide\": [\"/data/hidden/**\", \"/data/secret/hidden\"]\n"
	"},\n"
	"\"network\": {\n"
	" \"connect\": [\"tcp:10.0.0.0/8:443\", \"192.0.2.1:53\", \"localhost:8080\", \"unix:/run/*.sock\", \"unix:@app*\", \"unix:/data/secret/s\"],\n"
	" \"bind\": [\"127.0.0.1:8000-8010\", \"unix:@mine\"]\n"
	"},\n"
	"\"syscalls\": {\"allow\": [\"shmget\", \"memfd_create\"], \"deny\": [\"fork\", \"memfd_create\", \"semget\"]}}";

static const struct policy_variables variables = { .workspace = "/tmp/ws", .cwd = "/home/u/project", .home = "/home/u" };

static struct policy *bound(const char *text)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	if (policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error) != 0 || policy_bind(policy, &variables, &error) != 0) {
		tap_ok(false, "a policy loads: %s", error.message);
		exit(tap_done());
	}
	return policy;
}

static const char *const kinds[] = { [DECISION_DENY] = "deny", [DECISION_ALLOW] = "allow", [DECISION_HIDE] = "hide" };

/* "kind rule pointer entry", with a dash for what there is not. */
static void expect(struct decision decision, const char *expected, const char *what)
{
	char text[400];
	const char *rule = rule_name(decision.rule);
	snprintf(text, sizeof(text), "%s %s %s %s", kinds[decision.kind], rule ? rule : "-",
		 decision.position ? decision.position->pointer : "-", decision.matched ? decision.matched->text : "-");
	tap_string(text, expected, "%s", what);
}

static const struct path_case {
	unsigned access;
	const char *path, *expected;
} path_cases[] = {
	/* each access has its list */
	{ R, "/data/x", "allow - /paths/read/0 /data/**" },
	{ R, "/data", "allow - /paths/read/0 /data/**" },
	{ R, "/etc/passwd", "allow - /paths/read/1 /etc/passwd" },
	{ R, "/etc/shadow", "deny policy_blocked_read /paths/read -" },
	{ W, "/data/x", "deny policy_blocked_write /paths/write -" },
	{ X, "/data/x", "deny policy_blocked_execute /paths/execute -" },
	{ W, "/out/x", "allow - /paths/write/0 /out/*" },
	{ R, "/out/x", "deny policy_blocked_read /paths/read -" },
	{ W, "/out", "deny policy_blocked_write /paths/write -" },
	{ X, "/bin/sh", "allow - /paths/execute/0 /bin/*" },
	{ R, "/bin/sh", "deny policy_blocked_read /paths/read -" },
	/* all of them are needed, and the first missing is named */
	{ R | W, "/both", "allow - /paths/write/1 /both" },
	{ R | W, "/data/x", "deny policy_blocked_write /paths/write -" },
	{ R | W, "/out/x", "deny policy_blocked_read /paths/read -" },
	{ R | W, "/nowhere", "deny policy_blocked_read /paths/read -" },
	{ W | X, "/nowhere", "deny policy_blocked_write /paths/write -" },
	{ R | X, "/data/x", "deny policy_blocked_execute /paths/execute -" },
	/* deny beats every allow */
	{ R, "/data/secret/x", "deny policy_blocked_read /paths/deny/0 /data/secret/**" },
	{ R, "/data/secret", "deny policy_blocked_read /paths/deny/0 /data/secret/**" },
	{ W, "/data/a.key", "deny policy_blocked_write /paths/deny/1 /data/*.key" },
	{ R | W, "/data/a.key", "deny policy_blocked_read /paths/deny/1 /data/*.key" },
	{ X, "/data/a.key", "deny policy_blocked_execute /paths/deny/1 /data/*.key" },
	{ R, "/data/secrets", "allow - /paths/read/0 /data/**" },
	{ R, "/data/sub/a.key", "allow - /paths/read/0 /data/**" },
	/* hide beats deny */
	{ R, "/data/hidden/x", "hide - /paths/hide/0 /data/hidden/**" },
	{ R, "/data/secret/hidden", "hide - /paths/hide/1 /data/secret/hidden" },
	{ S, "/data/hidden", "hide - /paths/hide/0 /data/hidden/**" },
	/* metadata is free under "any" */
	{ S, "/etc/shadow", "allow - - -" },
	{ S, "/data/secret/x", "allow - - -" },
	{ S | R, "/etc/shadow", "deny policy_blocked_read /paths/read -" },
	{ S | R, "/data/x", "allow - /paths/read/0 /data/**" },
	/* the process itself */
	{ R, "/proc/4242/maps", "allow - /paths/read/2 /proc/self/**" },
	{ R, "/proc/4243/maps", "deny policy_blocked_read /paths/read -" },
	{ R, "/proc/1/environ", "deny policy_blocked_read /paths/read -" },
	/* by components, and canonical only */
	{ R, "/database", "deny policy_blocked_read /paths/read -" },
	{ R, "/data/../etc/shadow", "deny policy_blocked_read /paths/read -" },
	{ R, "/data/./x", "deny policy_blocked_read /paths/read -" },
	{ R, "/data//x", "deny policy_blocked_read /paths/read -" },
	{ R, "/data/", "deny policy_blocked_read /paths/read -" },
	{ R, "data/x", "deny policy_blocked_read /paths/read -" },
	{ R, "", "deny policy_blocked_read /paths/read -" },
	{ S, "/data/..", "deny policy_blocked_stat /paths/read -" },
	{ R, "/", "deny policy_blocked_read /paths/read -" },
	{ 0, "/data/x", "deny policy_blocked_stat /paths/read -" },
};

static void test_paths(const struct policy *policy, const struct path_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct path_request request = { .access = cases[i].access, .path = cases[i].path, .self = SELF };
		char what[200];
		snprintf(what, sizeof(what), "access %u to \"%s\"", cases[i].access, cases[i].path);
		expect(decide_path(policy, &request), cases[i].expected, what);
	}
}

static void test_no_caller(const struct policy *policy)
{
	const struct path_request request = { .access = R, .path = "/proc/0/maps" };
	expect(decide_path(policy, &request), "deny policy_blocked_read /paths/read -", "without a caller nobody is /proc/self");
}

static void test_names(const struct policy *policy)
{
	static const struct path_case cases[] = {
		{ R, "/elsewhere/link", "allow - - -" },
		{ R, "/data/secret", "deny policy_blocked_read /paths/deny/0 /data/secret/**" },
		{ X, "/data/secret", "deny policy_blocked_execute /paths/deny/0 /data/secret/**" },
		{ S, "/data/secret", "allow - - -" },
		{ R, "/data/hidden", "hide - /paths/hide/0 /data/hidden/**" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct path_request request = { .access = cases[i].access, .path = cases[i].path, .self = SELF };
		expect(decide_name(policy, &request), cases[i].expected, cases[i].path);
	}
}

static void test_listed(void)
{
	static const struct path_case cases[] = {
		{ S, "/data/a/x", "allow - /paths/read/0 /data/a/**" },
		{ S, "/data/a", "allow - /paths/read/0 /data/a/**" },
		{ S, "/data", "allow - /paths/read/0 /data/a/**" },
		{ S, "/", "allow - /paths/read/0 /data/a/**" },
		{ S, "/data/b", "deny policy_blocked_stat /paths/stat -" },
		{ S, "/out", "allow - /paths/write/0 /out/x/y" },
		{ S, "/out/x", "allow - /paths/write/0 /out/x/y" },
		{ S, "/out/x/y", "allow - /paths/write/0 /out/x/y" },
		{ S, "/out/x/y/z", "deny policy_blocked_stat /paths/stat -" },
		{ S, "/bin", "allow - /paths/execute/0 /bin/*" },
		{ S, "/run", "allow - /network/connect/0 unix:/run/app.sock" },
		{ S, "/run/app.sock", "allow - /network/connect/0 unix:/run/app.sock" },
		{ S, "/run/other", "deny policy_blocked_stat /paths/stat -" },
		{ S, "/data/a/secret", "deny policy_blocked_stat /paths/deny/0 /data/a/secret/**" },
		{ S, "/data/a/secret/x", "deny policy_blocked_stat /paths/deny/0 /data/a/secret/**" },
		{ S, "/etc", "deny policy_blocked_stat /paths/stat -" },
		{ R, "/data/b", "deny policy_blocked_read /paths/read -" },
		{ S | W, "/out/x/y", "allow - /paths/write/0 /out/x/y" },
	};
	struct policy *policy = bound("{\"paths\": {\"stat\": \"listed\", \"read\": [\"/data/a/**\"], \"write\": [\"/out/x/y\"], \"execute\": [\"/bin/*\"], "
				      "\"deny\": [\"/data/a/secret/**\"]}, \"network\": {\"connect\": [\"unix:/run/app.sock\"]}}");
	tap_ok(policy_inspects_metadata(policy), "metadata is inspected");
	test_paths(policy, cases, sizeof(cases) / sizeof(*cases));
	policy_free(policy);
}

static void test_empty(void)
{
	struct policy *policy = bound("{}");
	static const struct path_case cases[] = {
		{ R, "/etc/passwd", "deny policy_blocked_read /paths/read -" }, { W, "/dev/null", "deny policy_blocked_write /paths/write -" },
		{ X, "/bin/true", "deny policy_blocked_execute /paths/execute -" }, { R, "/", "deny policy_blocked_read /paths/read -" },
	};
	tap_ok(!policy_inspects_metadata(policy), "metadata is not inspected");
	test_paths(policy, cases, sizeof(cases) / sizeof(*cases));
	struct address address = { .kind = ADDRESS_IPV4, .bytes = { 127, 0, 0, 1 }, .port = 80 };
	expect(decide_connect(policy, &address), "deny policy_blocked_network /network/connect -", "no connection");
	expect(decide_bind(policy, &address), "deny policy_blocked_bind /network/bind -", "no bind");
	tap_ok(!decide_has_network(policy), "no network");
	policy_free(policy);
}

static void test_dropped(void)
{
	struct policy *policy = bound("{\"paths\": {\"read\": [\"${SCRIPT}\"], \"deny\": [\"${SCRIPT_DIR}/**\"]}, \"network\": {\"connect\": "
				      "[\"unix:${SCRIPT}\"]}}");
	static const struct path_case cases[] = { { R, "/", "deny policy_blocked_read /paths/read -" },
						  { R, "/x", "deny policy_blocked_read /paths/read -" } };
	test_paths(policy, cases, 2);
	tap_ok(!decide_has_network(policy), "an entry without a value is no entry");
	policy_free(policy);
}

/* An entry that ends in a slash opens listings: what the call itself guarantees to be a folder. */
static void test_folders_only(void)
{
	struct policy *policy = bound("{\"paths\": {\"read\": [\"/app/**/\", \"/one/\", \"/app/**/*.py\"]}}");
	static const struct {
		const char *path;
		bool directory, allowed;
	} rows[] = {
		{ "/app", true, true },       { "/app/pkg", true, true },    { "/app/a/b", true, true },  { "/app", false, false },
		{ "/app/pkg", false, false }, { "/app/x.py", false, true },  { "/app/x.py", true, true }, { "/one", true, true },
		{ "/one", false, false },     { "/one/two", true, false },   { "/", true, false },        { "/other", true, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct path_request request = { .access = R, .path = rows[i].path, .self = SELF, .directory = rows[i].directory };
		tap_ok((decide_path(policy, &request).kind == DECISION_ALLOW) == rows[i].allowed, "%s %s is %s", rows[i].path,
		       rows[i].directory ? "as a folder" : "as whatever it is", rows[i].allowed ? "allowed" : "refused");
		const struct path_request write = { .access = W, .path = rows[i].path, .self = SELF, .directory = rows[i].directory };
		tap_number(decide_path(policy, &write).kind, DECISION_DENY, "writing there is another matter");
	}
	struct considered considered[2];
	const struct path_request request = { .access = R, .path = "/one", .self = SELF };
	size_t count = decide_consider_path(policy, &request, considered, 2);
	tap_ok(count == 1 && strcmp(considered[0].why, "covers the listing of folders, not files") == 0, "and the near miss says so");
	char *shown = policy_to_json(policy);
	tap_contains(shown, "{\"entry\": \"/one/\", \"from\"", "shown as it is written");
	free(shown);
	policy_free(policy);
}

static void test_protected(const struct policy *policy)
{
	static const char *const rows[][2] = {
		{ "/data", "/data/secret/**" }, { "/data/secret", "/data/secret/**" }, { "/", "/data/secret/**" }, { "/data/x", NULL },
		{ "/bin", "/bin/tool" },        { "/bin/tool", NULL },               { "/etc", NULL },              { "/out", NULL },
		{ "/data/hidden", "/data/hidden/**" }, { "/database", NULL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rule *rule = decide_protected_below(policy, rows[i][0], SELF);
		tap_string(rule ? rule->text : NULL, rows[i][1], "moving %s", rows[i][0]);
	}
	struct policy *anywhere = bound("{\"paths\": {\"deny\": [\"/**/*.key\", \"/**/.ssh/**\"]}}");
	tap_ok(!decide_protected_below(anywhere, "/home/u", SELF), "what holds everywhere holds after a move");
	tap_ok(decide_protected_below(anywhere, "/home/u/.ssh", SELF), "but not when the name that counts is moved");
	policy_free(anywhere);
}

static void test_gains(void)
{
	static const struct {
		const char *from, *to, *below;
		unsigned gained;
	} rows[] = {
		{ "/data/x", "/out/x", NULL, 0 },
		{ "/out/x", "/data/x", "/data/**", R },
		{ "/out/x", "/bin/x", NULL, X },
		{ "/data/x", "/data/y", NULL, 0 },
		{ "/out/a", "/out/b", NULL, 0 },
		{ "/src/a", "/src/b", NULL, 0 },           /* as deep, and the same below it */
		{ "/src/a", "/src/lib", "/src/**/lib/*.h", 0 }, /* its new name is part of what is matched */
		{ "/src/lib", "/src/a", NULL, 0 },
		{ "/work/a", "/work/b", NULL, 0 },
		{ "/work/a/deep", "/work/b", "/work/*/in", 0 },
		{ "/elsewhere/data", "/work/data", "/work/*/in", 0 },
	};
	struct policy *policy = bound("{\"paths\": {\"read\": [\"/data/**\", \"/src/**/*.c\", \"/src/**/lib/*.h\", \"/work/*/in\", \"/out/**/\"], "
				      "\"write\": [\"/**\"], \"execute\": [\"/bin/*\"]}}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		enum rule_list list;
		const struct rule *rule = decide_gained_below(policy, rows[i].from, rows[i].to, SELF, &list);
		tap_string(rule ? rule->text : NULL, rows[i].below, "what %s opens below it as %s", rows[i].from, rows[i].to);
		tap_ok(decide_gained(policy, rows[i].from, rows[i].to, false, SELF) == rows[i].gained, "what a file %s gains as %s",
		       rows[i].from, rows[i].to);
	}
	policy_free(policy);
}

static void test_hashes(const struct policy *policy)
{
	const char *first = decide_required_sha256(policy, "/bin/tool", SELF), *second = decide_required_sha256(policy, "/bin/tar", SELF);
	tap_ok(first && first[0] == '1', "the first entry with a hash counts, an entry without one does not lift it");
	tap_ok(second && second[0] == '2', "another entry with a pattern and a hash");
	tap_string(decide_required_sha256(policy, "/bin/sh", SELF), NULL, "any content");
	tap_string(decide_required_sha256(policy, "/data/x", SELF), NULL, "no entry, no hash");
}

/* ---- network ---- */

static struct address address_of(const char *text)
{
	struct address address;
	struct error error;
	if (address_parse(text, &address, &error) != 0)
		tap_ok(false, "%s: %s", text, error.message);
	return address;
}

static void test_network(const struct policy *policy)
{
	static const struct {
		bool bind;
		const char *address, *expected;
	} rows[] = {
		{ false, "tcp:10.1.2.3:443", "allow - /network/connect/0 tcp:10.0.0.0/8:443" },
		{ false, "udp:10.1.2.3:443", "deny policy_blocked_network /network/connect -" },
		{ false, "10.1.2.3:443", "deny policy_blocked_network /network/connect -" },
		{ false, "tcp:10.1.2.3:80", "deny policy_blocked_network /network/connect -" },
		{ false, "udp:192.0.2.1:53", "allow - /network/connect/1 192.0.2.1:53" },
		{ false, "tcp:127.0.0.1:8080", "allow - /network/connect/2 localhost:8080" },
		{ false, "tcp:[::1]:8080", "allow - /network/connect/2 localhost:8080" },
		{ false, "tcp:0.0.0.0:8080", "allow - /network/connect/2 localhost:8080" },
		{ false, "tcp:[::]:8080", "allow - /network/connect/2 localhost:8080" },
		{ false, "tcp:[::ffff:127.0.0.1]:8080", "allow - /network/connect/2 localhost:8080" },
		{ false, "tcp:127.0.0.2:8080", "deny policy_blocked_network /network/connect -" },
		{ false, "unix:/run/app.sock", "allow - /network/connect/3 unix:/run/*.sock" },
		{ false, "unix:/run/a/b.sock", "deny policy_blocked_network /network/connect -" },
		{ false, "unix:/run/../etc/x.sock", "deny policy_blocked_network /network/connect -" },
		{ false, "unix:@application", "allow - /network/connect/4 unix:@app*" },
		{ false, "unix:@other", "deny policy_blocked_network /network/connect -" },
		{ false, "unix:/data/secret/s", "deny policy_blocked_network /paths/deny/0 /data/secret/**" },
		{ false, "unix:/data/hidden/s", "hide - /paths/hide/0 /data/hidden/**" },
		{ true, "tcp:127.0.0.1:8005", "allow - /network/bind/0 127.0.0.1:8000-8010" },
		{ true, "tcp:127.0.0.1:8011", "deny policy_blocked_bind /network/bind -" },
		{ true, "tcp:0.0.0.0:8005", "deny policy_blocked_bind /network/bind -" },
		{ true, "tcp:[::1]:8005", "deny policy_blocked_bind /network/bind -" },
		{ true, "unix:@mine", "allow - /network/bind/1 unix:@mine" },
		{ true, "unix:@app1", "deny policy_blocked_bind /network/bind -" },
		{ true, "unix:/out/s", "allow - /paths/write/0 /out/*" },
		{ true, "unix:/run/app.sock", "deny policy_blocked_write /paths/write -" },
		{ true, "unix:/data/secret/s", "deny policy_blocked_write /paths/deny/0 /data/secret/**" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct address address = address_of(rows[i].address);
		char what[200];
		snprintf(what, sizeof(what), "%s %s", rows[i].bind ? "bind" : "connect", rows[i].address);
		expect(rows[i].bind ? decide_bind(policy, &address) : decide_connect(policy, &address), rows[i].expected, what);
	}
	tap_ok(decide_has_network(policy), "there is some network");
	static const enum address_kind odd[] = { ADDRESS_NONE, ADDRESS_OTHER, ADDRESS_UNIX_UNNAMED };
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct address address = { .kind = odd[i] };
		tap_number(decide_connect(policy, &address).kind, DECISION_DENY, "no entry covers kind %d", odd[i]);
		tap_number(decide_bind(policy, &address).kind, DECISION_DENY, "not to bind either: kind %d", odd[i]);
	}
}

static void test_calls(const struct policy *policy)
{
	expect(decide_syscall(policy, SYS_fork, false), "deny policy_blocked_syscall /syscalls/deny/0 fork", "fork is denied");
	expect(decide_syscall(policy, SYS_vfork, false), "allow - - -", "vfork is another call");
	expect(decide_syscall(policy, SYS_shmget, true), "allow - /syscalls/allow/0 shmget", "shmget is opened");
	expect(decide_syscall(policy, SYS_shmat, true), "allow - /syscalls/allow/0 shmget", "with its family");
	expect(decide_syscall(policy, SYS_msgget, true), "deny policy_blocked_syscall /syscalls/allow -", "msgget is not");
	expect(decide_syscall(policy, SYS_memfd_create, true), "deny policy_blocked_syscall /syscalls/deny/1 memfd_create",
	       "deny beats allow");
	expect(decide_syscall(policy, SYS_semop, true), "deny policy_blocked_syscall /syscalls/deny/2 semget", "deny covers the family");
	expect(decide_syscall(policy, SYS_ptrace, true), "deny policy_blocked_syscall /syscalls/allow -", "ptrace has no key");
	expect(decide_syscall(policy, 100000, true), "deny policy_blocked_syscall /syscalls/allow -", "nor has an unknown number");
	expect(decide_syscall(policy, SYS_getpid, false), "allow - - -", "other calls are not our business");
}

/* ---- near misses ---- */

static void expect_considered(const struct considered *considered, size_t count, const char *expected, const char *what)
{
	char text[1000] = "";
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s (%s)", i ? "; " : "", considered[i].rule->text, considered[i].why);
	tap_string(text, expected, "near %s", what);
}

static void test_considered_paths(const struct policy *policy)
{
	static const struct path_case cases[] = {
		{ W, "/data/x", "/data/** (allows read, not write); /data/deep/er/log (component 2 is \"x\", not \"deep\")" },
		{ R, "/etc/shadow", "/etc/passwd (component 2 is \"shadow\", not \"passwd\")" },
		{ R, "/out/x", "/out/* (allows write, not read)" },
		{ W, "/out/x/y", "/out/* (names the folder itself; \"/out/*/**\" is what is below it too)" },
		{ W, "/out", "/out/* (the path ends before component 2, \"*\")" },
		{ R, "/data/secret/x", "/data/** (allows read, but a deny entry beats it)" },
		{ R, "/nowhere", "" },
		{ R, "/data/x", "" },
		{ R, "/proc/1/maps", "/proc/self/** (component 2 is \"1\", not \"self\")" },
		{ W, "/data/deep/er/x", "/data/** (allows read, not write); /data/deep/er/log (component 4 is \"x\", not \"log\")" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct considered considered[4];
		const struct path_request request = { .access = cases[i].access, .path = cases[i].path, .self = SELF };
		size_t count = decide_consider_path(policy, &request, considered, 4);
		expect_considered(considered, count, cases[i].expected, cases[i].path);
	}
}

static void test_considered_through_links(const struct policy *policy)
{
	static const struct {
		const char *given, *expected;
	} cases[] = {
		{ "/data/link/x", "/data/** (covers the name, but a link leads from there to elsewhere)" },
		{ "/data/deep/er/log", "/data/** (covers the name, but a link leads from there to elsewhere)" },
		{ "/data/../elsewhere/x", "" },
		{ "data/link/x", "" },
		{ "/out/link", "" },
		{ NULL, "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct considered considered[4];
		const struct path_request request = { .access = R, .path = "/elsewhere/x", .given = cases[i].given, .self = SELF };
		size_t count = decide_consider_path(policy, &request, considered, 4);
		expect_considered(considered, count, cases[i].expected, cases[i].given ? cases[i].given : "an unknown name");
		tap_ok(decide_path(policy, &request).kind == DECISION_DENY, "and the name as given allows nothing");
	}
}

static void test_considered_order(void)
{
	struct policy *policy = bound("{\"paths\": {\"read\": [\"/a/x\", \"/a/b/x\", \"/a/b/c/x\", \"/a/b/y\", \"/a/b/c/y\", \"${SCRIPT}\", \"/b/c\"]}}");
	struct considered considered[8];
	const struct path_request request = { .access = R, .path = "/a/b/c/d", .self = SELF };
	static const char *const order[] = { "/a/b/c/x", "/a/b/c/y", "/a/b/x", "/a/b/y", "/a/x", "${SCRIPT}" };
	size_t count = decide_consider_path(policy, &request, considered, 8);
	tap_number((long long)count, 6, "six are near enough to be named");
	for (size_t i = 0; i < count && i < 6; i++)
		tap_string(considered[i].rule->text, order[i], "nearest first, then as written (%zu)", i);
	tap_string(considered[5].why, "${SCRIPT} has no value in this run", "an entry without a value comes last");
	for (size_t most = 0; most <= 3; most++) {
		count = decide_consider_path(policy, &request, considered, most);
		tap_number((long long)count, (long long)most, "no more than asked for");
		for (size_t i = 0; i < count; i++)
			tap_string(considered[i].rule->text, order[i], "the best of them (%zu of %zu)", i, most);
	}
	policy_free(policy);
}

static void test_considered_network(const struct policy *policy)
{
	static const struct {
		enum rule_list list;
		const char *address, *expected;
	} rows[] = {
		{ LIST_CONNECT, "tcp:10.1.2.3:80", "tcp:10.0.0.0/8:443 (port 80 is not 443)" },
		{ LIST_CONNECT, "udp:10.1.2.3:443", "tcp:10.0.0.0/8:443 (covers TCP, not UDP)" },
		{ LIST_CONNECT, "tcp:192.0.2.9:53", "192.0.2.1:53 (the address is another one)" },
		{ LIST_CONNECT, "tcp:0.0.0.0:81", "localhost:8080 (port 81 is not 8080)" },
		{ LIST_CONNECT, "tcp:203.0.113.1:9", "" },
		{ LIST_CONNECT, "unix:/run/x", "unix:/run/*.sock (component 2 is \"x\", not \"*.sock\")" },
		{ LIST_CONNECT, "unix:@other", "unix:@app* (the name is another one)" },
		{ LIST_CONNECT, "tcp:10.1.2.3:443", "" },
		{ LIST_BIND, "tcp:127.0.0.1:9000", "127.0.0.1:8000-8010 (port 9000 is not in 8000-8010)" },
		{ LIST_BIND, "tcp:0.0.0.0:8001", "127.0.0.1:8000-8010 (the address is another one)" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct considered considered[4];
		struct address address = address_of(rows[i].address);
		size_t count = decide_consider_connect(policy, rows[i].list, &address, considered, 4);
		expect_considered(considered, count, rows[i].expected, rows[i].address);
	}
}

int main(void)
{
	struct policy *policy = bound(main_policy);
	tap_ok(policy_inspects_metadata(policy), "a hide entry makes metadata inspected");
	test_paths(policy, path_cases, sizeof(path_cases) / sizeof(*path_cases));
	test_no_caller(policy);
	test_names(policy);
	test_listed();
	test_empty();
	test_dropped();
	test_folders_only();
	test_protected(policy);
	test_gains();
	test_hashes(policy);
	test_network(policy);
	test_calls(policy);
	test_considered_paths(policy);
	test_considered_through_links(policy);
	test_considered_order();
	test_considered_network(policy);
	policy_free(policy);
	return tap_done();
}
