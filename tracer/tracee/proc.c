#include "tracee/proc.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROC_NAME_BYTES = 96, STATUS_BYTES = 32768 };

static void proc_name(char name[static PROC_NAME_BYTES], pid_t tid, const char *entry)
{
	snprintf(name, PROC_NAME_BYTES, "/proc/%d/%s", tid, entry);
}

ssize_t proc_read_file(pid_t tid, const char *entry, char *target, size_t capacity)
{
	auto_fd int fd = proc_open(tid, entry, O_RDONLY);
	if (fd < 0)
		return fd;
	size_t length = 0;
	while (length < capacity) {
		ssize_t count = read(fd, target + length, capacity - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		length += (size_t)count;
	}
	return (ssize_t)length;
}

int proc_open(pid_t tid, const char *entry, int flags)
{
	char name[PROC_NAME_BYTES];
	proc_name(name, tid, entry);
	int fd = open(name, flags | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

ssize_t proc_read_link(pid_t tid, const char *entry, char *target, size_t capacity)
{
	char name[PROC_NAME_BYTES];
	proc_name(name, tid, entry);
	ssize_t length = readlink(name, target, capacity);
	if (length < 0)
		return -errno;
	if ((size_t)length >= capacity)
		return -ENAMETOOLONG;
	target[length] = '\0';
	return length;
}

/* The text behind "\nKey:\t" in /proc/TID/status, or NULL. */
static const char *status_value(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

static long status_number(const char *text, const char *key, int base, int column)
{
	const char *at = status_value(text, key);
	char *end = NULL;
	long number = -1;
	for (int i = 0; at && i <= column; i++) {
		number = strtol(at, &end, base);
		if (end == at)
			return -1;
		at = end;
	}
	return number;
}

static int read_groups(const char *text, struct proc_identity *identity)
{
	const char *at = status_value(text, "Groups");
	identity->group_count = 0;
	while (at) {
		char *end;
		unsigned long group = strtoul(at, &end, 10);
		if (end == at || memchr(at, '\n', (size_t)(end - at)))
			return 0;
		if (identity->group_count == PROC_GROUPS_MAX)
			return -E2BIG;
		identity->groups[identity->group_count++] = (gid_t)group;
		at = end;
	}
	return 0;
}

static int parse_status(const char *text, struct proc_status *status)
{
	enum { FS_COLUMN = 3 }; /* real, effective, saved, file system */
	status->tgid = (pid_t)status_number(text, "Tgid", 10, 0);
	status->ppid = (pid_t)status_number(text, "PPid", 10, 0);
	status->tracer = (pid_t)status_number(text, "TracerPid", 10, 0);
	status->umask = (mode_t)status_number(text, "Umask", 8, 0);
	status->identity.fsuid = (uid_t)status_number(text, "Uid", 10, FS_COLUMN);
	status->identity.fsgid = (gid_t)status_number(text, "Gid", 10, FS_COLUMN);
	const char *capabilities = status_value(text, "CapEff");
	if (!capabilities || status->tgid <= 0)
		return -EPROTO;
	status->identity.effective_capabilities = strtoull(capabilities, NULL, 16);
	status->identity.group_count = 0;
	return 0;
}

/* A long list of groups makes it a long file. */
static int read_status_text(pid_t tid, char text[static STATUS_BYTES + 1])
{
	ssize_t length = proc_read_file(tid, "status", text, STATUS_BYTES);
	text[length > 0 ? length : 0] = '\0';
	return length < 0 ? (int)length : 0;
}

int proc_read_status(pid_t tid, struct proc_status *status)
{
	char text[STATUS_BYTES + 1];
	int failed = read_status_text(tid, text);
	return failed ? failed : parse_status(text, status);
}

int proc_read_identity(pid_t tid, struct proc_identity *identity)
{
	char text[STATUS_BYTES + 1];
	struct proc_status status;
	int failed = read_status_text(tid, text);
	if (!failed)
		failed = parse_status(text, &status);
	if (failed)
		return failed;
	*identity = status.identity;
	return read_groups(text, identity);
}

/* The name in parentheses may hold anything: the state stands behind the last one. */
int proc_read_state(pid_t tid, char *state)
{
	char text[512];
	ssize_t length = proc_read_file(tid, "stat", text, sizeof(text) - 1);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	const char *name_end = strrchr(text, ')');
	if (!name_end || name_end[1] != ' ')
		return -EPROTO;
	*state = name_end[2];
	return 0;
}

int proc_read_fd_flags(pid_t tid, int fd, int *flags)
{
	char entry[32], text[256];
	snprintf(entry, sizeof(entry), "fdinfo/%d", fd);
	ssize_t length = proc_read_file(tid, entry, text, sizeof(text) - 1);
	if (length < 0)
		return length == -ENOENT ? -EBADF : (int)length;
	text[length] = '\0';
	const char *at = status_value(text, "flags");
	if (!at)
		return -EPROTO;
	*flags = (int)strtol(at, NULL, 8);
	return 0;
}

int proc_statx_descriptor(pid_t tid, int fd, struct statx *status)
{
	char name[PROC_NAME_BYTES];
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", tid, fd);
	return statx(AT_FDCWD, name, AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_BTIME, status) == 0 ? 0 : -errno;
}

int proc_read_memory(pid_t tgid, uint64_t *used_bytes)
{
	static const char *const keys[] = { "RssAnon", "RssShmem", "VmSwap", "HugetlbPages" };
	const uint64_t kib = 1024;
	char text[STATUS_BYTES + 1];
	ssize_t length = proc_read_file(tgid, "status", text, STATUS_BYTES);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	*used_bytes = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		long used = status_number(text, keys[i], 10, 0);
		*used_bytes += used > 0 ? (uint64_t)used * kib : 0; /* a zombie has no such lines */
	}
	return 0;
}

int proc_read_data(pid_t tgid, uint64_t *bytes)
{
	const uint64_t kib = 1024;
	char text[STATUS_BYTES + 1];
	int failed = read_status_text(tgid, text);
	if (failed)
		return failed;
	long used = status_number(text, "VmData", 10, 0);
	*bytes = used > 0 ? (uint64_t)used * kib : 0;
	return 0;
}

static void read_signals(pid_t tid, uint64_t *pending, uint64_t *blocked)
{
	char text[STATUS_BYTES + 1];
	ssize_t length = proc_read_file(tid, "status", text, STATUS_BYTES);
	text[length > 0 ? length : 0] = '\0';
	const char *thread = status_value(text, "SigPnd"), *process = status_value(text, "ShdPnd"), *mask = status_value(text, "SigBlk");
	*pending = (thread ? strtoull(thread, NULL, 16) : 0) | (process ? strtoull(process, NULL, 16) : 0);
	*blocked = mask ? strtoull(mask, NULL, 16) : 0;
}

bool proc_signal_is_pending(pid_t tid, int number)
{
	uint64_t pending, blocked;
	read_signals(tid, &pending, &blocked);
	return pending >> (number - 1) & 1;
}

bool proc_signals_arrive(pid_t tid)
{
	uint64_t pending, blocked;
	read_signals(tid, &pending, &blocked);
	return (pending & ~blocked) != 0;
}

uint64_t proc_auxiliary_value(pid_t tid, uint64_t type)
{
	enum { ENTRY_MAX = 64 };
	Elf64_auxv_t entries[ENTRY_MAX];
	ssize_t length = proc_read_file(tid, "auxv", (char *)entries, sizeof(entries));
	for (size_t i = 0; length > 0 && i < (size_t)length / sizeof(entries[0]); i++)
		if (entries[i].a_type == type)
			return entries[i].a_un.a_val;
	return 0;
}

int proc_mapped_file(pid_t tid, uint64_t address, char *path, size_t capacity, uint64_t *inode)
{
	char name[PROC_NAME_BYTES];
	auto_free char *line = NULL;
	size_t size = 0;
	proc_name(name, tid, "maps");
	auto_file FILE *file = fopen(name, "re");
	if (!file)
		return -errno;
	while (getline(&line, &size, file) > 0) {
		uint64_t start, end;
		int text = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64 " %n", &start, &end, inode, &text) != 3 || address < start ||
		    address >= end)
			continue;
		size_t length = strcspn(line + text, "\n");
		if (length >= capacity)
			return -ENAMETOOLONG;
		memcpy(path, line + text, length);
		path[length] = '\0';
		return length > 0 && *inode != 0;
	}
	return 0;
}

uint64_t proc_socket_inode(pid_t tid, int fd)
{
	char entry[32], target[64];
	snprintf(entry, sizeof(entry), "fd/%d", fd);
	uint64_t inode = 0;
	if (proc_read_link(tid, entry, target, sizeof(target)) < 0 || sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
		return 0;
	return inode;
}
