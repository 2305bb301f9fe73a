/* Which cgroup is this process in, and may it make others below it? Nothing is changed here. */
#include "engine/cgroup.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

bool cgroup_read_own(const char *line, char path[static PATH_MAX])
{
	if (strncmp(line, "0::/", 4) != 0)
		return false;
	size_t length = strcspn(line + 3, "\n");
	if (length >= PATH_MAX)
		return false;
	memcpy(path, line + 3, length);
	path[length] = '\0';
	return true;
}

/* Blanks in a name stand there as \040. */
static void undo_octal(char *name)
{
	unsigned value;
	char *to = name;
	for (const char *from = name; *from; to++) {
		bool octal = from[0] == '\\' && sscanf(from + 1, "%3o", &value) == 1;
		*to = octal ? (char)value : *from;
		from += octal ? strspn(from + 1, "01234567") + 1 : 1;
	}
	*to = '\0';
}

/* proc_pid_mountinfo(5): "36 35 0:30 /root /mount/point rw … - cgroup2 source options". A path with "/.." lies outside of this
 * process' cgroup namespace: no mount here leads there. */
bool cgroup_read_mount(const char *line, const char *path, char folder[static PATH_MAX])
{
	char root[PATH_MAX], point[PATH_MAX];
	if (!strstr(line, " - cgroup2 ") || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
		return false;
	undo_octal(root);
	undo_octal(point);
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0') || strncmp(path, "/..", 3) == 0)
		return false;
	int written = snprintf(folder, PATH_MAX, "%s%s", point, path + length);
	return written > 0 && written < PATH_MAX;
}

unsigned cgroup_read_controllers(const char *text)
{
	unsigned found = 0;
	for (size_t length; *text; text += length) {
		text += strspn(text, " \n");
		length = strcspn(text, " \n");
		if (length == 6 && memcmp(text, "memory", 6) == 0)
			found |= RECORD_CGROUP_MEMORY;
		if (length == 4 && memcmp(text, "pids", 4) == 0)
			found |= RECORD_CGROUP_PIDS;
	}
	return found;
}

uint64_t cgroup_read_event(const char *text, const char *key)
{
	size_t length = strlen(key);
	while (text) {
		if (strncmp(text, key, length) == 0 && text[length] == ' ')
			return strtoull(text + length, NULL, 10);
		text = strchr(text, '\n');
		text += text ? 1 : 0;
	}
	return 0;
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */

static void find_folder(char folder[static PATH_MAX])
{
	auto_free char *line = NULL;
	size_t size = 0;
	char path[PATH_MAX];
	bool found = false;
	auto_file FILE *own = fopen("/proc/self/cgroup", "re");
	while (!found && own && getline(&line, &size, own) > 0)
		found = cgroup_read_own(line, path);
	if (!found)
		return;
	auto_file FILE *mounts = fopen("/proc/self/mountinfo", "re");
	for (found = false; !found && mounts && getline(&line, &size, mounts) > 0;)
		found = cgroup_read_mount(line, path, folder);
	if (!found)
		folder[0] = '\0';
}

static FILE *open_in(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* The first line of a file, without its end; "" where there is none. */
static void read_line(int folder, const char *name, char *line, int capacity)
{
	auto_file FILE *file = open_in(folder, name);
	if (!file || !fgets(line, capacity, file))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/* One that is in another PID namespace has the number 0. */
static bool is_alone(int folder)
{
	auto_file FILE *file = open_in(folder, "cgroup.procs");
	int pid, others = 0, own = 0;
	while (file && fscanf(file, "%d", &pid) == 1) {
		own += pid == getpid();
		others += pid != getpid();
	}
	return own > 0 && others == 0;
}

static bool is_writable(int folder)
{
	static const char *const names[] = { ".", "cgroup.procs", "cgroup.subtree_control" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (faccessat(folder, names[i], W_OK, AT_EACCESS) != 0)
			return false;
	return true;
}

static bool is_marked(int folder)
{
	static const char *const names[] = { "user.delegate", "trusted.delegate" };
	char value;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fgetxattr(folder, names[i], &value, 1) == 1 && value == '1')
			return true;
	return false;
}

void cgroup_look(struct cgroup_facts *facts)
{
	char line[1024];
	memset(facts, 0, sizeof(*facts));
	facts->root = geteuid() == 0;
	find_folder(facts->folder);
	auto_fd int folder = facts->folder[0] ? open(facts->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (folder < 0) {
		facts->folder[0] = '\0';
		return;
	}
	/* The root has no cgroup.type. */
	read_line(folder, "cgroup.type", line, sizeof(line));
	facts->domain = strcmp(line, "domain") == 0;
	facts->writable = is_writable(folder);
	facts->marked = is_marked(folder);
	facts->alone = is_alone(folder);
	read_line(folder, "cgroup.controllers", line, sizeof(line));
	facts->offered = cgroup_read_controllers(line);
}

/* Root may write to every cgroup there is, also to those that a service manager looks after and would not expect to be changed;
 * an ordinary user can write to what was handed to that user. */
const char *cgroup_refusal(const struct cgroup_facts *facts)
{
	if (!facts->folder[0])
		return "no cgroup v2 is mounted that bailiff is in";
	if (!facts->domain)
		return "bailiff is in the root cgroup or in a threaded one";
	if (!facts->writable)
		return "bailiff's own cgroup is not delegated: it cannot be written to";
	if (facts->root && !facts->marked)
		return "bailiff's own cgroup is not delegated: for root, the attribute user.delegate or trusted.delegate must say 1";
	if (!facts->offered)
		return "bailiff's own cgroup is delegated, but without the controllers memory and pids";
	if (!facts->alone)
		return "bailiff's own cgroup is delegated, but other processes are in it";
	return NULL;
}
