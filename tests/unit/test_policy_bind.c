/* Binding: values of variables, spellings of linked folders, relative paths of the command line, and what a policy shows
 * of all that. */
#include "base/text.h"
#include "policy/decide.h"
#include "policy/spelling.h"
#include "policy/variables.h"
#include "tap.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_policy_bind.XXXXXX";
static char root[PATH_MAX]; /* the folder, without links on the way */

static char *in_folder(const char *name)
{
	return text_format("%s/%s", root, name);
}

static void make_folder(const char *name)
{
	char *path = in_folder(name);
	tap_number(mkdir(path, 0700), 0, "a folder %s", name);
	free(path);
}

static void make_link(const char *target, const char *name)
{
	char *path = in_folder(name);
	tap_number(symlink(target, path), 0, "a link %s -> %s", name, target);
	free(path);
}

static void make_file(const char *name)
{
	char *path = in_folder(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	tap_ok(fd >= 0, "a file %s", name);
	close(fd);
	free(path);
}

/* real/sub/file, link -> real, chain -> link, dangling -> real/none, loop -> loop, name -> real/sub/file */
static void make_tree(void)
{
	make_folder("real");
	make_folder("real/sub");
	make_file("real/sub/file");
	make_file("real/sta*r");
	make_link("real", "link");
	make_link("link", "chain");
	make_link("real/none", "dangling");
	make_link("loop", "loop");
	make_link("real/sub/file", "name");
	make_link("../real/sub", "real/up");
	make_link("/proc/self/fd", "fds");
	make_link("/", "top");
}

static void test_resolve(void)
{
	static const char *const rows[][2] = {
		{ "real/sub/file", "real/sub/file" }, { "link/sub/file", "real/sub/file" }, { "chain/sub", "real/sub" },
		{ "name", "real/sub/file" },          { "dangling", "real/none" },          { "link/none/x", "real/none/x" },
		{ "real/up/file", "real/sub/file" },  { "link", "real" },                   { "chain/up/file", "real/sub/file" },
		{ "none", "none" },                   { "name/x", "real/sub/file/x" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *path = in_folder(rows[i][0]), *expected = in_folder(rows[i][1]);
		char *resolved = spelling_resolve(path);
		tap_string(resolved, expected, "%s is %s", rows[i][0], rows[i][1]);
		free(path);
		free(expected);
		free(resolved);
	}
	char *loop = in_folder("loop/x"), *fds = in_folder("fds/3"), *top = in_folder("top"), *below_top = in_folder("top/etc");
	char *resolved = spelling_resolve(loop);
	tap_string(resolved, NULL, "a circle of links has no name");
	free(resolved);
	resolved = spelling_resolve(fds);
	tap_string(resolved, "/proc/self/fd/3", "the folders of processes are not entered");
	free(resolved);
	resolved = spelling_resolve(top);
	tap_string(resolved, "/", "a link to the root");
	free(resolved);
	resolved = spelling_resolve(below_top);
	tap_string(resolved, "/etc", "and below it");
	free(resolved);
	free(loop);
	free(fds);
	free(top);
	free(below_top);
	static const char *const kept[] = { "/", "/proc/self/exe", "/proc/1/root/x", "/proc/thread-self/fd", "/proc/uptime" };
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		resolved = spelling_resolve(kept[i]);
		tap_string(resolved, kept[i], "%s stays", kept[i]);
		free(resolved);
	}
	resolved = spelling_resolve("/proc/mounts");
	tap_string(resolved, "/proc/self/mounts", "/proc/mounts is the process' own");
	free(resolved);
}

static struct policy *bound(const char *text, const struct policy_override *overrides, size_t count,
			    const struct policy_variables *variables)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	if (policy_load_text("p.json", text, strlen(text), overrides, count, &policy, &error) != 0 ||
	    policy_bind(policy, variables, &error) != 0)
		tap_ok(false, "binds: %s (%s)", text, error.message);
	return policy;
}

/* The spellings of the first entry to read, joined with blanks, the folder written as T. */
static void expect_spellings(const struct policy *policy, enum rule_list list, const char *expected, const char *what)
{
	struct text text = { 0 };
	text_append(&text, "");
	if (!policy || policy->lists[list].count == 0)
		return;
	const struct rule *rule = &policy->lists[list].items[0];
	for (size_t i = 0; i < rule->pattern_count; i++) {
		const char *spelling = pattern_text(rule->patterns[i]);
		bool inside = strncmp(spelling, root, strlen(root)) == 0;
		text_printf(&text, "%s%s%s", i ? " " : "", inside ? "T" : "", inside ? spelling + strlen(root) : spelling);
	}
	tap_string(text_string(&text), expected, "spellings of %s", what);
	text_free(&text);
}

static void test_spellings(void)
{
	static const char *const rows[][2] = {
		{ "real/**", "T/real/**" },
		{ "link/**", "T/link/** T/real/**" },
		{ "chain/*.py", "T/chain/*.py T/real/*.py" },
		{ "link/sub/file", "T/link/sub/file T/real/sub/file" },
		{ "name", "T/name T/real/sub/file" },
		{ "link/up", "T/link/up T/real/up T/real/sub" },
		{ "link/none/**", "T/link/none/** T/real/none/**" },
		{ "*/x", "T/*/x" },
		{ "loop/x", "T/loop/x" },
		{ "dangling", "T/dangling T/real/none" },
		{ "link/sta\\*r", "T/link/sta\\*r T/real/sta\\*r" },
		{ "top/etc/passwd", "T/top/etc/passwd /etc/passwd" },
		{ "top/*", "T/top/* /*" },
	};
	const struct policy_variables variables = { .cwd = root };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct policy_override override = { OVERRIDE_LIST, LIST_READ, rows[i][0], 1 };
		struct policy *policy = bound("{}", &override, 1, &variables);
		expect_spellings(policy, LIST_READ, rows[i][1], rows[i][0]);
		policy_free(policy);
	}
	static const char *const absolute[][2] = {
		{ "{\"paths\": {\"read\": [\"/proc/self/**\"]}}", "/proc/self/**" },
		{ "{\"paths\": {\"read\": [\"/proc/self/exe\"]}}", "/proc/self/exe" },
		{ "{\"paths\": {\"read\": [\"/\"]}}", "/" },
		{ "{\"paths\": {\"read\": [\"/**\"]}}", "/**" },
		{ "{\"paths\": {\"read\": [\"/proc/mounts\"]}}", "/proc/mounts /proc/self/mounts" },
	};
	for (size_t i = 0; i < sizeof(absolute) / sizeof(*absolute); i++) {
		struct policy *policy = bound(absolute[i][0], NULL, 0, &variables);
		expect_spellings(policy, LIST_READ, absolute[i][1], absolute[i][1]);
		policy_free(policy);
	}
}

static void test_relative(void)
{
	static const char *const rows[][2] = {
		{ ".", "/a/b c" },      { "..", "/a" },           { "./x", "/a/b c/x" },        { "../x", "/a/x" },
		{ "../../x", "/x" },    { "../../../x", "/x" },   { "../..", "/" },             { "x/**", "/a/b c/x/**" },
		{ "./../*.py", "/a/*.py" }, { "../../..", "/" },  { ".hidden", "/a/b c/.hidden" }, { "..x", "/a/b c/..x" },
	};
	const struct policy_variables variables = { .cwd = "/a/b c" };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct policy_override override = { OVERRIDE_LIST, LIST_READ, rows[i][0], 1 };
		struct policy *policy = bound("{}", &override, 1, &variables);
		expect_spellings(policy, LIST_READ, rows[i][1], rows[i][0]);
		policy_free(policy);
	}
	const struct policy_override star = { OVERRIDE_LIST, LIST_READ, "x", 1 };
	const struct policy_variables odd = { .cwd = "/a/[b]*" }, top = { .cwd = "/" }, none = { 0 };
	struct policy *policy = bound("{}", &star, 1, &odd);
	expect_spellings(policy, LIST_READ, "/a/\\[b\\]\\*/x", "a path below a folder with odd letters");
	policy_free(policy);
	policy = bound("{}", &star, 1, &top);
	expect_spellings(policy, LIST_READ, "/x", "a path below the root");
	policy_free(policy);

	struct error error = { 0 };
	tap_number(policy_load_text("p.json", "{}", 2, &star, 1, &policy, NULL), 0, "a relative path is loaded");
	tap_number(policy_bind(policy, &none, &error), -EINVAL, "a relative path without a folder is an error");
	tap_contains(error.message, "command line, argument 1: a relative path", "that says where it comes from");
	policy_free(policy);
}

static void test_variables(void)
{
	const struct policy_variables variables = { .workspace = "/tmp/w*s", .cwd = "/", .home = "/home/u" };
	static const char *const rows[][2] = {
		{ "{\"paths\": {\"read\": [\"${WORKSPACE}/**\"]}}", "/tmp/w\\*s/**" }, { "{\"paths\": {\"read\": [\"${CWD}/**\"]}}", "/**" },
		{ "{\"paths\": {\"read\": [\"${CWD}\"]}}", "/" },                       { "{\"paths\": {\"read\": [\"${HOME}\"]}}", "/home/u" },
		{ "{\"paths\": {\"read\": [\"${HOME}*/x\"]}}", "/home/u*/x" },          { "{\"paths\": {\"read\": [\"${SCRIPT}\"]}}", "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = bound(rows[i][0], NULL, 0, &variables);
		expect_spellings(policy, LIST_READ, rows[i][1], rows[i][0]);
		tap_ok(policy && policy->lists[LIST_READ].items[0].dropped == (*rows[i][1] == '\0'), "dropped without a value: %s", rows[i][0]);
		policy_free(policy);
	}
	static const char *const bad[] = { "relative", "", "/a/", "/a//b", "/a/../b", "/a/.", "//" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct policy *policy = NULL;
		struct error error = { 0 };
		const struct policy_variables odd = { .home = bad[i] };
		static const char text[] = "{\"paths\": {\"deny\": [\"${HOME}/.ssh/**\"]}}";
		if (policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error) != 0)
			tap_ok(false, "loads: %s", error.message);
		tap_number(policy_bind(policy, &odd, &error), -EINVAL, "\"%s\" is no value for a variable", bad[i]);
		tap_contains(error.message, "the value of ${HOME} is no clean absolute path", "which is said");
		policy_free(policy);
	}
}

static void test_expand(void)
{
	const struct policy_variables variables = { .workspace = "/w", .home = "/home/*" };
	static const char *const rows[][2] = {
		{ "", "" }, { "plain", "plain" }, { "${WORKSPACE}/x:${HOME}", "/w/x:/home/*" }, { "$HOME", "$HOME" }, { "a$", "a$" },
		{ "$$", "$" }, { "$${HOME}", "${HOME}" }, { "$$$$", "$$" }, { "$$${HOME}", "$/home/*" }, { "${SCRIPT}", NULL },
		{ "x${CWD}y", NULL }, { "${NOPE}", NULL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *expanded = policy_expand(rows[i][0], &variables);
		tap_string(expanded, rows[i][1], "expanded: %s", rows[i][0]);
		free(expanded);
	}
	static const char *const back[][2] = {
		{ "/w", "${WORKSPACE}" }, { "/w/a*b", "${WORKSPACE}/a\\*b" }, { "/wx/a", "/wx/a" }, { "/home/*/x", "/home/\\*/x" }, { "/", "/" },
	};
	for (size_t i = 0; i < sizeof(back) / sizeof(*back); i++) {
		char *unexpanded = policy_unexpand(back[i][0], &variables);
		tap_string(unexpanded, back[i][1], "written with its variable: %s", back[i][0]);
		free(unexpanded);
	}
	char *unexpanded = policy_unexpand("/w/x", NULL);
	tap_string(unexpanded, "/w/x", "without variables a path is itself");
	free(unexpanded);
}

static void set_path(struct address *address, const char *name)
{
	char *path = in_folder(name);
	tap_ok(text_copy(address->path, sizeof(address->path), path), "a socket's path fits");
	free(path);
}

static void test_sockets(void)
{
	char *text = text_format("{\"network\": {\"connect\": [\"unix:%s/link/app.sock\", \"unix:${WORKSPACE}/s\", \"unix:${SCRIPT}\"]}}",
				 root);
	const struct policy_variables variables = { .workspace = "/tmp/ws" };
	struct policy *policy = bound(text, NULL, 0, &variables);
	free(text);
	if (!policy)
		return;
	struct address address = { .kind = ADDRESS_UNIX_PATH };
	set_path(&address, "real/app.sock");
	tap_number(decide_connect(policy, &address).kind, DECISION_ALLOW, "a socket below a linked folder has its other name");
	set_path(&address, "link/app.sock");
	tap_number(decide_connect(policy, &address).kind, DECISION_ALLOW, "and its own");
	strcpy(address.path, "/tmp/ws/s");
	tap_number(decide_connect(policy, &address).kind, DECISION_ALLOW, "a socket in the private folder");
	strcpy(address.path, "/tmp/ws/t");
	tap_number(decide_connect(policy, &address).kind, DECISION_DENY, "another is not listed");
	tap_ok(policy->lists[LIST_CONNECT].items[2].dropped, "a socket without a name is dropped");
	policy_free(policy);
}

static void test_shown(void)
{
	const struct policy_variables variables = { .workspace = "/tmp/ws", .cwd = root };
	const struct policy_override overrides[] = { { OVERRIDE_LIST, LIST_WRITE, "link/o\x1b\xFFut", 5 }, { OVERRIDE_LIMIT, LIMIT_CPU, "7s", 7 } };
	struct policy *policy = bound("{\"name\": \"n\\u001b\", \"paths\": {\"read\": [\"${SCRIPT}\", \"/x\"], \"execute\": [{\"path\": \"/t\", "
				      "\"sha256\": \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}]},\n"
				      "\"network\": {\"bind\": [\"127.0.0.1:0\"]}, \"syscalls\": {\"deny\": [\"fork\"]},\n"
				      "\"environment\": {\"pass\": [\"LANG\"], \"set\": {\"A\": \"b\"}}}",
				      overrides, 2, &variables);
	char *json = policy ? policy_to_json(policy) : NULL;
	cJSON *shown = json ? cJSON_Parse(json) : NULL;
	if (!tap_ok(shown != NULL, "what is shown is JSON"))
		return;
	tap_ok(utf8_valid(json, strlen(json)), "in UTF-8, whatever names it holds");
	tap_contains(json, "{\"entry\": \"${SCRIPT}\", \"dropped\": true, \"from\": \"p.json:1:40\"}", "an entry without a value");
	tap_contains(json, "{\"entry\": \"/x\", \"from\": \"p.json:1:53\"}", "an entry and where it stands");
	tap_contains(json, "\"entry\": \"/t\", \"sha256\": \"e3b0c4", "an entry with a hash");
	tap_contains(json, "\"from\": \"command line:5\"}", "an entry of the command line");
	tap_contains(json, "/real/o", "with its other spelling");
	tap_contains(json, "\"cpu\": {\"value\": \"7s\", \"from\": \"command line:7\"}", "a limit of the command line");
	tap_contains(json, "\"wall\": {\"value\": \"30s\", \"from\": \"policy:default:", "a limit of default");
	tap_contains(json, "\"A\": {\"value\": \"b\", \"from\": \"p.json:3:", "a variable that is set");
	tap_contains(json, "{\"name\": \"LANG\", \"from\": \"p.json:3:", "a variable that is passed on");
	tap_contains(json, "\"hide\": []", "an empty list");
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(shown, "paths");
	tap_string(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(paths, "stat")), "any", "what stat is");
	cJSON_Delete(shown);
	free(json);
	policy_free(policy);
}

int main(void)
{
	if (!mkdtemp(folder) || !realpath(folder, root))
		return 1;
	make_tree();
	test_resolve();
	test_spellings();
	test_relative();
	test_variables();
	test_expand();
	test_sockets();
	test_shown();
	char *remove = text_format("rm -rf '%s'", folder);
	tap_number(system(remove), 0, "and all is tidied up");
	free(remove);
	return tap_done();
}
