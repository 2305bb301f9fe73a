/* Hashes of what a run executed and read, taken when everybody in the tree is dead.
 *
 * A name may mean another file by now, and a file may hold other bytes. It is hashed only where it is the same inode with the
 * same size and the same time of its last change as when it was written down: no system call sets that time (ctime) back, so
 * that every change by write, truncate, chmod or rename shows. What may not show is a change in the very tick of the clock in
 * which the file was looked at (changed_now): then it counts as changed where the run itself opened it for writing. Somebody
 * outside of the run who changes a file in that tick, or through a mapping that was dirty before, is not seen, and neither is
 * a server that keeps times of its own.
 *
 * It happens in a process of its own: a file system that does not answer makes a process that nobody can kill, and bailiff
 * goes on without it. */
#include "engine/evidence.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "engine/elf_notes.h"
#include "engine/handlers.h"
#include "engine/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILE_MOST_BYTES = 64 << 20,
	RUN_MOST_BYTES = 256 << 20,
	PATIENCE_MS = 5000, /* without a file being finished; a disk reads the largest in less */
	LOOK_MS = 500,
};

struct hashing {
	struct run_record *record;
	int alive; /* a pipe's writing end: closed when the process is gone */
	uint64_t left_bytes;
};

static void say(struct record_file *file, const char *why)
{
	text_copy(file->not_hashed, sizeof(file->not_hashed), why);
}

static int64_t changed_ns(const struct stat *status)
{
	return status->st_ctim.tv_sec * INT64_C(1000000000) + status->st_ctim.tv_nsec;
}

static bool is_as_recorded(const struct record_file *file, const struct stat *status)
{
	uint64_t device = (uint64_t)major(status->st_dev) << 32 | minor(status->st_dev);
	return file->device == device && file->inode == status->st_ino && file->bytes == (uint64_t)status->st_size &&
	       file->changed_ns == changed_ns(status) && !(file->changed_now && file->written);
}

/* NULL where the file may be hashed. */
static const char *reason_against(const struct hashing *hashing, const struct record_file *file)
{
	if (file->path.truncated || file->path.length == 0)
		return "its path cannot be told";
	if (file->bytes > FILE_MOST_BYTES)
		return "it is larger than 64M";
	if (file->bytes > hashing->left_bytes)
		return "more than 256M in all are not hashed";
	return NULL;
}

/* First without access: whatever has that name now, a FIFO or a device is not opened. */
static int open_recorded(const struct record_file *file, const char **why)
{
	char path[32];
	struct stat status;
	auto_fd int object = resolve_open(file->path.bytes, false);
	*why = "it is gone since";
	if (object < 0 || fstat(object, &status) != 0)
		return -1;
	*why = "it was changed since";
	if (!S_ISREG(status.st_mode) || !is_as_recorded(file, &status))
		return -1;
	own_descriptor_path(object, path);
	*why = "it cannot be read";
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void hash_file(struct hashing *hashing, struct record_file *file, bool program)
{
	struct stat status;
	char sha256[HASH_TEXT];
	const char *why = reason_against(hashing, file);
	auto_fd int fd = why ? -1 : open_recorded(file, &why);
	if (fd < 0) {
		say(file, why);
		return;
	}
	hashing->left_bytes -= file->bytes;
	if (hash_fd(fd, sha256, NULL, NULL) != 0 || fstat(fd, &status) != 0) {
		say(file, why);
	} else if (!is_as_recorded(file, &status)) {
		say(file, "it was changed since");
	} else {
		struct elf_notes notes = { .build_id = "" };
		if (program)
			elf_notes_read(fd, &notes);
		text_copy(file->build_id, sizeof(file->build_id), notes.build_id);
		text_copy(file->version, sizeof(file->version), notes.version);
		text_copy(file->sha256, sizeof(file->sha256), sha256);
	}
}

/* Another name of a file that is hashed already: links, and what was both executed and read. */
static bool is_known(const struct record_files *files, unsigned count, struct record_file *file)
{
	for (unsigned i = 0; i < count; i++) {
		const struct record_file *known = &files->items[i];
		if (known == file || !known->sha256[0] || known->inode != file->inode || known->device != file->device ||
		    known->changed_ns != file->changed_ns || file->written)
			continue;
		text_copy(file->sha256, sizeof(file->sha256), known->sha256);
		text_copy(file->build_id, sizeof(file->build_id), known->build_id);
		text_copy(file->version, sizeof(file->version), known->version);
		return true;
	}
	return false;
}

static void hash_files(struct hashing *hashing, struct record_files *files, bool programs)
{
	unsigned count = atomic_load(&files->count);
	for (unsigned i = 0; i < count; i++) {
		struct record_file *file = &files->items[i];
		if (!programs && file->changed_in_run)
			say(file, "it was made or changed after the run began");
		else if (!is_known(files, i, file))
			hash_file(hashing, file, programs);
		atomic_fetch_add(&hashing->record->files_looked_at, 1);
	}
}

/* It keeps nothing of the caller's open: whoever reads bailiff's output must see its end, even if this process never ends. */
static int hash_all(void *data)
{
	struct hashing *hashing = data;
	unsigned alive = (unsigned)hashing->alive;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(SYS_close_range, alive + 1, ~0U, 0);
	syscall(SYS_close_range, 0, alive - 1, 0);
	hash_files(hashing, &hashing->record->programs, true);
	hash_files(hashing, &hashing->record->inputs, false);
	return 0;
}

/* True when the process is gone, false when it does not get on. */
static bool wait_for_end(struct run_record *record, int alive)
{
	struct pollfd slot = { .fd = alive };
	unsigned before = 0;
	for (int idle_ms = 0; idle_ms < PATIENCE_MS;) {
		int ready = poll(&slot, 1, LOOK_MS);
		unsigned now = atomic_load(&record->files_looked_at);
		if (ready > 0)
			return true;
		idle_ms = now != before ? 0 : ready == 0 ? idle_ms + LOOK_MS : idle_ms;
		before = now;
	}
	return false;
}

static void say_of_rest(struct record_files *files, const char *why)
{
	for (unsigned i = 0; i < atomic_load(&files->count); i++)
		if (!files->items[i].sha256[0] && !files->items[i].not_hashed[0])
			say(&files->items[i], why);
}

static void hash_in_child(struct run_record *record)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return;
	struct hashing hashing = { .record = record, .alive = pair[1], .left_bytes = RUN_MOST_BYTES };
	pid_t pid = launch_process(hash_all, &hashing);
	close(pair[1]);
	if (pid > 0 && !wait_for_end(record, pair[0]))
		kill(pid, SIGKILL); /* and is not waited for: it may be stuck in the kernel */
	else if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(pair[0]);
}

void evidence_hash(struct run_record *record)
{
	bool interrupted = record->interrupted_signal != 0;
	if (!interrupted && atomic_load(&record->programs.count) + atomic_load(&record->inputs.count) > 0)
		hash_in_child(record);
	const char *why = interrupted ? "the run was interrupted" : "it could not be read in time";
	say_of_rest(&record->programs, why);
	say_of_rest(&record->inputs, why);
}
