/* Front's side of the unwinder: hands over copies, takes frames, and never waits past the deadline. Whatever the helper says is
 * held against its bounds, since it may have been taken over by a file that it read. */
#include "why/why.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "verdict/verdict.h"
#include "why/capture.h"
#include "why/mixed.h"
#include "why/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000 };

/* A stack on its way: frames come one by one, and count when their end has come. */
struct incoming {
	struct unwind_message message;
	size_t message_bytes;
	struct record_stack_frame frames[RECORD_STACK_FRAME_MAX];
	uint32_t count;
	bool broken; /* something came that no helper of ours sends: nothing is believed from there on */
};

/* ---- starting it -------------------------------------------------------------------------------------------------- */

static bool write_whole(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	while (length > 0) {
		ssize_t written = write(fd, at, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		length -= (size_t)written;
	}
	return true;
}

/* A copy of the descriptor that is neither of the two places where the helper finds them. */
static int above_places(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, UNWIND_OUTPUT_FD + 1);
}

static int make_input(const struct record_explanation *explanation)
{
	struct unwind_head head = { .magic = UNWIND_MAGIC, .snapshot_count = explanation->snapshot_count };
	_Static_assert(sizeof(head) == offsetof(struct unwind_input, snapshots), "the head is what stands before the snapshots");
	source_request_fill(explanation, &head.source);
	auto_fd int fd = memfd_create("bailiff-unwind", MFD_CLOEXEC);
	if (fd < 0 || !write_whole(fd, &head, sizeof(head)) ||
	    !write_whole(fd, explanation->snapshots, explanation->snapshot_count * sizeof(explanation->snapshots[0])))
		return -1;
	return above_places(fd);
}

/* Nothing of the caller's environment goes along: it could make a library load or fetch something. */
static pid_t spawn(int input, int output)
{
	static char *const arguments[] = { (char *)"bailiff", (char *)"--internal-unwind", NULL }, *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid = -1;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, input, UNWIND_INPUT_FD);
	posix_spawn_file_actions_adddup2(&actions, output, UNWIND_OUTPUT_FD);
	if (posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, environment) != 0)
		pid = -1;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* *answer becomes the descriptor from which the helper's frames are read. */
static pid_t start(int input, int *answer)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return -1;
	auto_fd int output = above_places(pair[1]);
	close(pair[1]);
	*answer = pair[0];
	return output >= 0 ? spawn(input, output) : -1;
}

/* ---- what it says ------------------------------------------------------------------------------------------------- */

static void take_text(char *target, size_t capacity, const char *source)
{
	memcpy(target, source, capacity);
	target[capacity - 1] = '\0';
}

static bool is_hexadecimal(const char *text)
{
	return text[strspn(text, "0123456789abcdef")] == '\0';
}

static void take_frame(struct incoming *incoming)
{
	const struct unwind_message *message = &incoming->message;
	if (message->index == 0)
		incoming->count = 0;
	if (message->index != incoming->count || message->index >= RECORD_STACK_FRAME_MAX) {
		incoming->broken = true;
		return;
	}
	struct record_stack_frame *frame = &incoming->frames[incoming->count++];
	frame->address = message->address;
	frame->offset = message->offset;
	frame->line = message->line;
	frame->of_parent = message->of_parent != 0;
	frame->inlined = message->inlined != 0;
	take_text(frame->function, sizeof(frame->function), message->function);
	take_text(frame->module, sizeof(frame->module), message->module);
	take_text(frame->build_id, sizeof(frame->build_id), message->build_id);
	take_text(frame->file, sizeof(frame->file), message->file);
	if (!is_hexadecimal(frame->build_id))
		frame->build_id[0] = '\0';
}

static void take_end(struct incoming *incoming, struct record_explanation *explanation)
{
	const struct unwind_message *message = &incoming->message;
	if (message->index != incoming->count) {
		incoming->broken = true;
		return;
	}
	explanation->stack_count = incoming->count;
	memcpy(explanation->stack, incoming->frames, incoming->count * sizeof(incoming->frames[0]));
	take_text(explanation->stack_source, sizeof(explanation->stack_source), message->source);
	take_text(explanation->stack_missing, sizeof(explanation->stack_missing), message->missing);
}

/* The frame is the one that was asked about, whatever the helper says. */
static void take_source(const struct incoming *incoming, struct record_explanation *explanation)
{
	struct source_request request;
	source_request_fill(explanation, &request);
	struct record_script_frame *frame = &explanation->script[request.frame];
	if (request.path[0] == '\0')
		return;
	take_text(explanation->source_path, sizeof(incoming->message.module), incoming->message.module);
	take_text(frame->source, sizeof(frame->source), incoming->message.function);
	explanation->source_frame = request.frame;
}

static void take_message(struct incoming *incoming, struct record_explanation *explanation)
{
	const struct unwind_message *message = &incoming->message;
	incoming->message_bytes = 0;
	if (message->magic == UNWIND_MAGIC && message->kind == UNWIND_FRAME)
		take_frame(incoming);
	else if (message->magic == UNWIND_MAGIC && message->kind == UNWIND_END)
		take_end(incoming, explanation);
	else if (message->magic == UNWIND_MAGIC && message->kind == UNWIND_SOURCE)
		take_source(incoming, explanation);
	else
		incoming->broken = true;
}

/* True when the helper has ended its side; false at the deadline, or when it is not believed any more. */
static bool receive(int fd, uint64_t deadline_ns, struct incoming *incoming, struct record_explanation *explanation)
{
	while (!incoming->broken) {
		uint64_t now = clock_now_ns();
		struct pollfd slot = { .fd = fd, .events = POLLIN };
		if (now >= deadline_ns)
			return false;
		int ready = poll(&slot, 1, (int)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS));
		if (ready <= 0)
			continue;
		char *to = (char *)&incoming->message + incoming->message_bytes;
		ssize_t count = read(fd, to, sizeof(incoming->message) - incoming->message_bytes);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return true;
		incoming->message_bytes += (size_t)count;
		if (incoming->message_bytes == sizeof(incoming->message))
			take_message(incoming, explanation);
	}
	return false;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

static void say_why(struct record_explanation *explanation, const struct incoming *incoming, bool ended, int status,
		    unsigned deadline_ms)
{
	const char *rest = explanation->stack_count ? "names and lines may be missing: " : "";
	char *text = explanation->stack_missing;
	const size_t capacity = sizeof(explanation->stack_missing);
	if (incoming->broken)
		snprintf(text, capacity, "%sthe unwinder said what makes no sense", rest);
	else if (!ended)
		snprintf(text, capacity, "%sthe unwinder did not end within %u ms", rest, deadline_ms);
	else if (WIFSIGNALED(status))
		snprintf(text, capacity, "%sthe unwinder died of %s", rest, signal_text(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		snprintf(text, capacity, "%sthe unwinder could not begin", rest);
	else if (explanation->stack_count == 0 && text[0] == '\0')
		snprintf(text, capacity, "no frame was found");
}

static void complete(struct record_explanation *explanation, unsigned deadline_ms)
{
	uint64_t deadline_ns = clock_now_ns() + (uint64_t)deadline_ms * NS_PER_MS;
	int status = 0;
	if (explanation->snapshot_count == 0 || explanation->snapshot_count > RECORD_SNAPSHOT_MAX)
		return;
	explanation->stack_count = 0;
	auto_fd int input = make_input(explanation), output = -1;
	pid_t pid = input >= 0 ? start(input, &output) : -1;
	if (pid < 0) {
		text_copy(explanation->stack_missing, sizeof(explanation->stack_missing), "the unwinder could not be started");
		return;
	}
	struct incoming *incoming = memory_zeroed(1, sizeof(*incoming));
	bool ended = receive(output, deadline_ns, incoming, explanation);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	say_why(explanation, incoming, ended, status, deadline_ms);
	mixed_link(explanation);
	free(incoming);
}

const struct explainer why_explainer = { .capture = capture, .complete = complete };
