/* The unwinder: a stack whose functions and lines are known, the same through 1,500 broken ELF files, and helpers that hang, die
 * or lie. This program is its own helper, since the helper is whatever program runs, started once more. */
#include "tap.h"

#include "base/clock.h"
#include "base/text.h"
#include "tracee/memory.h"
#include "tracee/proc.h"
#include "why/capture.h"
#include "why/image.h"
#include "why/source.h"
#include "why/unwind.h"
#include "why/why.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	MUTATION_COUNT = 1500,
	CORRUPTION_COUNT = 300,
	DEADLINE_MS = 2000,   /* ten times what a run allows: the host may have other things to do */
	PATIENT_MS = 20000,   /* where the answer matters and not the time */
	GRACE_MS = 3000,      /* to start, kill and reap on a busy host */
	NS_PER_MS = 1000000,
	HANG = -1, LIE = -2, DIE = -3, SKIP_AN_INDEX = -4, NEVER_END = -5, WRONG_COUNT = -6, UNTERMINATED = -7, /* in place of a tid */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- a helper that misbehaves ---- */

static void say(uint32_t kind, uint32_t index)
{
	struct unwind_message message = { .magic = UNWIND_MAGIC, .kind = kind, .index = index };
	if (write(UNWIND_OUTPUT_FD, &message, sizeof(message)) != (ssize_t)sizeof(message))
		raise(SIGKILL);
}

static void say_unterminated(uint32_t kind, uint32_t index)
{
	struct unwind_message message;
	memset(&message, 'x', sizeof(message));
	message.magic = UNWIND_MAGIC;
	message.kind = kind;
	message.index = index;
	if (write(UNWIND_OUTPUT_FD, &message, sizeof(message)) != (ssize_t)sizeof(message))
		raise(SIGKILL);
}

static int helper(void)
{
	pid_t how = 0;
	if (pread(UNWIND_INPUT_FD, &how, sizeof(how), offsetof(struct unwind_input, snapshots)) != sizeof(how))
		return 1;
	switch (how) {
	case HANG:
		say(UNWIND_FRAME, 0);
		say(UNWIND_END, 1);
		for (;;)
			pause();
	case LIE: return write(UNWIND_OUTPUT_FD, "0123456789", 10) == 10 ? (say(7, 0), 0) : 1;
	case DIE: raise(SIGKILL); return 1;
	case SKIP_AN_INDEX:
		say(UNWIND_FRAME, 0);
		say(UNWIND_FRAME, 2);
		return 0;
	case NEVER_END:
		for (uint32_t i = 0;; i++)
			say(UNWIND_FRAME, i);
	case WRONG_COUNT:
		say(UNWIND_FRAME, 0);
		say(UNWIND_END, 5);
		return 0;
	case UNTERMINATED:
		say_unterminated(UNWIND_FRAME, 0);
		say_unterminated(UNWIND_END, 1);
		return 0;
	default: return why_unwind_main();
	}
}

static uint64_t complete_in_ms(struct record_explanation *explanation, unsigned deadline_ms)
{
	uint64_t begin = clock_now_ns();
	why_explainer.complete(explanation, deadline_ms);
	return (clock_now_ns() - begin) / NS_PER_MS;
}

static void test_misbehaviour(void)
{
	static const struct {
		pid_t how;
		const char *name, *says;
		unsigned frames;
	} cases[] = {
		{ HANG, "a helper that hangs", "names and lines may be missing: the unwinder did not end within 2000 ms", 1 },
		{ LIE, "a helper that sends nonsense", "the unwinder said what makes no sense", 0 },
		{ DIE, "a helper that crashes", "the unwinder died of SIGKILL", 0 },
		{ SKIP_AN_INDEX, "a frame too far", "the unwinder said what makes no sense", 0 },
		{ NEVER_END, "more frames than there may be", "the unwinder said what makes no sense", 0 },
		{ WRONG_COUNT, "an end that does not fit", "the unwinder said what makes no sense", 0 },
	};
	struct record_explanation *explanation = memory_zeroed(1, sizeof(*explanation));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(explanation, 0, offsetof(struct record_explanation, snapshots));
		explanation->snapshot_count = 1;
		explanation->snapshots[0].tid = cases[i].how;
		uint64_t took_ms = complete_in_ms(explanation, DEADLINE_MS);
		tap_string(explanation->stack_missing, cases[i].says, "%s is told", cases[i].name);
		tap_number(explanation->stack_count, cases[i].frames, "%s: what was whole is kept, and no more", cases[i].name);
		tap_ok(took_ms < DEADLINE_MS + GRACE_MS, "%s: nobody waits past the deadline (%llu ms)", cases[i].name,
		       (unsigned long long)took_ms);
	}
	explanation->snapshots[0].tid = UNTERMINATED;
	complete_in_ms(explanation, DEADLINE_MS);
	const struct record_stack_frame *frame = &explanation->stack[0];
	tap_ok(explanation->stack_count == 1 && strlen(frame->function) < sizeof(frame->function) &&
		       strlen(frame->module) < sizeof(frame->module) && strlen(frame->file) < sizeof(frame->file) && !frame->build_id[0],
	       "text without an end gets one, and what is no build id is none");
	free(explanation);
}

static void test_nothing_to_do(void)
{
	struct record_explanation *explanation = memory_zeroed(1, sizeof(*explanation));
	complete_in_ms(explanation, DEADLINE_MS);
	tap_string(explanation->stack_missing, "", "without a snapshot nothing is started");
	explanation->snapshot_count = RECORD_SNAPSHOT_MAX + 1;
	complete_in_ms(explanation, DEADLINE_MS);
	tap_number(explanation->stack_count, 0, "a count beyond the record's is none");
	free(explanation);
}

/* ---- a thread to look at ---- */

/* What a stop of this very thread would show; Valgrind has other registers in the real ones. */
static void copy_own(struct record_snapshot *snapshot)
{
	struct user_regs_struct registers = { 0 };
	ucontext_t context;
	getcontext(&context);
	const greg_t *now = context.uc_mcontext.gregs;
	registers.rip = (unsigned long long)now[REG_RIP];
	registers.rsp = (unsigned long long)now[REG_RSP];
	registers.rbp = (unsigned long long)now[REG_RBP];
	registers.rbx = (unsigned long long)now[REG_RBX];
	registers.r12 = (unsigned long long)now[REG_R12];
	registers.r13 = (unsigned long long)now[REG_R13];
	registers.r14 = (unsigned long long)now[REG_R14];
	registers.r15 = (unsigned long long)now[REG_R15];
	memcpy(snapshot->registers, &registers, sizeof(registers));
	snapshot->registers_length = sizeof(registers);
	ssize_t length = proc_read_file(getpid(), "maps", snapshot->maps, sizeof(snapshot->maps) - 1);
	snapshot->maps_length = length > 0 ? (uint32_t)length : 0;
	snapshot->tid = getpid();
	snapshot->stack_address = registers.rsp;
	snapshot->stack_length = 0;
	for (uint32_t step = 256; snapshot->stack_length + step <= sizeof(snapshot->stack); snapshot->stack_length += step) {
		tracee_address from = tracee_address_of(registers.rsp + snapshot->stack_length);
		if (memory_read(getpid(), from, snapshot->stack + snapshot->stack_length, step) != 0)
			return;
	}
}

enum { STOP_LINE = __LINE__ + 7 };

/* Stops the thread, or copies itself into `own`. */
__attribute__((noinline)) static int innermost(struct record_snapshot *own)
{
	volatile int kept = own != NULL;
	if (!own)
		kept += raise(SIGSTOP); /* STOP_LINE */
	else
		copy_own(own);
	return kept;
}

__attribute__((noinline)) static int middle(int depth, struct record_snapshot *own)
{
	volatile int kept = depth > 0 ? middle(depth - 1, own) : innermost(own);
	return kept + 1;
}

/* A child that stops in `innermost`, `depth` calls of `middle` deep. */
static pid_t stopped_child(int depth)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		_exit(middle(depth, NULL));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return -1;
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool snapshot_of(int depth, struct record_snapshot *snapshot)
{
	if (tap_in_valgrind())
		return tap_ok(middle(depth, snapshot) > depth, "a thread copies itself");
	pid_t child = stopped_child(depth);
	bool taken = child > 0 && capture_snapshot(child, snapshot) == 0;
	if (child > 0)
		end_child(child);
	return tap_ok(taken, "a stopped thread is copied");
}

static const struct record_stack_frame *frame_named(const struct record_explanation *explanation, const char *name, unsigned nth)
{
	for (uint32_t i = 0; i < explanation->stack_count; i++)
		if (strcmp(explanation->stack[i].function, name) == 0 && nth-- == 0)
			return &explanation->stack[i];
	return NULL;
}

/* What the helper does, in this process. */
static void unwind_here(struct record_explanation *explanation)
{
	struct image image;
	struct unwind_walk *walk = memory_zeroed(1, sizeof(*walk));
	image_open(&image, &explanation->snapshots[0]);
	unwinder_libdw.walk(&image, walk);
	explanation->stack_count = (uint32_t)walk->count;
	for (size_t i = 0; i < walk->count; i++)
		explanation->stack[i] = (struct record_stack_frame){ .address = walk->frames[i].address };
	symbolise_functions(&image, walk->frames, walk->count, explanation->stack);
	symbolise_lines(&image, walk->frames, walk->count, explanation->stack);
	image_close(&image);
	text_copy(explanation->stack_source, sizeof(explanation->stack_source), "libdw");
	free(walk);
}

static uint64_t unwind(struct record_explanation *explanation, unsigned deadline_ms)
{
	memset(explanation, 0, offsetof(struct record_explanation, snapshots));
	explanation->snapshot_count = 1;
	explanation->stack_count = 0;
	explanation->stack_missing[0] = '\0';
	if (!tap_in_valgrind())
		return complete_in_ms(explanation, deadline_ms);
	unwind_here(explanation);
	return 0;
}

static void test_names_and_lines(struct record_explanation *explanation)
{
	unwind(explanation, PATIENT_MS);
	tap_string(explanation->stack_source, "libdw", "libdw walks it");
	tap_string(explanation->stack_missing, "", "to the end");
	const struct record_stack_frame *frame = frame_named(explanation, "innermost", 0);
	if (!tap_ok(frame, "the function that stopped is named"))
		return;
	tap_contains(frame->file, "test_why_unwind.c", "with its file");
	tap_number(frame->line, STOP_LINE + (tap_in_valgrind() ? 2 : 0), "and its line");
	tap_ok(frame->offset > 0 && frame->offset < 4096, "and how far into it");
	tap_ok(frame_named(explanation, "middle", 3) && !frame_named(explanation, "middle", 4), "each call of a recursion has its frame");
	tap_ok(frame_named(explanation, "main", 0), "main is there");
	if (!tap_in_valgrind())
		tap_contains(frame->module, "test_why_unwind", "the module is named");
}

static void test_deep(struct record_explanation *explanation)
{
	if (!snapshot_of(20000, &explanation->snapshots[0]))
		return;
	unwind(explanation, PATIENT_MS);
	tap_number(explanation->stack_count, RECORD_STACK_FRAME_MAX, "of 20,000 frames the innermost are kept");
	if (!tap_in_valgrind())
		tap_contains(explanation->stack_missing, "innermost 128", "which is said");
}

static bool is_sane(const struct record_explanation *explanation)
{
	if (explanation->stack_count > RECORD_STACK_FRAME_MAX)
		return false;
	for (uint32_t i = 0; i < explanation->stack_count; i++) {
		const struct record_stack_frame *frame = &explanation->stack[i];
		if (strnlen(frame->function, sizeof(frame->function)) == sizeof(frame->function) ||
		    strnlen(frame->file, sizeof(frame->file)) == sizeof(frame->file) ||
		    strspn(frame->build_id, "0123456789abcdef") != strlen(frame->build_id))
			return false;
	}
	return true;
}

/* ---- snapshots that lie ---- */

static void set_register(struct record_snapshot *snapshot, size_t number, uint64_t value)
{
	memcpy(snapshot->registers + number * sizeof(value), &value, sizeof(value));
}

/* Numbers of struct user_regs_struct. */
enum { USER_RBP = 4, USER_RIP = 16, USER_RSP = 19 };

static void test_lying_snapshots(struct record_explanation *explanation)
{
	struct record_snapshot *snapshot = &explanation->snapshots[0];
	struct record_snapshot *sound = malloc(sizeof(*sound));
	memcpy(sound, snapshot, sizeof(*sound));
	set_register(snapshot, USER_RSP, 0);
	set_register(snapshot, USER_RBP, UINT64_MAX - 7);
	unwind(explanation, PATIENT_MS);
	tap_ok(explanation->stack_count >= 1, "a stack pointer that points nowhere leaves the innermost frame");

	set_register(snapshot, USER_RIP, 0x10);
	unwind(explanation, PATIENT_MS);
	tap_ok(explanation->stack_count <= 1, "without code at the instruction pointer there is no second frame");

	memcpy(snapshot, sound, sizeof(*snapshot));
	snapshot->maps_length = 0;
	unwind(explanation, PATIENT_MS);
	tap_ok(explanation->stack_count <= 1, "nor without mappings");

	memcpy(snapshot, sound, sizeof(*snapshot));
	uint64_t state = 7;
	for (uint32_t at = 0; at + 8 <= snapshot->stack_length; at += 8) {
		uint64_t value = next_random(&state), within = snapshot->stack_address + value % snapshot->stack_length;
		value = value % 3 ? value : within;
		memcpy(snapshot->stack + at, &value, sizeof(value));
	}
	unwind(explanation, PATIENT_MS);
	tap_ok(explanation->stack_count <= RECORD_STACK_FRAME_MAX, "a stack of noise ends");

	if (!tap_in_valgrind()) {
		snapshot->stack_length = RECORD_SNAPSHOT_STACK_BYTES + 1;
		unwind(explanation, PATIENT_MS);
		tap_string(explanation->stack_missing, "the unwinder could not begin", "a length beyond the copy is refused");
		snapshot->stack_length = sound->stack_length;
		snapshot->interrupted_length = RECORD_SNAPSHOT_STACK_BYTES - snapshot->stack_length + 1;
		unwind(explanation, PATIENT_MS);
		tap_string(explanation->stack_missing, "the unwinder could not begin", "and so is that of an interrupted stack");
	}
	memcpy(snapshot, sound, sizeof(*snapshot));
	free(sound);
}

/* A word of the stack becomes a small number, a large one, or points into the stack or the code: what a chain is made of. */
static void corrupt_stack(struct record_snapshot *snapshot, uint64_t *state)
{
	for (unsigned count = 1 + (unsigned)(next_random(state) % 40); count > 0 && snapshot->stack_length >= 4096; count--) {
		const uint64_t values[] = { next_random(state), next_random(state) % 4096,
					    snapshot->stack_address + next_random(state) % snapshot->stack_length,
					    (uint64_t)(uintptr_t)snapshot_of + next_random(state) % 65536 };
		uint32_t near = next_random(state) % 4 ? 4096 : snapshot->stack_length;
		memcpy(snapshot->stack + next_random(state) % (near / 8) * 8, &values[next_random(state) % 4], 8);
	}
}

static void corrupt_registers(struct record_snapshot *snapshot, uint64_t *state)
{
	static const size_t numbers[] = { USER_RBP, USER_RIP, USER_RSP };
	uint64_t value = next_random(state) % 2 ? next_random(state) : snapshot->stack_address + next_random(state) % 8192;
	set_register(snapshot, numbers[next_random(state) % 3], value);
}

static void corrupt_maps(struct record_snapshot *snapshot, uint64_t *state)
{
	static const char letters[] = "0123456789abcdef-rwxp /:\n";
	for (unsigned count = 1 + (unsigned)(next_random(state) % 20); count > 0 && snapshot->maps_length > 0; count--)
		snapshot->maps[next_random(state) % snapshot->maps_length] = letters[next_random(state) % (sizeof(letters) - 1)];
}

static void test_corrupted_snapshots(struct record_explanation *explanation)
{
	struct record_snapshot *snapshot = &explanation->snapshots[0], *sound = malloc(sizeof(*sound));
	unsigned insane = 0, deep = 0, count = tap_in_valgrind() ? 12 : CORRUPTION_COUNT;
	uint64_t state = 20240607, slowest_ms = 0;
	memcpy(sound, snapshot, sizeof(*sound));
	for (unsigned i = 0; i < count; i++) {
		static void (*const kinds[])(struct record_snapshot *, uint64_t *) = { corrupt_stack, corrupt_registers, corrupt_maps };
		kinds[i % 3](snapshot, &state);
		if (i % 10 == 9)
			kinds[next_random(&state) % 3](snapshot, &state);
		uint64_t took_ms = unwind(explanation, DEADLINE_MS);
		slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
		insane += !is_sane(explanation);
		deep += explanation->stack_count > 2;
		memcpy(snapshot, sound, sizeof(*snapshot));
	}
	tap_number(insane, 0, "%u corrupted snapshots: every record is sound", count);
	tap_ok(deep > 0, "many of them still have a stack (%u)", deep);
	tap_ok(slowest_ms < DEADLINE_MS + GRACE_MS, "and none was waited for past the deadline (%llu ms at most)",
	       (unsigned long long)slowest_ms);
	free(sound);
}

/* ---- files that lie ---- */

struct victim {
	char path[64];
	int fd;
	unsigned char *sound;
	size_t length;
	ino_t inode; /* of the file that it is a copy of */
};

static bool make_victim(struct victim *victim)
{
	struct stat status;
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	text_copy(victim->path, sizeof(victim->path), "/tmp/bailiff-unwind-XXXXXX");
	victim->fd = mkostemp(victim->path, O_CLOEXEC);
	if (own < 0 || victim->fd < 0 || fstat(own, &status) != 0)
		return false;
	victim->length = (size_t)status.st_size;
	victim->inode = status.st_ino;
	victim->sound = malloc(victim->length);
	bool copied = read(own, victim->sound, victim->length) == status.st_size &&
		      write(victim->fd, victim->sound, victim->length) == status.st_size;
	close(own);
	return copied;
}

/* The mappings of this program become mappings of the victim: lines are rewritten with its path, device and inode. */
static void map_victim(struct record_snapshot *snapshot, const struct victim *victim)
{
	struct text text = { 0 };
	struct stat status;
	if (fstat(victim->fd, &status) != 0)
		return;
	for (char *line = snapshot->maps; *line;) {
		char *end = strchr(line, '\n');
		struct why_map map;
		struct maps_file file;
		bool known = maps_parse_line(line, (size_t)(end - line), &map, &file);
		if (known && file.inode == victim->inode)
			text_printf(&text, "%" PRIx64 "-%" PRIx64 " %c%c%cp %" PRIx64 " %x:%x %ju %s\n", map.start, map.end,
				    map.readable ? 'r' : '-', map.writable ? 'w' : '-', map.executable ? 'x' : '-', map.offset,
				    major(status.st_dev), minor(status.st_dev), (uintmax_t)status.st_ino, victim->path);
		else
			text_append_bytes(&text, line, (size_t)(end + 1 - line));
		line = end + 1;
	}
	if (text.length < sizeof(snapshot->maps)) {
		memcpy(snapshot->maps, text.bytes, text.length + 1);
		snapshot->maps_length = (uint32_t)text.length;
	}
	text_free(&text);
}

/* Headers of the file, of segments and of sections; tables near the end; and anything. */
static size_t place_of(const struct victim *victim, uint64_t *state)
{
	const size_t last = victim->length - 64;
	switch (next_random(state) % 5) {
	case 0: return next_random(state) % 64;
	case 1: return 64 + next_random(state) % 800;
	case 2: return last - next_random(state) % 2600;
	default: return next_random(state) % last;
	}
}

static void mutate(const struct victim *victim, uint64_t *state)
{
	unsigned count = 1 + (unsigned)(next_random(state) % 12);
	for (unsigned i = 0; i < count; i++) {
		uint64_t value = next_random(state) % 3 ? next_random(state) : UINT64_MAX >> next_random(state) % 64;
		size_t place = place_of(victim, state), length = 1 + next_random(state) % 8;
		if (pwrite(victim->fd, &value, length, (off_t)place) != (ssize_t)length)
			return;
	}
	if (next_random(state) % 16 == 0 && ftruncate(victim->fd, (off_t)(next_random(state) % victim->length)) != 0)
		return;
}

static void test_mutations(struct record_explanation *explanation)
{
	struct victim victim = { .fd = -1 };
	uint64_t state = 20240301, slowest_ms = 0;
	unsigned insane = 0, empty = 0, named = 0, misplaced = 0, count = tap_in_valgrind() ? 12 : MUTATION_COUNT;
	if (!tap_ok(make_victim(&victim), "a file to break"))
		return;
	map_victim(&explanation->snapshots[0], &victim);
	unwind(explanation, PATIENT_MS);
	tap_ok(frame_named(explanation, "innermost", 0), "while it is sound, names come from it");
	for (unsigned i = 0; i < count; i++) {
		mutate(&victim, &state);
		uint64_t took_ms = unwind(explanation, DEADLINE_MS);
		slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
		insane += !is_sane(explanation);
		empty += explanation->stack_count == 0;
		const struct record_stack_frame *frame = frame_named(explanation, "innermost", 0);
		named += frame != NULL;
		misplaced += frame && frame->line != 0 && frame->line != (tap_in_valgrind() ? STOP_LINE + 2 : STOP_LINE);
		if (pwrite(victim.fd, victim.sound, victim.length, 0) != (ssize_t)victim.length)
			break;
	}
	tap_number(insane, 0, "%u broken files: every record is sound", count);
	tap_ok(empty * 20 <= count, "and hardly one without a frame (%u)", empty);
	tap_ok(named > 0 && named < count, "names were lost in some of them (%u of %u had them)", named, count);
	/* A byte of the line table that was exchanged for another valid one cannot be told from the true one. */
	tap_ok(misplaced * 50 <= named, "nearly all of them with the right line or with none (%u have another one)", misplaced);
	tap_ok(slowest_ms < DEADLINE_MS + GRACE_MS, "none was waited for past the deadline (%llu ms at most)",
	       (unsigned long long)slowest_ms);
	close(victim.fd);
	unlink(victim.path);
	free(victim.sound);
}

/* Another file under the same name is not the one that was mapped. */
static void test_replaced(struct record_explanation *explanation)
{
	struct victim victim = { .fd = -1 }, other = { .fd = -1 };
	if (!tap_ok(make_victim(&victim) && make_victim(&other), "a file and another"))
		return;
	map_victim(&explanation->snapshots[0], &victim);
	tap_ok(rename(other.path, victim.path) == 0, "the other takes its name");
	unwind(explanation, PATIENT_MS);
	tap_ok(explanation->stack_count > 0 && !frame_named(explanation, "innermost", 0), "no name is taken from it");
	unlink(victim.path);
	tap_ok(mkfifo(victim.path, 0600) == 0, "then a FIFO does");
	uint64_t took_ms = unwind(explanation, PATIENT_MS);
	tap_ok(took_ms < PATIENT_MS && explanation->stack_count > 0, "and nobody waits for its writer");
	unlink(victim.path);
	close(victim.fd);
	close(other.fd);
	free(victim.sound);
	free(other.sound);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--internal-unwind") == 0)
		return helper();
	struct record_explanation *explanation = memory_zeroed(1, sizeof(*explanation));
	if (!tap_in_valgrind())
		test_misbehaviour();
	test_nothing_to_do();
	if (snapshot_of(3, &explanation->snapshots[0])) {
		struct record_snapshot *sound = malloc(sizeof(*sound));
		memcpy(sound, &explanation->snapshots[0], sizeof(*sound));
		test_names_and_lines(explanation);
		test_lying_snapshots(explanation);
		test_corrupted_snapshots(explanation);
		test_mutations(explanation);
		memcpy(&explanation->snapshots[0], sound, sizeof(*sound));
		test_replaced(explanation);
		free(sound);
	}
	test_deep(explanation);
	free(explanation);
	return tap_done();
}
