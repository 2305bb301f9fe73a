/* The shipped policies: byte for byte what lies in policies/, sound, and neither more nor less open than they promise. And
 * the schema: it knows the keys that the loader knows. Run from the top of the project. */
#include "base/text.h"
#include "policy/decide.h"
#include "tap.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { SELF = 4242, R = ACCESS_READ, W = ACCESS_WRITE, X = ACCESS_EXECUTE, FOLDER = 1 << 8 };

static const struct policy_variables variables = { .workspace = "/tmp/bailiff-x", .cwd = "/home/u/project", .home = "/home/u",
						   .script = "/srv/app/main.py", .script_dir = "/srv/app" };

static char *read_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	struct text text = { 0 };
	char buffer[4096];
	size_t count;
	if (!tap_ok(file != NULL, "%s can be read", path))
		return NULL;
	while ((count = fread(buffer, 1, sizeof(buffer), file)) > 0)
		text_append_bytes(&text, buffer, count);
	fclose(file);
	*length = text.length;
	return text.bytes;
}

static void test_embedded(const struct shipped_policy *shipped)
{
	size_t length = 0;
	char *path = text_format("policies/%s.json", shipped->name);
	char *text = read_file(path, &length);
	tap_ok(text && length == shipped->length && memcmp(text, shipped->text, length) == 0, "%s is embedded byte for byte", path);
	tap_ok(shipped->text[shipped->length] == '\0', "with a zero behind it");
	free(text);
	free(path);
}

static struct policy *bound(const char *name)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	bool sound = policy_load(name, NULL, 0, &policy, &error) == 0 && policy_bind(policy, &variables, &error) == 0;
	tap_ok(sound, "%s is sound", name);
	if (!sound)
		printf("# %s\n", error.message);
	return policy;
}

static void test_shipped(const struct shipped_policy *shipped)
{
	struct policy *policy = bound(shipped->name);
	if (!policy)
		return;
	bool denies_all = strcmp(shipped->name, "deny-all") == 0;
	bool alone = denies_all || strcmp(shipped->name, "default") == 0;
	tap_string(policy->name, shipped->name, "it is called by its name");
	tap_ok(policy->description && strlen(policy->description) > 20, "%s says what it is for", shipped->name);
	tap_number((long long)policy->file_count, alone ? 1 : 2, "%s extends default, or nothing", shipped->name);
	tap_string(policy->files[0].file, denies_all ? "policy:deny-all" : "policy:default", "the base of %s", shipped->name);
	tap_number((long long)policy->lists[LIST_CONNECT].count, 0, "%s connects to nothing", shipped->name);
	tap_ok(policy->lists[LIST_BIND].count == 0 || strcmp(shipped->name, "python") == 0, "%s binds nothing", shipped->name);
	tap_ok(policy->on_violation == ON_VIOLATION_KILL && !policy->stat_listed, "%s kills, and does not inspect metadata", shipped->name);
	tap_number((long long)(policy->lists[LIST_SYSCALL_ALLOW].count), 0, "%s opens no system calls", shipped->name);
	policy_free(policy);
}

/* One row per promise: who may what. */
static const struct promise {
	const char *policy;
	unsigned access;
	const char *path;
	bool allowed;
} promises[] = {
	{ "default", X, "/usr/bin/ls", true },
	{ "default", X, "/usr/sbin/ldconfig", true },
	{ "default", X, "/usr/local/bin/tool", true },
	{ "default", X, "/usr/lib/git-core/git-log", true },
	{ "default", X, "/usr/lib/gcc/x86_64-linux-gnu/12/lto1", true },
	{ "default", X, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", false },
	{ "default", X, "/usr/lib64/ld-linux-x86-64.so.2", false },
	{ "default", X, "/lib/ld-musl-x86_64.so.1", false },
	{ "default", X, "/tmp/bailiff-x/a.out", false },
	{ "default", X, "/home/u/project/a.out", false },
	{ "default", R, "/usr/lib/x86_64-linux-gnu/libc.so.6", true },
	{ "default", R, "/usr/share/zoneinfo/Europe/Berlin", true },
	{ "default", R, "/etc/passwd", true },
	{ "default", R, "/etc/group", true },
	{ "default", R, "/etc/ld.so.cache", true },
	{ "default", R, "/etc/ssl/certs/ca-certificates.crt", true },
	{ "default", R, "/etc/ssl/private/key.pem", false },
	{ "default", R, "/etc/shadow", false },
	{ "default", R, "/etc/gshadow", false },
	{ "default", R, "/etc/passwd-", false },
	{ "default", R, "/etc/sudoers", false },
	{ "default", R, "/etc/ssh/ssh_host_rsa_key", false },
	{ "default", R, "/etc/pip.conf", false },
	{ "default", R, "/root/.ssh/id_rsa", false },
	{ "default", R, "/home/u/.bashrc", false },
	{ "default", R, "/home/u/project", true },
	{ "default", R, "/home/u/project/file", false },
	{ "default", R, "/var/lib/x", false },
	{ "default", R, "/tmp", false },
	{ "default", R, "/tmp/other", false },
	{ "default", R, "/proc/4242/status", true },
	{ "default", R, "/proc/4242/environ", true },
	{ "default", R, "/proc/4242/task/4243/stat", true },
	{ "default", R, "/proc/4243/status", false },
	{ "default", R, "/proc/1/environ", false },
	{ "default", R, "/proc/4242/mem", false },
	{ "default", W, "/proc/4242/mem", false },
	{ "default", W, "/proc/4242/task/4243/mem", false },
	{ "default", W, "/proc/4242/oom_score_adj", false },
	{ "default", R, "/proc/cpuinfo", true },
	{ "default", R, "/proc/kcore", false },
	{ "default", R, "/proc/kallsyms", false },
	{ "default", R, "/proc/cmdline", false },
	{ "default", W, "/proc/sys/kernel/hostname", false },
	{ "default", W, "/sys/fs/cgroup/cgroup.procs", false },
	{ "default", R | W, "/dev/null", true },
	{ "default", R, "/dev/urandom", true },
	{ "default", R, "/dev/tty", false },
	{ "default", R, "/dev/sda", false },
	{ "default", R, "/dev/mem", false },
	{ "default", W, "/dev/shm/x", false },
	{ "default", R | W, "/tmp/bailiff-x/a/b", true },
	{ "default", W, "/tmp/bailiff-y/a", false },
	{ "default", W, "/usr/lib/x", false },
	{ "default", W, "/etc/passwd", false },
	{ "deny-all", X, "/usr/bin/true", false },
	{ "deny-all", R, "/usr/lib/x86_64-linux-gnu/libc.so.6", false },
	{ "deny-all", W, "/dev/null", false },
	{ "deny-all", R, "/tmp/bailiff-x/a", false },
	{ "python", R, "/srv/app/main.py", true },
	{ "python", R, "/srv/app/pkg", false },
	{ "python", R | FOLDER, "/srv/app", true },
	{ "python", R | FOLDER, "/srv/app/pkg", true },
	{ "python", R | FOLDER, "/srv", false },
	{ "python", R, "/srv/app/lib/deep/x.py", true },
	{ "python", R, "/srv/app/secrets.txt", false },
	{ "python", R, "/srv/app/.env", false },
	{ "python", W, "/srv/app/main.py", false },
	{ "python", R, "/srv", false },
	{ "python", R, "/home/u/project/x.py", false },
	{ "node", R, "/srv/app/lib/x.js", true },
	{ "node", R, "/srv/app/package.json", true },
	{ "node", R, "/srv/app/node_modules/m/README", true },
	{ "node", R, "/home/u/project/package.json", true },
	{ "node", R, "/home/u/project/.env", false },
	{ "node", R, "/srv/app/.env", false },
	{ "shell", R, "/home/u/project/a/b", true },
	{ "shell", W, "/home/u/project/a", false },
	{ "shell", X, "/home/u/project/a", false },
	{ "c-build", R | W, "/home/u/project/main.o", true },
	{ "c-build", X, "/home/u/project/test", true },
	{ "c-build", X, "/tmp/bailiff-x/conftest", true },
	{ "c-build", W, "/usr/local/bin/x", false },
	{ "c-build", W, "/home/u/.bashrc", false },
	{ "git-read", R, "/home/u/project/.git/config", true },
	{ "git-read", W, "/home/u/project/.git/index.lock", false },
	{ "git-read", X, "/home/u/project/.git/hooks/post-checkout", false },
};

static void test_promises(void)
{
	struct policy *policy = NULL;
	const char *name = "";
	for (size_t i = 0; i < sizeof(promises) / sizeof(*promises); i++) {
		const struct promise *row = &promises[i];
		if (strcmp(name, row->policy) != 0) {
			policy_free(policy);
			name = row->policy;
			policy = bound(name);
		}
		const struct path_request request = { .access = row->access & ~(unsigned)FOLDER, .path = row->path, .self = SELF,
			.directory = (row->access & FOLDER) != 0 };
		tap_ok(policy && (decide_path(policy, &request).kind == DECISION_ALLOW) == row->allowed, "%s %s access %u to %s", name,
		       row->allowed ? "allows" : "refuses", row->access, row->path);
	}
	policy_free(policy);
}

/* ---- the schema ---- */

/* The keys that the loader knows in an object: it names them where it meets one that it does not. */
static char *known_keys(const char *before, const char *behind)
{
	struct policy *policy;
	struct error error = { 0 };
	char *text = text_format("%s{\"no_such_key\": 1}%s", before, behind);
	policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error);
	free(text);
	const char *keys = strstr(error.message, "; known keys: ");
	return text_duplicate(keys ? keys + strlen("; known keys: ") : "");
}

static void test_object(const cJSON *schema, const char *what, const char *before, const char *behind)
{
	const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	int count = 0;
	char *keys = known_keys(before, behind), *rest = keys, *key;
	while ((key = strsep(&rest, ", ")) && *keys) {
		if (*key == '\0')
			continue;
		tap_ok(cJSON_GetObjectItemCaseSensitive(properties, key) != NULL, "the schema knows %s in %s", key, what);
		count++;
	}
	tap_number(cJSON_GetArraySize(properties), count, "and nothing else in %s", what);
	tap_ok(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties")), "and refuses the rest of %s", what);
	free(keys);
}

static void test_schema(void)
{
	size_t length = 0;
	char *text = read_file("policies/schema/policy.schema.json", &length);
	cJSON *schema = text ? cJSON_Parse(text) : NULL;
	free(text);
	if (!tap_ok(schema != NULL, "the schema is JSON"))
		return;
	const cJSON *top = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	test_object(schema, "a policy", "", "");
	static const char *const objects[] = { "paths", "network", "environment", "limits", "syscalls" };
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		char *before = text_format("{\"%s\": ", objects[i]);
		test_object(cJSON_GetObjectItemCaseSensitive(top, objects[i]), objects[i], before, "}");
		free(before);
	}
	cJSON_Delete(schema);
}

int main(void)
{
	tap_ok(shipped_policy_count >= 7, "there are seven policies");
	tap_ok(!shipped_policy_find("nothing") && shipped_policy_find("default"), "found by name");
	for (size_t i = 0; i < shipped_policy_count; i++) {
		test_embedded(&shipped_policies[i]);
		test_shipped(&shipped_policies[i]);
	}
	test_promises();
	test_schema();
	return tap_done();
}
