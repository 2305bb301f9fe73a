#include "tracee/files.h"

#include "base/cleanup.h"
#include "tracee/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { BLOCK_BYTES = 512, KIB = 1024 };

/* Not from the file system's server, where there is one: it may never answer. */
static bool describe(int folder, const char *name, struct held_file *file)
{
	struct statx status;
	struct stat link;
	if (statx(folder, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BLOCKS, &status) != 0 ||
	    !S_ISREG(status.stx_mode))
		return false;
	/* The mode of the link itself tells how the descriptor was opened (proc_pid_fd(5)). */
	bool writable = fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & S_IWUSR);
	*file = (struct held_file){
		.device = makedev(status.stx_dev_major, status.stx_dev_minor),
		.inode = status.stx_ino,
		.blocks = status.stx_blocks,
		.links = status.stx_nlink,
		.writable = writable,
		.descriptor = (int)strtol(name, NULL, 10),
	};
	return true;
}

void files_each_open(pid_t tgid, files_visit *visit, void *data)
{
	char path[32];
	struct held_file file;
	snprintf(path, sizeof(path), "/proc/%d/fd", tgid);
	DIR *folder = opendir(path);
	if (!folder)
		return; /* it has ended */
	for (struct dirent *entry; (entry = readdir(folder));)
		if (entry->d_name[0] != '.' && describe(dirfd(folder), entry->d_name, &file))
			visit(&file, data);
	closedir(folder);
}

struct mapping {
	uint64_t start, end, inode;
	unsigned major, minor;
	int name; /* offset of the path in the line */
};

/* proc_pid_maps(5); smaps has the same line above what it tells of a mapping. */
static bool parse_mapping(const char *line, struct mapping *mapping)
{
	mapping->name = 0;
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end, &mapping->major,
		      &mapping->minor, &mapping->inode, &mapping->name) == 5 &&
	       mapping->inode != 0;
}

static FILE *open_list(pid_t tgid, const char *name)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/%s", tgid, name);
	return fopen(path, "re");
}

static bool was_below(const char *path, const char *folder)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), beginning = strlen(folder), end = sizeof(suffix) - 1;
	return length > beginning + end && strncmp(path, folder, beginning) == 0 && path[beginning] == '/' &&
	       strcmp(path + length - end, suffix) == 0;
}

struct deleted_search {
	pid_t tgid;
	const char *folder;
	files_visit *visit;
	void *data;
};

static void look_for_deleted(const struct held_file *file, void *data)
{
	const struct deleted_search *search = data;
	char entry[32], path[PATH_MAX];
	snprintf(entry, sizeof(entry), "fd/%d", file->descriptor);
	if (file->links == 0 && proc_read_link(search->tgid, entry, path, sizeof(path)) > 0 && was_below(path, search->folder))
		search->visit(file, search->data);
}

void files_each_deleted(pid_t tgid, const char *folder, files_visit *visit, void *data)
{
	struct deleted_search search = { tgid, folder, visit, data };
	files_each_open(tgid, look_for_deleted, &search);
	auto_free char *line = NULL;
	size_t size = 0;
	struct mapping mapping;
	auto_file FILE *list = open_list(tgid, "maps");
	while (list && getline(&line, &size, list) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!parse_mapping(line, &mapping) || !was_below(line + mapping.name, folder))
			continue;
		const struct held_file file = {
			.inode = mapping.inode,
			.blocks = (mapping.end - mapping.start) / BLOCK_BYTES,
		};
		visit(&file, data);
	}
}

uint64_t files_resident(pid_t tgid, bool (*wanted)(dev_t device, uint64_t inode, const void *data), const void *data)
{
	auto_free char *line = NULL;
	size_t size = 0;
	struct mapping mapping;
	bool counts = false;
	uint64_t total = 0, resident;
	auto_file FILE *list = open_list(tgid, "smaps");
	while (list && getline(&line, &size, list) > 0) {
		if (sscanf(line, "Rss: %" SCNu64 " kB", &resident) == 1)
			total += counts ? resident * KIB : 0;
		else if ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f')) /* keys begin with a capital */
			counts = parse_mapping(line, &mapping) && wanted(makedev(mapping.major, mapping.minor), mapping.inode, data);
	}
	return total;
}
