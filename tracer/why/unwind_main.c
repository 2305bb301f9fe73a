/* The helper: everything here may meet files that the target wrote, and the process is made so that it does not matter. */
#include "why/unwind.h"
#include "why/why.h"

#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

enum { CPU_SECONDS = 1, ADDRESS_SPACE_BYTES = 1 << 30 };

/* ---- what the helper cannot do ------------------------------------------------------------------------------------ */

static bool set_limit(int resource, rlim_t value)
{
	const struct rlimit limit = { value, value };
	return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

/* It reads files and writes one pipe: no processes, no files, no new rights, and not for longer than its parent lives. */
static bool confine(void)
{
	bool confined = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
			set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, 0) && set_limit(RLIMIT_NPROC, 0) &&
			set_limit(RLIMIT_CPU, CPU_SECONDS);
#ifndef HAS_SANITIZER /* a sanitizer reserves terabytes */
	confined = confined && set_limit(RLIMIT_AS, ADDRESS_SPACE_BYTES);
#endif
	return confined && close_range(UNWIND_OUTPUT_FD + 1, ~0U, 0) == 0;
}

/* ---- what it was handed ------------------------------------------------------------------------------------------- */

static size_t input_bytes(uint32_t count)
{
	return offsetof(struct unwind_input, snapshots) + count * sizeof(struct record_snapshot);
}

static const struct unwind_input *map_input(void)
{
	struct stat status;
	if (fstat(UNWIND_INPUT_FD, &status) != 0 || status.st_size < (off_t)input_bytes(1) ||
	    status.st_size > (off_t)sizeof(struct unwind_input))
		return NULL;
	const struct unwind_input *input = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, UNWIND_INPUT_FD, 0);
	if (input == MAP_FAILED || input->head.magic != UNWIND_MAGIC || input->head.snapshot_count < 1 ||
	    input->head.snapshot_count > RECORD_SNAPSHOT_MAX || status.st_size < (off_t)input_bytes(input->head.snapshot_count))
		return NULL;
	if (!memchr(input->head.source.path, '\0', sizeof(input->head.source.path)) ||
	    !memchr(input->head.source.cwd, '\0', sizeof(input->head.source.cwd)))
		return NULL;
	for (uint32_t i = 0; i < input->head.snapshot_count; i++) {
		const struct record_snapshot *snapshot = &input->snapshots[i];
		if (snapshot->registers_length != sizeof(struct user_regs_struct) ||
		    snapshot->stack_length > RECORD_SNAPSHOT_STACK_BYTES || snapshot->maps_length > RECORD_SNAPSHOT_MAPS_BYTES ||
		    snapshot->interrupted_length > RECORD_SNAPSHOT_STACK_BYTES - snapshot->stack_length)
			return NULL;
	}
	return input;
}

/* ---- what it answers ---------------------------------------------------------------------------------------------- */

struct answer {
	struct record_stack_frame frames[RECORD_STACK_FRAME_MAX];
	uint32_t count;
	const char *source;
	char missing[160];
};

static bool send_message(const struct unwind_message *message)
{
	const char *at = (const char *)message;
	size_t left = sizeof(*message);
	while (left > 0) {
		ssize_t written = write(UNWIND_OUTPUT_FD, at, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		left -= (size_t)written;
	}
	return true;
}

static bool send_frame(const struct record_stack_frame *frame, uint32_t index)
{
	struct unwind_message message = { .magic = UNWIND_MAGIC, .kind = UNWIND_FRAME, .index = index,
					  .line = frame->line, .inlined = frame->inlined,
					  .of_parent = frame->of_parent, .address = frame->address, .offset = frame->offset };
	memcpy(message.function, frame->function, sizeof(message.function));
	memcpy(message.module, frame->module, sizeof(message.module));
	memcpy(message.build_id, frame->build_id, sizeof(message.build_id));
	memcpy(message.file, frame->file, sizeof(message.file));
	return send_message(&message);
}

static bool send_answer(const struct answer *answer)
{
	struct unwind_message end = { .magic = UNWIND_MAGIC, .kind = UNWIND_END, .index = answer->count };
	for (uint32_t i = 0; i < answer->count; i++)
		if (!send_frame(&answer->frames[i], i))
			return false;
	text_copy(end.source, sizeof(end.source), answer->source);
	text_copy(end.missing, sizeof(end.missing), answer->missing);
	return send_message(&end);
}

static void answer_source(const struct source_request *request)
{
	struct source_line line;
	struct unwind_message message = { .magic = UNWIND_MAGIC, .kind = UNWIND_SOURCE };
	_Static_assert(sizeof(line.text) == sizeof(message.function), "the text fits");
	if (!source_read(request, &line) || !text_copy(message.module, sizeof(message.module), line.path))
		return;
	memcpy(message.function, line.text, sizeof(message.function));
	send_message(&message);
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

/* What needs no look into any file. */
static void place_frames(const struct image *image, const struct unwind_frame *frames, size_t count, bool of_parent,
			 struct record_stack_frame *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct image_map *map = image_find(image, frames[i].address);
		memset(&out[i], 0, sizeof(out[i]));
		out[i].address = frames[i].address;
		out[i].offset = frames[i].address;
		out[i].of_parent = of_parent;
		if (!map || map->module < 0)
			continue;
		text_copy(out[i].module, sizeof(out[i].module), image->modules[map->module].path);
		out[i].offset = map->offset + (frames[i].address - map->start);
	}
}

static void set_module_offsets(struct image *image, const struct unwind_frame *frames, size_t count, struct record_stack_frame *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct image_module *module = image_module_at(image, frames[i].address);
		if (module && module->elf)
			out[i].offset = frames[i].address - module->bias;
	}
}

/* Each step says more about the same frames, and takes longer or touches more of the files: what is known is sent before. */
static void send_walk(struct image *image, struct unwind_walk *walk, struct answer *answer, bool of_parent)
{
	uint32_t base = answer->count, room = RECORD_STACK_FRAME_MAX - base;
	size_t count = walk->count < room ? walk->count : room;
	struct record_stack_frame *out = &answer->frames[base];
	place_frames(image, walk->frames, count, of_parent, out);
	answer->count += (uint32_t)count;
	text_copy(answer->missing, sizeof(answer->missing), walk->whole ? "" : walk->reason);
	send_answer(answer);
	set_module_offsets(image, walk->frames, count, out);
	symbolise_functions(image, walk->frames, count, out);
	send_answer(answer);
	symbolise_lines(image, walk->frames, count, out);
	symbolise_demangle(out, count);
	send_answer(answer);
	size_t expanded = symbolise_inlined(image, walk->frames, count, out, room);
	symbolise_demangle(out, expanded);
	answer->count = base + (uint32_t)expanded;
	send_answer(answer);
}

/* A parent sleeps in the `clone` of its C library, which has no unwind tables from its system call on (they would be wrong for
 * the child); it saved nothing, so that the return address is where the stack pointer is. The call is left by hand. */
static bool leave_clone(struct image *image, struct unwind_walk *walk)
{
	uint64_t return_address, *registers = image->registers;
	if (!image_read(image, registers[IMAGE_REGISTER_RSP], &return_address, sizeof(return_address)) || !image_is_code(image, return_address))
		return false;
	unwind_add(image, walk, registers[IMAGE_REGISTER_RIP], true);
	registers[IMAGE_REGISTER_RIP] = return_address;
	registers[IMAGE_REGISTER_RSP] += sizeof(return_address);
	return true;
}

static void walk_with(const struct unwinder *unwinder, struct image *image, bool of_parent, struct unwind_walk *walk)
{
	uint64_t kept[IMAGE_REGISTER_COUNT];
	memset(walk, 0, sizeof(*walk));
	memcpy(kept, image->registers, sizeof(kept));
	bool left = of_parent && leave_clone(image, walk);
	image->missed = false;
	unwinder->walk(image, walk);
	if (left && walk->count > 1)
		walk->frames[1].is_exact = false;
	memcpy(image->registers, kept, sizeof(kept));
}

/* In the order of trust. The next one is only asked where the one before did not come to the stack's end; the deepest wins. */
static void unwind_snapshot(const struct record_snapshot *snapshot, struct answer *answer, bool of_parent)
{
	static const struct unwinder *const unwinders[] = { &unwinder_libdw, &unwinder_libunwind, &unwinder_frame_pointers };
	struct image image;
	struct unwind_walk *walk = memory_zeroed(1, sizeof(*walk));
	uint32_t before = answer->count;
	size_t deepest = 0;
	image_open(&image, snapshot);
	for (size_t i = 0; i < sizeof(unwinders) / sizeof(*unwinders); i++) {
		walk_with(unwinders[i], &image, of_parent, walk);
		if (walk->count > deepest) {
			deepest = walk->count;
			answer->count = before;
			if (!of_parent)
				answer->source = unwinders[i]->name;
			send_walk(&image, walk, answer, of_parent);
		}
		if (walk->whole || walk->count == RECORD_STACK_FRAME_MAX)
			break;
	}
	free(walk);
	image_close(&image);
}

/* In vfork the child runs on its parent's stack, and has the parent's frames already; in posix_spawn on one of its own. */
static bool share_a_stack(const struct unwind_input *input)
{
	uint64_t low[2], high[2];
	for (int i = 0; i < 2; i++) {
		low[i] = input->snapshots[i].stack_address;
		high[i] = low[i] + input->snapshots[i].stack_length;
	}
	return low[0] < high[1] && low[1] < high[0];
}

int why_unwind_main(void)
{
	const struct unwind_input *input = confine() ? map_input() : NULL;
	if (!input)
		return 1;
	struct answer *answer = memory_zeroed(1, sizeof(*answer));
	answer_source(&input->head.source);
	unwind_snapshot(&input->snapshots[0], answer, false);
	if (input->head.snapshot_count > 1 && !share_a_stack(input))
		unwind_snapshot(&input->snapshots[1], answer, true);
	free(answer);
	return 0;
}
