/* Loading: what a policy says, how files extend each other, what the command line changes, where values come from. */
#include "base/text.h"
#include "base/units.h"
#include "policy/policy.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_policy_load.XXXXXX";

static char *in_folder(const char *name)
{
	return text_format("%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
	char *path = in_folder(name);
	FILE *file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		tap_ok(false, "%s can be written", path);
	free(path);
}

static struct policy *load_text(const char *text)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	if (policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error) != 0)
		tap_ok(false, "loads: %s (%s)", text, error.message);
	return policy;
}

static struct policy *load_file(const char *name)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	char *path = in_folder(name);
	if (policy_load(path, NULL, 0, &policy, &error) != 0)
		tap_ok(false, "%s loads: %s", name, error.message);
	free(path);
	return policy;
}

/* "folder/NAME:LINE:COLUMN POINTER", without the folder. */
static void expect_position(const struct position *position, const char *expected, const char *what)
{
	const char *file = position->file ? position->file : "(none)";
	if (strncmp(file, folder, strlen(folder)) == 0)
		file += strlen(folder) + 1;
	char *text = text_format("%s:%u:%u %s", file, position->line, position->column, position->pointer);
	tap_string(text, expected, "position of %s", what);
	free(text);
}

/* ---- one file ---- */

static void test_everything(void)
{
	struct policy *policy = load_text("{\n"
					  "  \"name\": \"n\", \"description\": \"d\", // said\n"
					  "  \"paths\": {\n"
					  "    \"read\": [\"/a\", \"${HOME}/b\"],\n"
					  "    \"write\": [],\n"
					  "    \"execute\": [\"/c\", {\"path\": \"/d\", \"sha256\":\n"
					  "      \"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855\"}],\n"
					  "    \"deny\": [\"/e\\u002f\\\\*\"], \"stat\": \"listed\"\n"
					  "  },\n"
					  "  \"network\": {\"connect\": [\"localhost:80\"]},\n"
					  "  \"environment\": {\"pass\": [\"LANG\", \"LC_*\"], \"set\": {\"A/~b\": \"1\"}},\n"
					  "  \"limits\": {\"wall\": \"3s\", \"output\": 2000},\n"
					  "  \"syscalls\": {\"allow\": [\"memfd_create\"], \"deny\": [\"fork\"]},\n"
					  "  \"on_violation\": \"deny\"\n"
					  "}\n");
	if (!policy)
		return;
	tap_string(policy->name, "n", "name");
	tap_string(policy->description, "d", "description");
	tap_number((long long)policy->lists[LIST_READ].count, 2, "two entries to read");
	expect_position(&policy->lists[LIST_READ].items[1].position, "p.json:4:20 /paths/read/1", "the second entry");
	tap_string(policy->lists[LIST_READ].items[1].text, "${HOME}/b", "its text as written");
	tap_string(policy->lists[LIST_DENY].items[0].text, "/e/\\*", "escapes of JSON are taken out");
	expect_position(&policy->lists[LIST_EXECUTE].items[1].position, "p.json:6:23 /paths/execute/1", "an entry with a hash");
	tap_string(policy->lists[LIST_EXECUTE].items[1].text, "/d", "its path");
	tap_string(policy->lists[LIST_EXECUTE].items[1].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		   "its hash in lower case");
	tap_string(policy->lists[LIST_EXECUTE].items[0].sha256, "", "no hash where none is given");
	tap_ok(policy->stat_listed, "stat is listed");
	expect_position(&policy->stat_position, "p.json:8:38 /paths/stat", "stat");
	expect_position(&policy->lists[LIST_CONNECT].items[0].position, "p.json:10:27 /network/connect/0", "an address");
	tap_number((long long)policy->environment_count, 3, "three variables");
	tap_ok(!policy->environment[1].value && strcmp(policy->environment[1].name, "LC_*") == 0, "one is passed on by its beginning");
	expect_position(&policy->environment[2].position, "p.json:11:61 /environment/set/A~1~0b", "a name with / and ~");
	tap_number((long long)policy->limits[LIMIT_WALL].value, 3000, "wall time");
	tap_number((long long)policy->limits[LIMIT_OUTPUT].value, 2000, "output as a plain number");
	expect_position(&policy->limits[LIMIT_OUTPUT].position, "p.json:12:38 /limits/output", "a limit");
	tap_number(policy->on_violation, ON_VIOLATION_DENY, "on_violation");
	tap_number((long long)policy->file_count, 1, "one file");
	tap_ok(!policy->files[0].embedded && strlen(policy->files[0].sha256) == 64, "with its hash");
	policy_free(policy);
}

static void test_nothing(void)
{
	struct policy *policy = load_text("{}");
	for (unsigned i = 0; policy && i < LIST_COUNT; i++) {
		tap_number((long long)policy->lists[i].count, 0, "an empty policy lists nothing: %s", rule_list_pointer((enum rule_list)i));
		tap_ok(strcmp(policy->missing[i].pointer, rule_list_pointer((enum rule_list)i)) == 0 && policy->missing[i].line == 1 &&
			       policy->missing[i].column == 1,
		       "and what is missing is missed at the beginning");
	}
	tap_ok(policy && !policy->name && !policy->stat_listed && policy->on_violation == ON_VIOLATION_KILL, "the rest is what is safe");
	policy_free(policy);
}

static void test_limit_values(void)
{
	static const struct {
		const char *text;
		enum limit_id id;
		uint64_t value;
	} rows[] = {
		{ "{\"limits\": {\"wall\": \"500ms\"}}", LIMIT_WALL, 500 },     { "{\"limits\": {\"wall\": \"none\"}}", LIMIT_WALL, UNITS_NONE },
		{ "{\"limits\": {\"cpu\": \"2m\"}}", LIMIT_CPU, 120000 },      { "{\"limits\": {\"output\": \"64K\"}}", LIMIT_OUTPUT, 65536 },
		{ "{\"limits\": {\"output\": 1e3}}", LIMIT_OUTPUT, 1000 },     { "{\"limits\": {\"output\": 2000.0}}", LIMIT_OUTPUT, 2000 },
		{ "{\"limits\": {\"output\": \"none\"}}", LIMIT_OUTPUT, UNITS_NONE }, { "{\"limits\": {\"output\": 1}}", LIMIT_OUTPUT, 1 },
		{ "{\"limits\": {\"output\": 9007199254740991}}", LIMIT_OUTPUT, 9007199254740991 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = load_text(rows[i].text);
		tap_ok(policy && policy->limits[rows[i].id].value == rows[i].value, "value of %s", rows[i].text);
		policy_free(policy);
	}
}

/* ---- files that extend each other ---- */

static void test_default_limits(void)
{
	struct policy *policy = load_text("{\"limits\": {\"cpu\": \"1s\"}}");
	if (!policy)
		return;
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		tap_ok(policy->limits[i].set, "%s has a limit", limit_rows[i].key);
	tap_number((long long)policy->limits[LIMIT_CPU].value, 1000, "what the file sets holds");
	tap_number((long long)policy->limits[LIMIT_WALL].value, 30000, "what it does not comes from default");
	tap_string(policy->limits[LIMIT_WALL].position.file, "policy:default", "and says so");
	tap_string(policy->limits[LIMIT_WALL].position.pointer, "/limits/wall", "with its place there");
	tap_number((long long)policy->lists[LIST_READ].count, 0, "the lists of default do not come along");
	tap_number((long long)policy->file_count, 1, "nor does it join the chain");
	policy_free(policy);
}

static void test_chain(void)
{
	write_file("base.json", "{\"name\": \"base\", \"description\": \"b\", \"paths\": {\"read\": [\"/base\"], \"write\": [\"/w\"], \"stat\": "
				"\"listed\"},\n\"limits\": {\"wall\": \"1s\", \"cpu\": \"1s\"}, \"on_violation\": \"log\",\n"
				"\"environment\": {\"pass\": [\"P\", \"Q\"], \"set\": {\"A\": \"base\", \"B\": \"base\"}}}");
	char *sub = in_folder("sub");
	mkdir(sub, 0700);
	free(sub);
	write_file("sub/middle.json", "{\"extends\": \"../base.json\", \"name\": \"middle\", \"paths\": {\"read\": [\"/middle\"]}}");
	write_file("leaf.json", "{\"extends\": \"sub/middle.json\",\n \"paths\": {\"read\": [\"/leaf\"], \"execute\": []},\n"
				" \"limits\": {\"wall\": \"2s\"}, \"environment\": {\"pass\": [\"A\"], \"set\": {\"P\": \"leaf\", \"B\": \"leaf\"}}}");
	struct policy *policy = load_file("leaf.json");
	if (!policy)
		return;
	tap_string(policy->name, "middle", "a single value is that of the last file that has one");
	tap_string(policy->description, "b", "or of the base");
	tap_number((long long)policy->lists[LIST_READ].count, 3, "lists add up");
	tap_string(policy->lists[LIST_READ].items[0].text, "/base", "base first");
	tap_string(policy->lists[LIST_READ].items[2].text, "/leaf", "the given file last");
	expect_position(&policy->lists[LIST_READ].items[1].position, "sub/middle.json:1:66 /paths/read/0", "an entry of the middle file");
	expect_position(&policy->lists[LIST_READ].items[0].position, "sub/../base.json:1:57 /paths/read/0", "an entry of the base");
	tap_number((long long)policy->file_count, 3, "three files");
	tap_ok(strstr(policy->files[0].file, "base.json") && strstr(policy->files[2].file, "leaf.json"), "in the order base to leaf");
	tap_number((long long)policy->limits[LIMIT_WALL].value, 2000, "a limit is replaced");
	tap_number((long long)policy->limits[LIMIT_CPU].value, 1000, "or kept");
	tap_number(policy->on_violation, ON_VIOLATION_LOG, "as is what to do at a violation");
	tap_ok(policy->stat_listed, "and stat");
	expect_position(&policy->missing[LIST_READ], "leaf.json:2:20 /paths/read", "a list that the given file has");
	expect_position(&policy->missing[LIST_EXECUTE], "leaf.json:2:42 /paths/execute", "an empty list that it has");
	expect_position(&policy->missing[LIST_WRITE], "sub/../base.json:1:76 /paths/write", "a list that only the base has");
	expect_position(&policy->missing[LIST_DENY], "leaf.json:2:11 /paths/deny", "a list that nobody has, where paths are");
	expect_position(&policy->missing[LIST_CONNECT], "leaf.json:1:1 /network/connect", "a list that nobody has, nor its parent");
	tap_ok(policy->has.paths && policy->has.limits && !policy->has.network && !policy->has.syscalls, "keys of the given file");
	tap_ok(policy->has.lists[LIST_READ] && policy->has.lists[LIST_EXECUTE] && !policy->has.lists[LIST_WRITE], "lists of the given file");
	policy_free(policy);
}

static const struct environment_entry *find_variable(const struct policy *policy, const char *name)
{
	const struct environment_entry *found = NULL;
	for (size_t i = 0; i < policy->environment_count; i++)
		if (strcmp(policy->environment[i].name, name) == 0)
			found = &policy->environment[i];
	return found;
}

static void test_environment(void)
{
	struct policy *policy = load_file("leaf.json");
	if (!policy)
		return;
	tap_number((long long)policy->environment_count, 4, "each name once");
	const struct environment_entry *entry = find_variable(policy, "B");
	tap_string(entry ? entry->value : "", "leaf", "a value is replaced");
	entry = find_variable(policy, "A");
	tap_ok(entry && !entry->value, "a value gives way to the caller's");
	entry = find_variable(policy, "P");
	tap_string(entry ? entry->value : "", "leaf", "the caller's gives way to a value");
	entry = find_variable(policy, "Q");
	tap_ok(entry && !entry->value, "what is passed on stays");
	policy_free(policy);
}

static void expect_failure(const char *name, int result, const char *message)
{
	struct policy *policy = (struct policy *)folder;
	struct error error = { 0 };
	char *path = name[0] == '/' ? text_duplicate(name) : in_folder(name), *expected = in_folder(message);
	tap_number(policy_load(path, NULL, 0, &policy, &error), result, "%s does not load", name);
	tap_ok(policy == NULL, "and gives nothing");
	tap_ok(strncmp(error.message, expected, strlen(expected)) == 0, "but the reason: %s", message);
	if (strncmp(error.message, expected, strlen(expected)) != 0)
		printf("# message: %s\n", error.message);
	free(expected);
	free(path);
}

static void test_circles(void)
{
	write_file("self.json", "{\n\"extends\": \"self.json\"}");
	expect_failure("self.json", -EINVAL, "self.json:2:12: \"extends\" goes in a circle: ");
	write_file("a.json", "{\"extends\": \"b.json\"}");
	write_file("b.json", "{\"extends\": \"c.json\"}");
	write_file("c.json", "{\"name\": \"c\",\n  \"extends\": \"./a.json\"}");
	expect_failure("a.json", -EINVAL, "c.json:2:14: \"extends\" goes in a circle: ");
	char *target = in_folder("b.json"), *link = in_folder("link.json");
	tap_number(symlink(target, link), 0, "a link to a file of the chain");
	write_file("d.json", "{\"extends\": \"e.json\"}");
	write_file("e.json", "{\"extends\": \"link.json\"}");
	write_file("b.json", "{\"extends\": \"d.json\"}");
	expect_failure("d.json", -EINVAL, "link.json:1:13: \"extends\" goes in a circle: ");
	free(target);
	free(link);
	for (int i = 0; i < 17; i++) {
		char *name = text_format("long%d.json", i), *text = text_format("{\"extends\": \"long%d.json\"}", i + 1);
		write_file(name, text);
		free(name);
		free(text);
	}
	write_file("long17.json", "{}");
	expect_failure("long0.json", -EINVAL, "long15.json:1:13: more than 16 files extend each other");
	struct policy *policy = load_file("long2.json");
	tap_ok(policy && policy->file_count == 16, "sixteen do");
	policy_free(policy);
}

static void test_files_that_do_not_load(void)
{
	expect_failure("nothing.json", -ENOENT, "nothing.json: cannot open the policy: No such file or directory");
	write_file("parent.json", "{\"paths\": {\n\"red\": []}}");
	write_file("child.json", "{\"extends\": \"parent.json\"}");
	expect_failure("child.json", -EINVAL, "parent.json:2:1: unknown key \"red\"; did you mean \"read\"?");
	write_file("bad-child.json", "{\"extends\": \"parent.json\", \"paths\": 1}");
	expect_failure("bad-child.json", -EINVAL, "bad-child.json:1:37: \"paths\" must be an object");

	char *fifo = in_folder("fifo.json"), *directory = in_folder("directory.json"), *large = in_folder("large.json");
	tap_ok(mkfifo(fifo, 0600) == 0 && mkdir(directory, 0700) == 0, "a FIFO and a directory");
	alarm(20); /* a FIFO must not hang the loader: then this ends the test */
	expect_failure("fifo.json", -EINVAL, "fifo.json: the policy is not a regular file");
	expect_failure("directory.json", -EISDIR, "directory.json: the policy is not a regular file");
	int fd = open(large, O_WRONLY | O_CREAT, 0600);
	tap_ok(fd >= 0 && ftruncate(fd, (1 << 20) + 1) == 0, "a file of more than 1 MiB");
	close(fd);
	expect_failure("large.json", -EFBIG, "large.json: the policy is larger than 1 MiB");
	alarm(0);
	free(fifo);
	free(directory);
	free(large);
}

/* ---- names ---- */

static void test_names(void)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	tap_number(policy_load(NULL, NULL, 0, &policy, &error), 0, "without a name it is default");
	tap_string(policy ? policy->files[0].file : NULL, "policy:default", "and says so");
	tap_ok(policy && policy->files[0].embedded, "it is embedded");
	policy_free(policy);
	tap_number(policy_load("pyhton", NULL, 0, &policy, &error), -ENOENT, "a name that is none");
	tap_contains(error.message, "no shipped policy is called \"pyhton\"; did you mean \"python\"? (there are c-build, default,", "is answered");
	tap_number(policy_load("", NULL, 0, &policy, &error), -ENOENT, "an empty name");
	tap_number(policy_load("default.json", NULL, 0, &policy, &error), -ENOENT, "a file that ends in .json");
	tap_contains(error.message, "default.json: cannot open the policy", "is looked for as a file");
	tap_number(policy_load("./default", NULL, 0, &policy, &error), -ENOENT, "a name with a slash");
	tap_contains(error.message, "./default: cannot open the policy", "is a file as well");

	char *here = getcwd(NULL, 0);
	tap_number(chdir(folder), 0, "in the folder");
	tap_number(policy_load("leaf.json", NULL, 0, &policy, &error), 0, "a file without a slash in its name extends others");
	tap_string(policy ? policy->files[1].file : NULL, "sub/middle.json", "found beside it");
	policy_free(policy);
	tap_number(chdir(here), 0, "and back");
	free(here);
}

/* ---- the command line ---- */

static void test_overrides(void)
{
	const struct policy_override overrides[] = {
		{ OVERRIDE_LIST, LIST_READ, "data/*.csv", 4 },     { OVERRIDE_LIST, LIST_WRITE, "${WORKSPACE}/x", 6 },
		{ OVERRIDE_LIST, LIST_CONNECT, "localhost:80", 8 }, { OVERRIDE_LIMIT, LIMIT_WALL, "5s", 10 },
		{ OVERRIDE_ENVIRONMENT, 0, "A", 12 },               { OVERRIDE_ENVIRONMENT, 0, "C=1=2", 14 },
		{ OVERRIDE_ON_VIOLATION, 0, "deny", 16 },           { OVERRIDE_LIST, LIST_READ, ".", 18 },
		{ OVERRIDE_LIST, LIST_READ, "../x", 20 },           { OVERRIDE_LIST, LIST_READ, "./../../y", 22 },
		{ OVERRIDE_LIST, LIST_READ, "..", 24 },
	};
	struct policy *policy = NULL;
	struct error error = { 0 };
	char *path = in_folder("base.json");
	tap_number(policy_load(path, overrides, sizeof(overrides) / sizeof(*overrides), &policy, &error), 0, "a policy with overrides");
	free(path);
	if (!policy) {
		printf("# %s\n", error.message);
		return;
	}
	tap_number((long long)policy->lists[LIST_READ].count, 6, "entries are added");
	expect_position(&policy->lists[LIST_READ].items[1].position, "command line:0:4 /paths/read", "an entry of the command line");
	tap_number((long long)policy->limits[LIMIT_WALL].value, 5000, "a limit is replaced");
	expect_position(&policy->limits[LIMIT_WALL].position, "command line:0:10 /limits/wall", "that limit");
	const struct environment_entry *a = find_variable(policy, "A"), *c = find_variable(policy, "C");
	tap_ok(a && !a->value, "a variable is passed on");
	tap_string(c ? c->value : NULL, "1=2", "one is set");
	tap_number(policy->on_violation, ON_VIOLATION_DENY, "and what to do at a violation");
	tap_ok(policy->has.lists[LIST_READ] && !policy->has.lists[LIST_CONNECT], "the file has what it had");
	policy_free(policy);
}

static void test_bad_overrides(void)
{
	static const struct {
		struct policy_override override;
		const char *message;
	} rows[] = {
		{ { OVERRIDE_LIST, LIST_READ, "", 3 }, "command line, argument 3: an empty string" },
		{ { OVERRIDE_LIST, LIST_WRITE, "/a/", 3 }, "command line, argument 3: an empty component" },
		{ { OVERRIDE_LIST, LIST_READ, "a/../b", 3 }, "command line, argument 3: '.' and '..' never occur" },
		{ { OVERRIDE_LIST, LIST_READ, "a/[", 3 }, "command line, argument 3: '[' has no ']'" },
		{ { OVERRIDE_LIST, LIST_DENY, "${HOM}/x", 3 }, "command line, argument 3: unknown variable ${HOM}" },
		{ { OVERRIDE_LIST, LIST_CONNECT, "example.com:80", 5 }, "command line, argument 5: host names other than localhost" },
		{ { OVERRIDE_LIST, LIST_BIND, "unix:/x", 5 }, "command line, argument 5: binding a path needs" },
		{ { OVERRIDE_LIMIT, LIMIT_WALL, "3", 5 }, "command line, argument 5: limits.wall: \"3\": not a duration" },
		{ { OVERRIDE_LIMIT, LIMIT_OUTPUT, "0", 5 }, "command line, argument 5: limits.output: \"0\": 0 is no limit" },
		{ { OVERRIDE_LIMIT, LIMIT_WORKSPACE, "1T", 5 }, "command line, argument 5: limits.workspace: \"1T\": not a size" },
		{ { OVERRIDE_LIMIT, LIMIT_PROCESSES, "1K", 5 }, "command line, argument 5: limits.processes: \"1K\": not a count" },
		{ { OVERRIDE_ENVIRONMENT, 0, "=x", 7 }, "command line, argument 7: a variable's name is empty" },
		{ { OVERRIDE_ENVIRONMENT, 0, "LD_PRELOAD", 7 }, "command line, argument 7: LD_PRELOAD makes programs load" },
		{ { OVERRIDE_ENVIRONMENT, 0, "A=${NO}", 7 }, "command line, argument 7: unknown variable ${NO}" },
		{ { OVERRIDE_ON_VIOLATION, 0, "stop", 7 }, "command line, argument 7: on-violation is kill, deny or log, not \"stop\"" },
		{ { OVERRIDE_LIST, LIST_READ, "/a/[\x1b[31m", 3 }, "command line, argument 3: '[' has no ']'" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = NULL;
		struct error error = { 0 };
		tap_number(policy_load("default", &rows[i].override, 1, &policy, &error), -EINVAL, "is refused: %s", rows[i].message);
		tap_ok(!policy && strncmp(error.message, rows[i].message, strlen(rows[i].message)) == 0, "says: %s", error.message);
	}
}

static void test_workspace(void)
{
	static const struct {
		const char *text;
		bool uses;
	} rows[] = {
		{ "{}", false },
		{ "{\"paths\": {\"read\": [\"${WORKSPACE}\"]}}", true },
		{ "{\"paths\": {\"hide\": [\"${WORKSPACE}/x\"]}}", true },
		{ "{\"paths\": {\"read\": [\"${HOME}/x\", \"/x\"]}}", false },
		{ "{\"paths\": {\"read\": [\"/a/\\\\$\\\\{WORKSPACE}\"]}}", false },
		{ "{\"network\": {\"connect\": [\"unix:${WORKSPACE}/s\"]}}", true },
		{ "{\"network\": {\"connect\": [\"unix:@x\", \"localhost:1\"]}}", false },
		{ "{\"environment\": {\"set\": {\"A\": \"x:${WORKSPACE}\"}}}", true },
		{ "{\"environment\": {\"set\": {\"A\": \"$${WORKSPACE}\"}}}", false },
		{ "{\"environment\": {\"set\": {\"A\": \"${SCRIPT}:${HOME}\"}}}", false },
		{ "{\"environment\": {\"set\": {\"A\": \"${SCRIPT}:${WORKSPACE}\"}}}", true },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = load_text(rows[i].text);
		tap_ok(policy && policy_uses_workspace(policy) == rows[i].uses, "%s %s the private folder", rows[i].text,
		       rows[i].uses ? "needs" : "does not need");
		policy_free(policy);
	}
}

static void test_words(void)
{
	enum on_violation mode = ON_VIOLATION_KILL;
	tap_ok(on_violation_parse("log", &mode) && mode == ON_VIOLATION_LOG, "log is known");
	tap_ok(!on_violation_parse("logs", &mode) && mode == ON_VIOLATION_LOG, "logs is not");
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		tap_ok(limit_rows[i].key && limit_rows[i].summary, "limit %u has a key and a summary", i);
	for (unsigned i = 0; i < LIST_COUNT; i++)
		tap_ok(rule_list_pointer((enum rule_list)i)[0] == '/', "list %u has a pointer", i);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_everything();
	test_nothing();
	test_limit_values();
	test_default_limits();
	test_chain();
	test_environment();
	test_circles();
	test_files_that_do_not_load();
	test_names();
	test_overrides();
	test_bad_overrides();
	test_workspace();
	test_words();
	char *remove = text_format("rm -rf '%s'", folder);
	tap_number(system(remove), 0, "and all is tidied up");
	free(remove);
	return tap_done();
}
