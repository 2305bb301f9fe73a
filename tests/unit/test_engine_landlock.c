/* The ruleset as data, for every kind of entry and every ABI; and on a kernel that has Landlock, what a process under it can
 * still do: all that the policy allows, also when files have been replaced meanwhile, and nothing outside. */
#include "base/text.h"
#include "engine/landlock.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_engine_landlock.XXXXXX";
static char root[PATH_MAX]; /* the folder, without links on the way */

/* ---- a tree, and policies about it ---- */

/* `^` stands for the folder. Owned by the caller. */
static char *expand(const char *text)
{
	struct text out = { 0 };
	text_append(&out, "");
	for (; *text; text++) {
		if (*text == '^')
			text_append(&out, root);
		else
			text_append_bytes(&out, text, 1);
	}
	return out.bytes;
}

/* The same for a path; the last two results stay valid. */
static const char *in_tree(const char *name)
{
	static char paths[2][PATH_MAX];
	static unsigned next;
	char *path = expand(name);
	next = !next;
	text_copy(paths[next], sizeof(paths[next]), path);
	free(path);
	return paths[next];
}

static void make_folder(const char *name, mode_t mode)
{
	const char *path = in_tree(name);
	tap_ok(mkdir(path, 0777) == 0 && chmod(path, mode) == 0, "a folder %s", name);
}

static void make_file(const char *name)
{
	int fd = open(in_tree(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	tap_ok(fd >= 0 && fchmod(fd, 0666) == 0, "a file %s", name);
	close(fd);
}

static void make_tree(void)
{
	make_folder("^/data", 0777);
	make_file("^/data/in.csv");
	make_file("^/data/tool");
	make_folder("^/data/sub", 0777);
	make_folder("^/more", 0777);
	make_file("^/data/sub/deep");
	make_folder("^/fixed", 0755);
	make_folder("^/fixed/in", 0777);
	tap_number(chmod(in_tree("^/fixed"), 0555), 0, "^/fixed cannot be changed");
	tap_number(symlink("sub", in_tree("^/data/link")), 0, "a link ^/data/link -> sub");
}

/* Of a policy with these keys, bound. */
static struct policy *policy_of(const char *keys)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	struct policy_variables variables = { .cwd = root };
	char *inserted = expand(keys), *text = text_format("{%s}", inserted);
	int failed = policy_load_text("p.json", text, strlen(text), NULL, 0, &policy, &error);
	if (!failed)
		failed = policy_bind(policy, &variables, &error);
	if (failed)
		printf("# %s\n", error.message);
	free(inserted);
	free(text);
	return policy;
}

/* ---- rules as text ---- */

static void append_rights(struct text *text, uint64_t rights)
{
	static const struct { uint64_t rights; const char *name; } names[] = {
		{ LANDLOCK_EXECUTE, " execute" },
		{ LANDLOCK_READ_FILE, " read" },
		{ LANDLOCK_READ_DIR, " list" },
		{ 0x7ff2, " write" },
		{ LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE, " overwrite" },
		{ LANDLOCK_WRITE_FILE, " write-file" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if ((rights & names[i].rights) != names[i].rights)
			continue;
		text_append(text, names[i].name);
		rights &= ~names[i].rights;
	}
	if (rights)
		text_printf(text, " %#llx", (unsigned long long)rights);
}

/* "^/data read list; /dev/null overwrite": loaders left out, which stand in the system's own folders. */
static char *rules_text(const struct landlock_ruleset *ruleset)
{
	struct text text = { 0 };
	text_append(&text, "");
	size_t length = strlen(root);
	for (size_t i = 0; i < ruleset->rule_count; i++) {
		const struct landlock_rule *rule = &ruleset->rules[i];
		bool own = strncmp(rule->path, root, length) == 0;
		if (strncmp(rule->path, "/usr/", 5) == 0 || strncmp(rule->path, "/lib", 4) == 0)
			continue;
		text_printf(&text, "%s%s%s", text.length ? "; " : "", own ? "^" : "", rule->path + (own ? length : 0));
		append_rights(&text, rule->rights);
	}
	return text.bytes;
}

static const struct {
	const char *keys, *rules, *why;
} entries[] = {
	{ "\"paths\": {\"read\": [\"^/data/in.csv\"]}", "^/data/in.csv read", "a file that is only read" },
	{ "\"paths\": {\"read\": [\"^/data\"]}", "^/data list", "a folder alone is its listing" },
	{ "\"paths\": {\"read\": [\"^/data/**\"]}", "^/data read list", "a folder and all below it" },
	{ "\"paths\": {\"read\": [\"^/data/**/\"]}", "^/data list", "an entry for folders alone" },
	{ "\"paths\": {\"read\": [\"^/data/*.csv\"]}", "^/data read list", "a pattern: the folder in front of it" },
	{ "\"paths\": {\"read\": [\"^/*/sub/x\"]}", "^ read list", "a pattern in the middle" },
	{ "\"paths\": {\"read\": [\"^/data/in.csv/**\"]}", "^/data read list", "a file where a folder was meant" },
	{ "\"paths\": {\"read\": [\"^/data/none\"]}", "^/data read list", "a missing file may come as either" },
	{ "\"paths\": {\"read\": [\"^/none/of/this\"]}", "^ read list", "missing folders: the nearest one above" },
	{ "\"paths\": {\"read\": [\"/no-such-folder/x\"]}", "", "what is missing in / opens nothing" },
	{ "\"paths\": {\"read\": [\"^/data/link/**\"]}", "^/data/sub read list", "a link is what it leads to" },
	{ "\"paths\": {\"read\": [\"^/data/**\", \"^/data/sub/**\", \"^/data/in.csv\"]}", "^/data read list", "nothing is said twice" },
	{ "\"paths\": {\"read\": [\"^/data/**\"], \"deny\": [\"^/data/sub/**\"]}", "^/data read list", "deny stays with the decisions" },
	{ "\"paths\": {\"read\": [\"${HOME}/x\", \"^/data\"]}", "^/data list", "a variable without a value" },
	{ "\"paths\": {\"read\": [\"/proc/self/maps\"]}", "/proc read list", "/proc/self is another folder for each process" },
	{ "\"paths\": {\"read\": [\"/dev/zero\"], \"write\": [\"/dev/null\"]}", "/dev/null overwrite; /dev/zero read", "devices" },
	{ "\"paths\": {\"read\": [\"/dev/ptmx\"]}", "/dev/ptmx read; /dev/pts read write-file", "the other end of a terminal" },
	{ "\"paths\": {\"write\": [\"^/data/out.csv\"]}", "^/data write", "a file that is to be made" },
	{ "\"paths\": {\"write\": [\"^/data/in.csv\"]}", "^/data write", "a file that may be removed and made again" },
	{ "\"paths\": {\"write\": [\"^/data/*\"]}", "^/data write", "all in a folder, but not the folder" },
	{ "\"paths\": {\"write\": [\"^/data/**\"]}", "^ write", "a folder that may be removed and made again" },
	{ "\"paths\": {\"read\": [\"^/data/sub\"], \"write\": [\"^/data/**\"]}", "^ read list write", "a listing in such a folder" },
	{ "\"paths\": {\"read\": [\"^/data/link/**\"], \"write\": [\"^/data/link\"]}", "^/data read list write",
	  "a link that may become a folder" },
	{ "\"paths\": {\"read\": [\"^/data\"], \"write\": [\"^/data/out*\"]}", "^/data list write", "a listing beside a pattern" },
	{ "\"paths\": {\"read\": [\"^/data/sub/**\"], \"write\": [\"^/*/sub\"]}", "^ write; ^/data read list", "a name that another entry writes" },
	{ "\"paths\": {\"read\": [\"^/data/in.csv\"], \"write\": [\"^/data/in*\"]}", "^/data read list write", "a file that may become a folder" },
	{ "\"paths\": {\"write\": [\"^/data/new/**\"]}", "^/data write", "a folder that is to be made" },
	{ "\"paths\": {\"execute\": [\"^/data/tool\"]}", "^/data execute read", "the kernel reads what it executes" },
	{ "\"paths\": {\"read\": [\"^/data/tool\"], \"execute\": [\"^/data/tool\"]}", "^/data execute read",
	  "a program is replaced by rename" },
	{ "\"paths\": {\"execute\": [{\"path\": \"^/data/tool\", \"sha256\": "
	  "\"0000000000000000000000000000000000000000000000000000000000000000\"}]}", "^/data execute read", "with a hash" },
};

static void test_entries(void)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		struct policy *policy = policy_of(entries[i].keys);
		struct landlock_ruleset ruleset = { 0 };
		if (!tap_ok(policy, "%s: a policy", entries[i].why))
			continue;
		landlock_compile(policy, 7, false, &ruleset);
		char *rules = rules_text(&ruleset);
		tap_string(rules, entries[i].rules, "%s", entries[i].why);
		tap_number((long long)ruleset.handled_files, 0x7fff, "%s: every right is handled", entries[i].why);
		free(rules);
		landlock_ruleset_free(&ruleset);
		policy_free(policy);
	}
}

/* What an ordinary user may not change stays where it is; for root nothing does. */
static void test_fixed_folder(void)
{
	struct policy *policy = policy_of("\"paths\": {\"write\": [\"^/fixed/in/**\"]}");
	struct landlock_ruleset ruleset;
	landlock_compile(policy, 7, false, &ruleset);
	char *rules = rules_text(&ruleset);
	tap_string(rules, geteuid() == 0 ? "^/fixed write" : "^/fixed/in write", "a folder in one that cannot be changed");
	free(rules);
	landlock_ruleset_free(&ruleset);
	policy_free(policy);
}

static void test_loaders(void)
{
	struct policy *policy = policy_of("\"paths\": {\"execute\": [\"^/data/tool\"]}");
	struct landlock_ruleset ruleset;
	landlock_compile(policy, 7, false, &ruleset);
	char *loader = realpath("/lib64/ld-linux-x86-64.so.2", NULL);
	*strrchr(loader, '/') = '\0';
	uint64_t rights = 0;
	for (size_t i = 0; i < ruleset.rule_count; i++)
		if (strcmp(ruleset.rules[i].path, loader) == 0)
			rights = ruleset.rules[i].rights;
	tap_number((long long)rights, LANDLOCK_EXECUTE | LANDLOCK_READ_FILE, "the system's loader can be loaded from %s", loader);
	free(loader);
	landlock_ruleset_free(&ruleset);
	policy_free(policy);
}

/* Rights that would hold at "/", or where no rule reaches, are not handled at all. */
static void test_unhandled(void)
{
	static const struct {
		const char *keys;
		uint64_t handled;
		const char *why;
	} rows[] = {
		{ "\"paths\": {}", 0x7fff, "nothing allowed: everything handled" },
		{ "\"paths\": {\"read\": [\"/\"]}", 0x7ff7, "the listing of /: every listing" },
		{ "\"paths\": {\"read\": [\"/**\"]}", 0x7ff3, "everything may be read" },
		{ "\"paths\": {\"write\": [\"/**\"]}", 0x000d, "everything may be written" },
		{ "\"paths\": {\"execute\": [\"/**\"]}", 0x7ffa, "everything may be executed" },
		{ "\"paths\": {\"read\": [\"/**\"], \"write\": [\"/**\"], \"execute\": [\"/**\"]}", 0, "everything" },
		{ "\"syscalls\": {\"allow\": [\"mq_open\"]}", 0x7ff9, "message queues lie where no rule can be" },
		{ "\"syscalls\": {\"allow\": [\"memfd_create\"]}", 0x7fff, "other switches open no files" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = policy_of(rows[i].keys);
		struct landlock_ruleset ruleset;
		landlock_compile(policy, 7, false, &ruleset);
		tap_number((long long)ruleset.handled_files, (long long)rows[i].handled, "handled: %s", rows[i].why);
		landlock_ruleset_free(&ruleset);
		policy_free(policy);
	}
}

static void test_kept_descriptors(void)
{
	struct policy *policy = policy_of("\"paths\": {}");
	struct landlock_ruleset ruleset;
	landlock_compile(policy, 7, true, &ruleset);
	char *rules = rules_text(&ruleset);
	tap_string(rules, "/dev/pts read write-file", "a kept descriptor may be a terminal's");
	free(rules);
	landlock_ruleset_free(&ruleset);
	policy_free(policy);
}

/* ---- what each ABI knows ---- */

static void test_abis(void)
{
	static const struct {
		int abi;
		uint64_t files, ports, scoped;
	} rows[] = {
		{ 0, 0, 0, 0 },      { 1, 0x1fff, 0, 0 }, { 2, 0x3fff, 0, 0 }, { 3, 0x7fff, 0, 0 }, { 4, 0x7fff, 3, 0 },
		{ 5, 0x7fff, 3, 0 }, { 6, 0x7fff, 3, 3 }, { 7, 0x7fff, 3, 3 },
	};
	struct policy *policy = policy_of("\"paths\": {\"write\": [\"^/data/*\"]}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct landlock_ruleset ruleset;
		landlock_compile(policy, rows[i].abi, false, &ruleset);
		tap_number((long long)ruleset.handled_files, (long long)rows[i].files, "ABI %d: files", rows[i].abi);
		tap_number((long long)ruleset.handled_ports, (long long)rows[i].ports, "ABI %d: ports", rows[i].abi);
		tap_number((long long)ruleset.scoped, (long long)rows[i].scoped, "ABI %d: scopes", rows[i].abi);
		for (size_t rule = 0; rule < ruleset.rule_count; rule++)
			tap_number((long long)(ruleset.rules[rule].rights & ~rows[i].files), 0, "ABI %d: rules stay within", rows[i].abi);
		landlock_ruleset_free(&ruleset);
	}
	policy_free(policy);
}

static const struct {
	const char *keys;
	uint64_t handled;
	const char *ports; /* PORT:RIGHTS in order */
	uint64_t scoped;
} networks[] = {
	{ "", 3, "", 3 },
	{ "\"network\": {\"connect\": [\"192.0.2.1:443\", \"tcp:[2001:db8::1]:80\"]}", 3, "443:2 80:2 ", 3 },
	{ "\"network\": {\"connect\": [\"udp:192.0.2.1:53\"]}", 3, "", 3 },
	{ "\"network\": {\"connect\": [\"192.0.2.1:*\"]}", 1, "", 3 },
	{ "\"network\": {\"connect\": [\"192.0.2.1:80-90\", \"192.0.2.1:443\"]}", 1, "", 3 },
	{ "\"network\": {\"connect\": [\"localhost:8080\"]}", 3, "8080:2 ", 3 },
	{ "\"network\": {\"bind\": [\"127.0.0.1:8000\"]}", 3, "8000:3 ", 3 },
	{ "\"network\": {\"bind\": [\"127.0.0.1:8000-8010\"], \"connect\": [\"192.0.2.1:443\"]}", 0, "", 3 },
	{ "\"network\": {\"bind\": [\"127.0.0.1:0\"], \"connect\": [\"192.0.2.1:443\"]}", 1, "0:1 ", 3 },
	{ "\"network\": {\"bind\": [\"udp:127.0.0.1:0\"], \"connect\": [\"192.0.2.1:443\"]}", 3, "443:2 ", 3 },
	{ "\"network\": {\"connect\": [\"unix:/run/app.sock\"]}", 3, "", 3 },
	{ "\"network\": {\"connect\": [\"unix:@name\"]}", 3, "", 2 },
};

static void test_network(void)
{
	for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
		struct policy *policy = policy_of(networks[i].keys);
		struct landlock_ruleset ruleset;
		struct text ports = { 0 };
		text_append(&ports, "");
		landlock_compile(policy, 7, false, &ruleset);
		for (size_t port = 0; port < ruleset.port_count; port++)
			text_printf(&ports, "%u:%llu ", ruleset.ports[port].port, (unsigned long long)ruleset.ports[port].rights);
		tap_number((long long)ruleset.handled_ports, (long long)networks[i].handled, "ports handled: %s", networks[i].keys);
		tap_string(ports.bytes, networks[i].ports, "ports: %s", networks[i].keys);
		tap_number((long long)ruleset.scoped, (long long)networks[i].scoped, "scopes: %s", networks[i].keys);
		text_free(&ports);
		landlock_ruleset_free(&ruleset);
		policy_free(policy);
	}
}

static void test_objections(void)
{
	static const struct {
		const char *keys, *objection;
	} rows[] = {
		{ "\"on_violation\": \"log\"", "on_violation is log, which stops nothing" },
		{ "\"on_violation\": \"deny\"", NULL },
		{ "\"paths\": {\"read\": [\"/proc\", \"/proc/*\", \"/proc/self/**\"]}", NULL },
		{ "\"paths\": {\"read\": [\"/proc/*/environ\"]}",
		  "the policy lists files of other processes below /proc, and Landlock would refuse them" },
		{ "\"paths\": {\"write\": [\"/**\"]}",
		  "the policy lists files of other processes below /proc, and Landlock would refuse them" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy *policy = policy_of(rows[i].keys);
		tap_string(landlock_objection(policy), rows[i].objection, "what rules it out: %s", rows[i].keys);
		policy_free(policy);
	}
}

/* ---- under a ruleset ---- */

/* What a process under the ruleset does; the exit status is an errno. */
typedef int attempt(const char *path);

static int attempt_read(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int attempt_write(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) < 0 ? errno : 0;
}

static int attempt_truncate(const char *path)
{
	return open(path, O_RDONLY | O_TRUNC | O_CLOEXEC) < 0 ? errno : 0;
}

static int attempt_execute(const char *path)
{
	execl(path, path, NULL);
	return errno;
}

static int attempt_signal(const char *path)
{
	(void)path;
	return kill(getppid(), 0) == 0 ? 0 : errno;
}

/* Nobody listens there: refused by the ruleset, or by the port. */
static int attempt_connect(const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
}

/* Between the ruleset and the attempt stands what only others can do meanwhile. */
static int result_under(const struct policy *policy, int abi, void (*meanwhile)(void), attempt *try, const char *name)
{
	struct landlock_ruleset ruleset;
	struct error error = { 0 };
	const char *path = in_tree(name);
	landlock_compile(policy, abi, false, &ruleset);
	struct run_record *record = memory_zeroed(1, sizeof(*record));
	struct landlock landlock = { landlock_load(&ruleset, &error), abi, true, record };
	int ends[2], status = 0;
	if (landlock.ruleset < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return landlock.ruleset < 0 ? -landlock.ruleset : errno;
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(ends[1]);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || landlock_apply(&landlock) != 0 || record->landlock_abi != abi ||
		    read(ends[0], &byte, 1) < 0)
			_exit(255);
		_exit(try(path));
	}
	close(ends[0]);
	if (meanwhile)
		meanwhile();
	close(ends[1]);
	waitpid(child, &status, 0);
	close(landlock.ruleset);
	landlock_ruleset_free(&ruleset);
	free(record);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static const char under_keys[] = "\"paths\": {\"read\": [\"^/data/in.csv\", \"^/more/later\", \"/usr/**\", \"/lib/**\", \"/etc/ld.so.cache\"],"
				 " \"write\": [\"^/data/sub/*\", \"/dev/null\"], \"execute\": [\"/bin/true\"]},"
				 " \"network\": {\"connect\": [\"127.0.0.1:9\"]}";

static const struct {
	attempt *attempt;
	const char *path;
	int first_abi, before, from; /* errno below that ABI, and from it on */
	const char *why;
} attempts[] = {
	{ attempt_read, "^/data/in.csv", 1, 0, 0, "a listed file is read" },
	{ attempt_read, "^/data/tool", 1, 0, EACCES, "its neighbour is not" },
	{ attempt_read, "^/fixed/in", 1, 0, EACCES, "an unlisted folder is not" },
	{ attempt_write, "^/data/sub/new", 1, 0, 0, "a file is made where that is listed" },
	{ attempt_write, "^/data/new", 1, 0, EACCES, "and not elsewhere" },
	{ attempt_write, "/dev/null", 1, 0, 0, "a listed device is written" },
	{ attempt_write, "/dev/zero", 1, 0, EACCES, "another one is not" },
	{ attempt_truncate, "^/data/in.csv", 3, 0, EACCES, "a file that is listed for reading is not truncated" },
	{ attempt_execute, "/bin/true", 1, 0, 0, "a listed program runs, with its loader" },
	{ attempt_execute, "^/data/tool", 1, EACCES, EACCES, "an unlisted file does not" },
	{ attempt_connect, "9", 4, ECONNREFUSED, ECONNREFUSED, "a listed port is reached" },
	{ attempt_connect, "10", 4, ECONNREFUSED, EACCES, "another one is not" },
	{ attempt_signal, "", 6, 0, EPERM, "a process outside is out of reach" },
};

static void test_attempts(int newest)
{
	struct policy *policy = policy_of(under_keys);
	for (int abi = 1; abi <= newest; abi++) {
		for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
			int expected = abi < attempts[i].first_abi ? attempts[i].before : attempts[i].from;
			tap_number(result_under(policy, abi, NULL, attempts[i].attempt, attempts[i].path), expected, "ABI %d: %s", abi,
				   attempts[i].why);
		}
	}
	policy_free(policy);
}

static void replace_file(void)
{
	make_file("^/replacement");
	tap_number(rename(in_tree("^/replacement"), in_tree("^/data/in.csv")), 0, "the file is replaced");
}

static void remake_folder(void)
{
	tap_number(rmdir(in_tree("^/out")), 0, "the folder is removed");
	make_folder("^/out", 0777);
}

static void make_later(void)
{
	make_file("^/more/later");
}

/* By name the policy still allows all of these. A ruleset that was made before must as well, but for a file that is only
 * read: the supervisor opens what has come to its name. */
static void test_what_changes(int newest)
{
	make_folder("^/out", 0777);
	struct policy *policy =
		policy_of("\"paths\": {\"read\": [\"^/data/in.csv\", \"^/more/later\"], \"write\": [\"^/out/**\"]}");
	tap_number(result_under(policy, newest, replace_file, attempt_read, "^/data/in.csv"), EACCES,
		   "a listed file that was replaced is left to the supervisor");
	tap_number(result_under(policy, newest, make_later, attempt_read, "^/more/later"), 0, "a listed file that came later");
	tap_number(result_under(policy, newest, remake_folder, attempt_write, "^/out/x"), 0, "a folder that was removed and made again");
	policy_free(policy);
}

int main(void)
{
	if (!mkdtemp(folder) || !realpath(folder, root) || chmod(root, 0777) != 0)
		return 1;
	umask(0);
	make_tree();
	test_entries();
	test_fixed_folder();
	test_loaders();
	test_unhandled();
	test_kept_descriptors();
	test_abis();
	test_network();
	test_objections();
	int abi = landlock_kernel_abi(), newest = abi < LANDLOCK_NEWEST_ABI ? abi : LANDLOCK_NEWEST_ABI;
	if (newest == 0)
		printf("# this kernel offers no Landlock: nothing to be under\n");
	test_attempts(newest);
	if (newest)
		test_what_changes(newest);
	char *command = text_format("chmod -R u+rwx '%s' && rm -rf '%s'", root, root);
	int removed = system(command);
	free(command);
	tap_number(removed, 0, "nothing is left behind");
	return tap_done();
}
