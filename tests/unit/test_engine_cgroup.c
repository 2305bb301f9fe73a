/* Which cgroup is bailiff's own, by the texts of the kernel, and whether it is to be used. */
#include "engine/cgroup.h"

#include "base/text.h"
#include "base/units.h"
#include "tap.h"

#include <unistd.h>

static void own(const char *line, const char *expected)
{
	char path[PATH_MAX] = "";
	bool found = cgroup_read_own(line, path);
	tap_string(found ? path : NULL, expected, "own cgroup by %s", line);
}

static void test_own(void)
{
	static char lengthy[PATH_MAX + 8] = "0::/";
	own("0::/user.slice/run-1.scope\n", "/user.slice/run-1.scope");
	own("0::/\n", "/");
	own("0::/with a blank\n", "/with a blank");
	own("0::/../../elsewhere\n", "/../../elsewhere");
	own("4:memory:/box\n", NULL);
	own("10::/\n", NULL);
	own("0::\n", NULL);
	own("", NULL);
	memset(lengthy + 4, 'a', PATH_MAX - 2);
	own(lengthy, lengthy + 3);
	memset(lengthy + 4, 'a', PATH_MAX - 1);
	own(lengthy, NULL);
}

static void mount(const char *line, const char *path, const char *expected)
{
	char folder[PATH_MAX] = "";
	bool found = cgroup_read_mount(line, path, folder);
	tap_string(found ? folder : NULL, expected, "%s by %s", path, line);
}

static void test_mount(void)
{
	static const char whole[] = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
	static const char part[] = "35 24 0:30 /box /cg rw - cgroup2 none rw\n";
	mount(whole, "/user.slice/a", "/sys/fs/cgroup/user.slice/a");
	mount(whole, "/", "/sys/fs/cgroup/");
	mount(whole, "/../a", NULL);
	mount(part, "/box/a", "/cg/a");
	mount(part, "/box", "/cg");
	mount(part, "/boxes", NULL);
	mount(part, "/", NULL);
	mount("35 24 0:30 / /my\\040cg\\134x rw - cgroup2 none rw\n", "/a", "/my cg\\x/a");
	mount("35 24 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "/a", NULL);
	mount("35 24 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "/a", NULL);
	mount("- cgroup2 ", "/a", NULL);
	mount(" - cgroup2 ", "/a", NULL);
	mount("", "/a", NULL);
}

static void test_numbers(void)
{
	const unsigned memory = RECORD_CGROUP_MEMORY, pids = RECORD_CGROUP_PIDS;
	static const char events[] = "low 0\nmax 17\noom 2\noom_kill 1\noom_group_kill 3\n";
	tap_number(cgroup_read_controllers("cpuset cpu io memory hugetlb pids rdma\n"), memory | pids, "both controllers");
	tap_number(cgroup_read_controllers("memory"), memory, "memory alone");
	tap_number(cgroup_read_controllers("pids\n"), pids, "pids alone");
	tap_number(cgroup_read_controllers("memory2 apids pidsx\n"), 0, "others that look like them");
	tap_number(cgroup_read_controllers(""), 0, "none");
	tap_number((long long)cgroup_read_event(events, "oom"), 2, "a key that others begin with");
	tap_number((long long)cgroup_read_event(events, "oom_kill"), 1, "a longer one");
	tap_number((long long)cgroup_read_event(events, "max"), 17, "another");
	tap_number((long long)cgroup_read_event(events, "high"), 0, "one that is not there");
	tap_number((long long)cgroup_read_event("", "max"), 0, "no text");
}

static void refused(const struct cgroup_facts *facts, const char *piece)
{
	const char *why = cgroup_refusal(facts);
	if (piece)
		tap_contains(why, piece, "not used: %s", piece);
	else
		tap_string(why, NULL, "used%s", facts->root ? " by root" : "");
}

static void test_refusal(void)
{
	const struct cgroup_facts good = { .folder = "/sys/fs/cgroup/a", .domain = true, .writable = true, .alone = true, .offered = 1 };
	struct cgroup_facts facts = good;
	refused(&facts, NULL);
	facts.root = true;
	refused(&facts, "user.delegate");
	facts.marked = true;
	refused(&facts, NULL);
	facts = good, facts.alone = false;
	refused(&facts, "other processes");
	facts = good, facts.offered = 0;
	refused(&facts, "without the controllers");
	facts = good, facts.writable = false;
	refused(&facts, "cannot be written to");
	facts = good, facts.domain = false;
	refused(&facts, "root cgroup");
	facts = good, facts.folder[0] = '\0';
	refused(&facts, "no cgroup v2");
}

/* Here, whatever here is: no cgroup that is not to be used is touched, and what was not begun is ended without harm. */
static void test_begin(void)
{
	struct cgroup cgroup;
	struct run_record *record = memory_zeroed(1, sizeof(*record));
	cgroup_begin(&cgroup, UNITS_NONE, UNITS_NONE, record);
	tap_ok(cgroup.home < 0 && cgroup.target < 0 && !cgroup.controllers, "no limits, no cgroup");
	cgroup_put(&cgroup, getpid(), record);
	tap_number(record->cgroup_controllers, 0, "nobody is put into one");
	uint64_t bytes;
	tap_ok(!cgroup_met_memory(&cgroup, &bytes) && !cgroup_met_pids(&cgroup), "and no limit of it is met");
	cgroup_end(&cgroup, record);
	tap_number(atomic_load(&record->note_count), 0, "of which there is nothing to say");
	free(record);
}

int main(void)
{
	test_own();
	test_mount();
	test_numbers();
	test_refusal();
	test_begin();
	return tap_done();
}
