#include "engine/artifact.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COPY_BYTES = 64 * 1024, X_BITS = S_IXUSR | S_IXGRP | S_IXOTH };

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(fd, bytes, length);
		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0) {
			bytes += count;
			length -= (size_t)count;
		}
	}
	return 0;
}

/* Copies to the end of the file; -EFBIG where that lies beyond `most` bytes, whatever size it had before. Sets *reading where
 * it is the source that failed. */
static int copy_content(int from, int to, uint64_t most, bool *reading)
{
	char buffer[COPY_BYTES];
	for (uint64_t copied = 0;;) {
		ssize_t count = read(from, buffer, sizeof(buffer));
		*reading = count < 0;
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : 0;
		copied += (uint64_t)count;
		if (copied > most)
			return -EFBIG;
		int failed = write_all(to, buffer, (size_t)count);
		if (failed)
			return failed;
	}
}

/* ---- in ----------------------------------------------------------------------------------------------------------- */

/* Opened without waiting: a FIFO would have no writer. */
static int open_source(const char *path, mode_t *mode, struct error *error)
{
	struct stat status;
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_system(error, errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "%s: not a regular file", path);
	*mode = status.st_mode & X_BITS ? S_IRWXU : S_IRUSR | S_IWUSR;
	return fd_release(&fd);
}

static int put_open(int folder, int source, mode_t mode, struct artifact_input *input, struct error *error)
{
	bool reading;
	uint64_t bytes;
	char before[HASH_TEXT];
	int failed = hash_fd(source, before, NULL, error);
	if (failed)
		return failed;
	/* The folder is new and nobody runs in it yet; O_EXCL would follow no link in it. */
	auto_fd int target = openat(folder, input->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (target < 0 || fchmod(target, mode) != 0)
		return error_system(error, errno, "%s in the workspace", input->name);
	failed = copy_content(source, target, UINT64_MAX, &reading);
	if (failed)
		return error_system(error, -failed, "cannot copy %s", input->source);
	failed = hash_fd(target, input->sha256, &bytes, error);
	if (failed)
		return failed;
	input->bytes = bytes;
	if (strcmp(before, input->sha256) != 0)
		return error_set(error, ESTALE, "%s changed while it was copied", input->source);
	return 0;
}

int artifact_put(int folder, struct artifact_input *input, struct error *error)
{
	mode_t mode = 0;
	auto_fd int source = open_source(input->source, &mode, error);
	if (source < 0)
		return source;
	return put_open(folder, source, mode, input, error);
}

/* ---- out ---------------------------------------------------------------------------------------------------------- */

/* A second name may be one of a file elsewhere that the program could link to but not read. */
static const char *unfit(const struct stat *status)
{
	if (S_ISLNK(status->st_mode))
		return "a symbolic link";
	if (S_ISDIR(status->st_mode))
		return "a folder";
	if (!S_ISREG(status->st_mode))
		return "not a regular file";
	return status->st_nlink == 1 ? NULL : "a file with more than one name";
}

/* Looked at before it is opened, since opening a device or a FIFO is already an act, and again on what was opened. Returns
 * the descriptor, or -1 with the reason. */
static int open_made(int folder, const char *name, struct stat *status, const char **reason)
{
	if (fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) != 0) {
		*reason = errno == ENOENT ? "there is no such file" : strerror(errno);
		return -1;
	}
	*reason = unfit(status);
	if (*reason)
		return -1;
	auto_fd int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, status) != 0)
		*reason = strerror(errno);
	else
		*reason = unfit(status);
	return *reason ? -1 : fd_release(&fd);
}

void artifact_note_input(int folder, const struct artifact_input *input, struct run_record *record)
{
	struct stat status;
	char after[HASH_TEXT] = "";
	const char *reason = NULL, *state;
	auto_fd int fd = folder < 0 ? -1 : open_made(folder, input->name, &status, &reason);
	if (fd < 0)
		state = "it is gone or replaced";
	else if ((uint64_t)status.st_size != input->bytes || hash_fd(fd, after, NULL, NULL) < 0 ||
		 strcmp(after, input->sha256) != 0)
		state = "the run changed it";
	else
		state = "unchanged by the run";
	record_note(record, "copied in as %.80s: %.200s, %" PRIu64 " bytes, sha256 %s; %s", input->name, input->source,
		    input->bytes, input->sha256, state);
}

int artifact_open(struct artifact *artifact, const char *name, const char *destination, struct error *error)
{
	*artifact = (struct artifact){ .name = name, .destination = REPLACEMENT_NONE };
	artifact->saved_as = replacement_follow_links(destination);
	if (!artifact->saved_as)
		return error_system(error, errno, "%s", destination);
	return replacement_open(artifact->saved_as, &artifact->destination, error);
}

static bool failed_before(const struct policy *policy, const struct run_record *record)
{
	enum rule_id rule;
	return record_status(record, policy->on_violation == ON_VIOLATION_LOG, &rule) != STATUS_COMPLETED;
}

/* The tree is dead, so that nothing was answered to anybody. */
static void exceed_limit(const struct policy *policy, struct run_record *record, const struct artifact *artifact,
			 uint64_t bytes)
{
	char target[400];
	if (failed_before(policy, record))
		return;
	record_limit(record, RULE_LIMIT_ARTIFACT);
	if (!record_first_claim(record))
		return;
	snprintf(target, sizeof(target), "%.300s has %" PRIu64 " bytes", artifact->name, bytes);
	limit_fill_failure(policy, LIMIT_ARTIFACT, target, record->usage.wall_ms, &record->first);
	record->first.answered[0] = '\0';
	record_first_done(record);
}

static void refuse(struct artifact *artifact, const char *reason)
{
	text_copy(artifact->refused, sizeof(artifact->refused), reason);
	artifact->bytes = 0;
	artifact->sha256[0] = '\0';
	replacement_discard(&artifact->destination);
}

/* What cannot be saved was asked for and is not there: that is no success. */
static void fail_to_save(const struct policy *policy, struct run_record *record, struct artifact *artifact, int number)
{
	char reason[sizeof(artifact->refused)];
	snprintf(reason, sizeof(reason), "it cannot be saved: %s", strerror(number));
	refuse(artifact, reason);
	if (!failed_before(policy, record))
		record_error(record, "artifact", number, "cannot save %s as %s: %s", artifact->name, artifact->saved_as,
			     strerror(number));
}

/* The hash is taken from the copy, which nobody else has in hand, and so is that of what is saved. */
static void save(const struct policy *policy, struct run_record *record, struct artifact *artifact)
{
	struct error error;
	int failed = hash_fd(artifact->destination.fd, artifact->sha256, &artifact->bytes, &error);
	if (!failed)
		failed = replacement_finish(&artifact->destination);
	if (failed)
		fail_to_save(policy, record, artifact, -failed);
}

void artifact_take(int folder, const struct policy *policy, struct run_record *record, struct artifact *artifact)
{
	struct stat status;
	const char *reason = "the workspace is gone";
	bool reading = false;
	if (record->interrupted_signal) {
		refuse(artifact, "the run was interrupted");
		return;
	}
	uint64_t most = limit_value(policy, LIMIT_ARTIFACT);
	auto_fd int fd = folder < 0 ? -1 : open_made(folder, artifact->name, &status, &reason);
	if (fd < 0) {
		refuse(artifact, reason);
		return;
	}
	if ((uint64_t)status.st_size > most) {
		refuse(artifact, "it is larger than limits.artifact");
		exceed_limit(policy, record, artifact, (uint64_t)status.st_size);
		return;
	}
	int failed = copy_content(fd, artifact->destination.fd, most, &reading);
	if (failed && reading)
		refuse(artifact, strerror(-failed));
	else if (failed)
		fail_to_save(policy, record, artifact, -failed);
	else
		save(policy, record, artifact);
}

void artifact_discard(struct artifact *artifact)
{
	replacement_discard(&artifact->destination);
	free(artifact->saved_as);
	artifact->saved_as = NULL;
}
