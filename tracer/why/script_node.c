/* Frames of JavaScript in node 18, 20 and 22, from memory alone:
 *
 *     the isolate's innermost exit frame -> the chain of frame pointers -> functions -> scripts, positions, lines
 *
 * Native code that node calls keeps no frame pointers. So the chain begins at the frame through which V8 was left: the stack
 * shows what may be one, also where an earlier call left its remains, and the one to which the isolate points is the one. An
 * isolate is found as every native function of node finds it: its address stands on the stack. */
#include "why/node_code.h"
#include "why/script.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "tracee/proc.h"
#include "why/maps.h"

#include <stdlib.h>
#include <string.h>

enum {
	NATIVE_BYTES_MAX = 512 << 10, /* of stack, where native code is looked through */
	CANDIDATE_MAX = 64,
	POINTER_MAX = 1024,
	FRAME_MAX = 8192,
	KIND_MAX = 64,                /* kinds of frames: 36 in node 22 */
	LINK_OFFSET = -64,            /* from an entry frame: the exit frame before it */
	FRAME_BELOW = 64, FRAME_ABOVE = 24,
};

static const char *const deferred = "deferred call, no user frame: node makes it after the code that asked for it has returned";

/* What is known of the stack of the stopped thread. */
struct node_stack {
	const struct node *node;
	const struct why_map *map;
	uint64_t *words;
	size_t count;
	uint64_t candidates[CANDIDATE_MAX];
	size_t candidate_count;
};

static bool is_exit_kind(const struct node *node, uint64_t marker)
{
	const struct node_constants *constants = &node->constants;
	int32_t kind = marker & 1 || marker >> 1 > KIND_MAX ? 0 : (int32_t)(marker >> 1);
	return kind > 0 && (kind == constants->kind_exit || kind == constants->kind_builtin_exit ||
			    kind == constants->kind_callback_exit || kind == constants->kind_accessor_exit);
}

static bool is_code(const struct node *node, uint64_t address)
{
	const struct why_map *map = maps_find(node->process->maps, node->process->map_count, address);
	return map && map->executable;
}

static bool is_further_out(const struct node_stack *stack, uint64_t frame, uint64_t next)
{
	return next > frame && next % sizeof(uint64_t) == 0 && next < stack->map->end - FRAME_ABOVE;
}

static void find_candidates(struct node_stack *stack)
{
	uint64_t base = stack->node->process->stack_pointer;
	for (size_t i = 1; i + 1 < stack->count && stack->candidate_count < CANDIDATE_MAX; i++) {
		uint64_t frame = base + i * sizeof(uint64_t);
		if (is_exit_kind(stack->node, stack->words[i - 1]) && is_further_out(stack, frame, stack->words[i]) &&
		    is_code(stack->node, stack->words[i + 1]))
			stack->candidates[stack->candidate_count++] = frame;
	}
}

/* False where the thread's stack cannot be read. */
static bool read_stack(const struct node *node, struct node_stack *stack)
{
	const struct why_process *process = node->process;
	stack->node = node;
	stack->map = maps_find(process->maps, process->map_count, process->stack_pointer);
	if (!stack->map || process->stack_pointer % sizeof(uint64_t) != 0)
		return false;
	uint64_t bytes = stack->map->end - process->stack_pointer;
	stack->count = (size_t)(bytes < NATIVE_BYTES_MAX ? bytes : NATIVE_BYTES_MAX) / sizeof(uint64_t);
	stack->words = memory_zeroed(stack->count + 1, sizeof(uint64_t));
	if (!why_read(process, process->stack_pointer, stack->words, stack->count * sizeof(uint64_t)))
		return false;
	find_candidates(stack);
	return true;
}

static bool is_new(uint64_t *pointers, size_t *count, uint64_t pointer)
{
	for (size_t i = 0; i < *count; i++)
		if (pointers[i] == pointer)
			return false;
	if (*count < POINTER_MAX)
		pointers[(*count)++] = pointer;
	return true;
}

/* The exit frame that an isolate at `address` points to, if one lies there. */
static uint64_t exit_of(const struct node_stack *stack, uint64_t address)
{
	uint64_t frame;
	if (!why_read_u64(stack->node->process, address + stack->node->version->isolate_exit, &frame))
		return 0;
	for (size_t i = 0; i < stack->candidate_count; i++)
		if (stack->candidates[i] == frame)
			return frame;
	return 0;
}

/* The frame through which this thread left V8; 0 where there is none, UINT64_MAX where it cannot be told. */
static uint64_t find_exit(const struct node_stack *stack)
{
	const struct why_process *process = stack->node->process;
	auto_free uint64_t *pointers = memory_zeroed(POINTER_MAX, sizeof(*pointers));
	uint64_t found = 0;
	size_t count = 0;
	for (size_t i = 0; stack->candidate_count && i < stack->count && count < POINTER_MAX; i++) {
		uint64_t pointer = stack->words[i];
		const struct why_map *map = pointer % sizeof(uint64_t) ? NULL : maps_find(process->maps, process->map_count, pointer);
		if (!map || map == stack->map || !map->readable || !map->writable || map->executable || !is_new(pointers, &count, pointer))
			continue;
		uint64_t frame = exit_of(stack, pointer);
		if (frame && found && frame != found)
			return UINT64_MAX;
		found = frame ? frame : found;
	}
	return found;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

struct node_walk {
	struct node node;
	const struct node_stack *stack;
	struct script_walk kept;
	uint64_t frame, pc;  /* the next one, and where it goes on */
	bool optimized;      /* a line among them is that of a whole function */
};

/* The words around a frame pointer. */
struct node_words {
	unsigned char bytes[FRAME_BELOW + FRAME_ABOVE];
};

static uint64_t word_at(const struct node_words *words, int32_t offset)
{
	uint64_t word = 0;
	if (offset >= -FRAME_BELOW && offset <= FRAME_ABOVE - (int32_t)sizeof(word))
		memcpy(&word, words->bytes + FRAME_BELOW + offset, sizeof(word));
	return word;
}

static const char *add_function(struct node_walk *walk, const struct node_words *words)
{
	const struct node_constants *constants = &walk->node.constants;
	struct record_script_frame described = {.language = "javascript"};
	struct node_frame frame = {
		.function = word_at(words, constants->frame_function),
		.bytecodes = word_at(words, constants->frame_bytecodes),
		.bytecode_offset = word_at(words, constants->frame_bytecode_offset),
		.receiver = word_at(words, constants->frame_receiver),
		.pc = walk->pc,
	};
	enum node_line line = NODE_LINE_EXACT;
	bool hidden;
	const char *why = node_code_describe(&walk->node, &frame, &described, &line, &hidden);
	if (why || hidden)
		return why;
	walk->optimized |= line != NODE_LINE_EXACT && described.own_code;
	return script_walk_keep(&walk->kept, &described) ? "there are more frames of JavaScript than are kept" : NULL;
}

/* The frame at `frame`: below its pointer stands either its kind, as an even number, or the context of a function of
 * JavaScript. *next is the one that it was called from, 0 behind the last, and *pc where that goes on, 0 where it is known
 * by an exit frame. */
static bool read_frame(const struct node_stack *stack, const struct node *node, uint64_t frame, struct node_words *words,
		       uint64_t *next, uint64_t *pc)
{
	const struct node_constants *constants = &node->constants;
	if (!why_read(node->process, frame - FRAME_BELOW, words->bytes, sizeof(words->bytes)))
		return false;
	uint64_t marker = word_at(words, -8);
	if (!(marker & 1) && (marker >> 1 == 0 || marker >> 1 > KIND_MAX))
		return false;
	bool entry = marker == (uint64_t)constants->kind_entry << 1 || marker == (uint64_t)constants->kind_construct_entry << 1;
	*pc = entry ? 0 : word_at(words, 8);
	*next = word_at(words, entry ? LINK_OFFSET : 0);
	return (entry && *next == 0) || is_further_out(stack, frame, *next);
}

/* Sets walk->frame to the next one, 0 behind the last. */
static const char *walk_frame(struct node_walk *walk)
{
	struct node_words words;
	uint64_t next, pc;
	if (!read_frame(walk->stack, &walk->node, walk->frame, &words, &next, &pc))
		return "a frame of V8 cannot be read";
	const char *why = word_at(&words, -8) & 1 ? add_function(walk, &words) : NULL;
	walk->frame = next;
	walk->pc = pc;
	return why;
}

static const char *walk_frames(struct node_walk *walk)
{
	for (unsigned count = 0; walk->frame; count++) {
		const char *why = count < FRAME_MAX ? walk_frame(walk) : "there are too many frames of V8";
		if (why)
			return why;
	}
	if (walk->optimized)
		return "optimized code: a line is the one that the function begins on, and functions inside of it are not seen";
	return walk->kept.own ? NULL : deferred;
}

/* The outermost frame that can be reached from this one. */
static uint64_t outermost(const struct node_stack *stack, uint64_t frame)
{
	struct node_words words;
	uint64_t next, pc;
	for (unsigned i = 0; i < FRAME_MAX && read_frame(stack, stack->node, frame, &words, &next, &pc) && next; i++)
		frame = next;
	return frame;
}

/* Is this process a child that still stands where the call to fork stood, with the stack of a parent that waits there? */
static bool has_stack_of(const struct node_stack *stack, const struct why_process *parent, uint64_t exit)
{
	const struct why_process *child = stack->node->process;
	size_t first = (size_t)(exit - child->stack_pointer) / sizeof(uint64_t);
	size_t end = (size_t)(outermost(stack, exit) - child->stack_pointer) / sizeof(uint64_t);
	if (end > stack->count || end <= first)
		return false;
	size_t bytes = (end - first) * sizeof(uint64_t);
	auto_free unsigned char *theirs = memory_zeroed(bytes, 1);
	return why_read(parent, exit, theirs, bytes) && memcmp(theirs, stack->words + first, bytes) == 0;
}

/* V8 keeps its heap out of the children of a fork (MADV_DONTFORK, as of V8 10): what their frames point to is the parent's.
 * NULL where that is none of the processes that we trace, or does not wait for this one. Owned by the caller. */
static struct why_process *borrow_parent(const struct node_stack *stack, uint64_t exit)
{
	struct proc_status own, other;
	const struct why_process *child = stack->node->process;
	if (proc_read_status(child->tid, &own) != 0 || own.tracer == 0 || own.ppid <= 0 || proc_read_status(own.ppid, &other) != 0 ||
	    other.tracer != own.tracer)
		return NULL;
	struct why_process *parent = memory_zeroed(1, sizeof(*parent));
	memcpy(parent, child, sizeof(*parent));
	parent->tid = own.ppid;
	if (has_stack_of(stack, parent, exit))
		return parent;
	free(parent);
	return NULL;
}

static const char *walk_from(const struct node_stack *stack, uint64_t exit, struct node_walk *walk)
{
	walk->node = *stack->node;
	walk->stack = stack;
	walk->frame = exit;
	const char *why = walk_frames(walk);
	struct why_process *parent = why && !walk->kept.count ? borrow_parent(stack, exit) : NULL;
	if (parent) {
		walk->node.process = parent;
		memset(walk->node.memory->pages, 0, sizeof(walk->node.memory->pages));
		walk->frame = exit;
		walk->pc = 0;
		why = walk_frames(walk);
	}
	free(parent);
	return why;
}

static const char *node_walk(const struct node *node, struct node_walk *walk)
{
	struct node_stack stack = {0};
	const char *why = "the thread's stack cannot be read";
	if (read_stack(node, &stack)) {
		uint64_t exit = find_exit(&stack);
		if (exit == UINT64_MAX)
			why = "it cannot be told which of the frames on the stack V8 was left through";
		else if (!exit)
			why = strcmp(stack.map->path, "[stack]") == 0 ? deferred
				: "deferred call, no user frame: a thread of node's own makes it";
		else
			why = walk_from(&stack, exit, walk);
	}
	free(stack.words);
	return why;
}

static size_t script_node_frames(const struct why_process *process, struct record_script_frame *frames, size_t most, char *reason,
				 size_t reason_bytes)
{
	struct node_walk walk = {.kept = {.frames = frames, .most = most}};
	struct node node;
	auto_free struct node_memory *memory = memory_zeroed(1, sizeof(*memory));
	const char *why = node_layout_find(process, &node);
	node.memory = memory;
	if (!why && most)
		why = node_walk(&node, &walk);
	if (why && why_time_is_over(process))
		why = "reading the frames of JavaScript took too long";
	text_copy(reason, reason_bytes, why ? why : "");
	return walk.kept.count;
}

const struct script_reader script_node = {"javascript", node_layout_probe, script_node_frames, NULL};
