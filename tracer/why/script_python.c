/* Frames of CPython 3.7 to 3.14, from memory alone:
 *
 *     _PyRuntime -> interpreters -> thread states -> the stopped thread's -> its frames -> code objects
 *
 * The thread is known by pthread_self(), which is fs_base, and not by its tid: only so it is found in the child of a fork or
 * vfork, where the execve is made that matters most. That thread is stopped, so its frames stand still; the list of threads
 * may change while it is walked, and then the walk begins again. */
#include "why/python_code.h"
#include "why/script.h"

#include "base/text.h"

#include <string.h>

enum {
	INTERPRETER_MAX = 64,
	THREAD_MAX = 8192,
	FRAME_MAX = 8192,
	THREAD_BYTES = 4096 + 8,
	/* FRAME_OWNED_BY_CSTACK in 3.12 and 3.13, _BY_INTERPRETER in 3.14: no code of the program's, but where the evaluation of
	 * frames began. */
	OWNER_GLUE = 3,
};

static const char *const changing = "other threads changed the list of Python threads while it was read";

/* What a look through the threads came to: the innermost frame, 0 where the thread has none. */
struct python_thread {
	bool found;
	uint64_t frame;
};

static bool thread_frame(const struct python *python, uint64_t thread, uint64_t *frame)
{
	const struct python_layout *layout = &python->layout;
	if (!why_read_u64(python->process, thread + layout->thread_frame, frame))
		return false;
	if (layout->minor != 11 && layout->minor != 12)
		return true;
	return *frame && why_read_u64(python->process, *frame + layout->cframe_frame, frame);
}

static uint32_t larger(uint32_t left, uint32_t right)
{
	return left > right ? left : right;
}

/* The threads of one interpreter. False where the list does not hold together. One thread may have a state in each of
 * several interpreters: the one that has frames counts. */
static bool search_threads(const struct python *python, uint64_t interpreter, struct python_thread *result)
{
	const struct python_layout *layout = &python->layout;
	unsigned char state[THREAD_BYTES];
	size_t length = larger(layout->thread_id, larger(layout->thread_next, layout->thread_interpreter)) + 8;
	uint64_t thread;
	if (length > sizeof(state) || !why_read_u64(python->process, interpreter + layout->threads_head, &thread))
		return false;
	for (unsigned count = 0; thread; count++) {
		uint64_t owner, id;
		if (count == THREAD_MAX || !why_read(python->process, thread, state, length))
			return false;
		memcpy(&owner, state + layout->thread_interpreter, sizeof(owner));
		memcpy(&id, state + layout->thread_id, sizeof(id));
		if (owner != interpreter)
			return false;
		if (id == python->process->fs_base && !result->frame) {
			result->found = true;
			if (!thread_frame(python, thread, &result->frame))
				return false;
		}
		memcpy(&thread, state + layout->thread_next, sizeof(thread));
	}
	return true;
}

static bool search_interpreters(const struct python *python, struct python_thread *result)
{
	uint64_t interpreter;
	*result = (struct python_thread){0};
	if (!why_read_u64(python->process, python->address + python->layout.interpreters_head, &interpreter))
		return false;
	for (unsigned count = 0; interpreter && !result->frame; count++) {
		if (count == INTERPRETER_MAX || !search_threads(python, interpreter, result) ||
		    !why_read_u64(python->process, interpreter + python->layout.interpreter_next, &interpreter))
			return false;
	}
	return true;
}

static const char *find_frame(const struct python *python, uint64_t *frame)
{
	struct python_thread thread = {0};
	bool whole = false;
	/* A frame that was found is good even when the list changed behind it: this thread stands still. */
	for (int attempt = 0; attempt < WHY_ATTEMPT_MAX && !whole && !thread.frame; attempt++)
		whole = search_interpreters(python, &thread);
	*frame = thread.frame;
	if (thread.frame)
		return NULL;
	if (!whole)
		return changing;
	return thread.found ? "no Python frame on this thread" : "this thread does not run Python";
}

struct frame_links {
	uint64_t previous, code, position;
	bool glue;
	bool entry; /* what runs it runs none that is further out */
};

static bool read_links(const struct python *python, uint64_t frame, struct frame_links *links)
{
	const struct python_layout *layout = &python->layout;
	uint32_t last = 0;
	unsigned char owner = 0, entry = 0;
	*links = (struct frame_links){0};
	if (!why_read_u64(python->process, frame + layout->frame_previous, &links->previous) ||
	    !why_read_u64(python->process, frame + layout->frame_code, &links->code))
		return false;
	if (layout->minor < 11) {
		bool read = why_read_u32(python->process, frame + layout->frame_position, &last);
		links->position = last;
		links->entry = true;
		return read;
	}
	if (!why_read_u64(python->process, frame + layout->frame_position, &links->position) ||
	    (layout->minor >= 12 && !why_read(python->process, frame + layout->frame_owner, &owner, 1)) ||
	    (layout->minor == 11 && !why_read(python->process, frame + layout->frame_entry, &entry, 1)))
		return false;
	links->entry = entry != 0 || owner == OWNER_GLUE;
	/* From 3.14 the low bits of the reference say how it is counted. From 3.13 it may be None instead of code. */
	if (layout->minor >= 14)
		links->code &= ~UINT64_C(7);
	links->glue = owner >= OWNER_GLUE ||
		(layout->minor >= 13 && !python_code_has_type(python, links->code, python->code_type));
	return true;
}

static const char *walk_frames(const struct python *python, uint64_t frame, struct script_walk *walk)
{
	uint32_t evaluation = 1;
	for (unsigned count = 0; frame; count++) {
		struct record_script_frame described = {.language = "python", .evaluation = evaluation};
		struct frame_links links;
		bool shim = false;
		if (count == FRAME_MAX)
			return "there are too many Python frames";
		if (!read_links(python, frame, &links))
			return "a Python frame cannot be read";
		if (!links.glue) {
			const char *reason = python_code_describe(python, links.code, links.position, &described, &shim);
			if (reason)
				return reason;
		}
		frame = links.previous;
		if (!links.glue && !shim && script_walk_keep(walk, &described) && frame)
			return "there are more Python frames than are kept";
		evaluation += links.entry;
	}
	return NULL;
}

static size_t script_python_frames(const struct why_process *process, struct record_script_frame *frames, size_t most,
				   char *reason, size_t reason_bytes)
{
	struct script_walk walk = {.frames = frames, .most = most};
	struct python python;
	uint64_t frame;
	const char *why = python_layout_find(process, &python);
	if (!why)
		why = find_frame(&python, &frame);
	if (!why && most)
		why = walk_frames(&python, frame, &walk);
	if (why && why_time_is_over(process))
		why = "reading the Python frames took too long";
	text_copy(reason, reason_bytes, why ? why : "");
	return walk.count;
}

const struct script_reader script_python = {"python", python_layout_probe, script_python_frames, "_PyEval_EvalFrameDefault"};
