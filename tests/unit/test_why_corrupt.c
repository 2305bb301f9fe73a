/* The readers of script frames, on real interpreters, while the memory that they read is not what it was: reads fail, one after the
 * other, or give something else. What is read goes through this program's own process_vm_readv.
 *
 * A read that fails must cost frames or a line, never give a wrong one. Bytes that were exchanged cannot always be told from true
 * ones; there the readers have to end, within their bounds and with whole strings. */
#include "tap.h"

#include "base/clock.h"
#include "base/text.h"
#include "why/process.h"
#include "why/script.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CORRUPTED_WALKS = 1500, /* of each kind */
	MANY_READS = 500,       /* in a walk: then fewer walks are made */
	FAILURES_MAX = 600,     /* single reads that are made to fail */
	FAILURES_STEP = 7,      /* behind the first FAILURES_MAX / 2, every so many */
	HUNG_S = 120,
	NS_PER_S = 1000000000,
};

enum corruption { SOUND, FAILS_ONCE, FAILS_OFTEN, FLIPS, NOISE, ZEROES, POINTS_TO_ITSELF, POINTS_ANYWHERE, CORRUPTION_COUNT };

static const char *const corruption_words[CORRUPTION_COUNT] = {
	[FAILS_OFTEN] = "reads that fail", [FLIPS] = "bits that are flipped", [NOISE] = "noise", [ZEROES] = "zeroes",
	[POINTS_TO_ITSELF] = "pointers to themselves", [POINTS_ANYWHERE] = "pointers to other mappings",
};

static struct {
	enum corruption kind;
	unsigned reads, failing; /* read number `failing` is not what it was */
	unsigned rarely;         /* and one in so many others, apart from FAILS_ONCE */
	uint64_t random;
	const struct why_process *process;
} memory;

static uint64_t next_random(void)
{
	memory.random ^= memory.random << 13;
	memory.random ^= memory.random >> 7;
	memory.random ^= memory.random << 17;
	return memory.random;
}

static void put_word(unsigned char *bytes, size_t length, uint64_t word)
{
	size_t at = length >= sizeof(word) ? next_random() % (length / sizeof(word)) * sizeof(word) : 0;
	memcpy(bytes + at, &word, length < sizeof(word) ? length : sizeof(word));
}

static uint64_t somewhere(void)
{
	const struct why_map *map = &memory.process->maps[next_random() % memory.process->map_count];
	return map->start + next_random() % (map->end - map->start);
}

static void corrupt(unsigned char *bytes, size_t length, uint64_t address)
{
	switch (memory.kind) {
	case FLIPS: bytes[next_random() % length] ^= (unsigned char)(1U << next_random() % 8); break;
	case ZEROES: memset(bytes, 0, length); break;
	case POINTS_TO_ITSELF: put_word(bytes, length, address); break;
	case POINTS_ANYWHERE: put_word(bytes, length, somewhere()); break;
	case NOISE:
		for (size_t i = 0; i < length; i++)
			bytes[i] = (unsigned char)next_random();
		break;
	default: break;
	}
}

/* In place of the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count, const struct iovec *remote,
			 unsigned long remote_count, unsigned long flags)
{
	bool hit = ++memory.reads == memory.failing || (memory.kind > FAILS_ONCE && next_random() % memory.rarely == 0);
	if (hit && (memory.kind == FAILS_ONCE || memory.kind == FAILS_OFTEN)) {
		errno = EFAULT;
		return -1;
	}
	ssize_t length = syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
	if (hit && length > 0)
		corrupt(local->iov_base, (size_t)length, (uint64_t)(uintptr_t)remote->iov_base);
	return length;
}

/* ---- interpreters that stop themselves ---------------------------------------------------------------------------- */

enum { STOPS_AT_LINE = 2 };

static const struct interpreter {
	const char *language, *arguments[4], *function;
} interpreters[] = {
	{ "python", { "/usr/bin/python3", "-Sc", "def inner(): import os;\\\n  os.kill(os.getpid(), 19)\ndef outer(): return inner()\nouter()\n" },
	  "inner" },
	{ "bash", { "/bin/bash", "-c", "inner() { true\n  kill -STOP $$\n}\nouter() {\n  inner\n}\nouter\ntrue" }, "inner" },
	{ "perl", { "/usr/bin/perl", "-e", "sub inner {\n  kill('STOP', $$);\n}\nsub outer {\n  inner();\n}\nouter();" }, "main::inner" },
	{ "php", { "/usr/bin/php", "-r", "function inner() {\n  usleep(1); posix_kill(getmypid(), 19);\n}\nfunction outer() { inner(); }\nouter();" },
	  "inner" },
	{ "javascript", { "/usr/bin/node", "-e", "function inner() {\n  process.kill(process.pid, 'SIGSTOP');\n}\nfunction outer() {\n  inner();\n}\nouter();" },
	  "inner" },
};

/* The interpreter, stopped in its own function; -1 where it did not come so far. */
static pid_t stopped(const struct interpreter *interpreter)
{
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(interpreter->arguments[0], (char *const *)(uintptr_t)interpreter->arguments);
		_exit(127);
	}
	int status, signal = 0;
	for (bool first = true; waitpid(child, &status, 0) == child && WIFSTOPPED(status); first = false) {
		if (first)
			ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
		if (WSTOPSIG(status) == SIGSTOP)
			return child;
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, child, 0, (uintptr_t)signal);
	}
	return -1;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- one walk ----------------------------------------------------------------------------------------------------- */

struct walk {
	size_t count;
	struct record_script_frame frames[RECORD_SCRIPT_FRAME_MAX];
	char reason[200];
	bool probed;
};

static void take(const struct script_reader *reader, struct why_process *process, struct walk *walk)
{
	memset(walk, 0, sizeof(*walk));
	process->deadline_ns = clock_now_ns() + (uint64_t)HUNG_S * NS_PER_S;
	memory.reads = 0;
	walk->probed = reader->probe(process);
	if (walk->probed)
		walk->count = reader->frames(process, walk->frames, RECORD_SCRIPT_FRAME_MAX, walk->reason, sizeof(walk->reason));
}

static bool is_whole(const struct walk *walk)
{
	if (walk->count > RECORD_SCRIPT_FRAME_MAX || !memchr(walk->reason, '\0', sizeof(walk->reason)))
		return false;
	for (size_t i = 0; i < walk->count; i++) {
		const struct record_script_frame *frame = &walk->frames[i];
		if (!memchr(frame->function, '\0', sizeof(frame->function)) || frame->file.length >= sizeof(frame->file.bytes))
			return false;
	}
	return true;
}

static bool same_place(const struct record_script_frame *left, const struct record_script_frame *right)
{
	return strcmp(left->function, right->function) == 0 && strcmp(left->file.bytes, right->file.bytes) == 0;
}

/* Is every frame one of the sound ones, in their order, and its line the sound one or none? */
static bool says_nothing_wrong(const struct walk *walk, const struct walk *sound)
{
	size_t at = 0;
	for (size_t i = 0; i < walk->count; i++, at++) {
		while (at < sound->count && !same_place(&walk->frames[i], &sound->frames[at]))
			at++;
		if (at == sound->count || (walk->frames[i].line != 0 && walk->frames[i].line != sound->frames[at].line))
			return false;
	}
	return true;
}

/* ---- the tests ---------------------------------------------------------------------------------------------------- */

static bool test_sound(const struct script_reader *reader, const struct interpreter *interpreter, struct why_process *process,
		       struct walk *sound, unsigned *reads)
{
	memory.kind = FAILS_ONCE;
	memory.failing = 0;
	take(reader, process, sound);
	*reads = memory.reads;
	bool right = sound->count >= 2;
	for (size_t i = 0; right && i < sound->count; i++)
		if (sound->frames[i].own_code)
			return tap_ok(strcmp(sound->frames[i].function, interpreter->function) == 0 && sound->frames[i].line == STOPS_AT_LINE,
				      "%s: %zu frames, and the innermost is that of the call", reader->language, sound->count);
	return tap_ok(false, "%s: frames of its own code (%s)", reader->language, sound->reason);
}

static void test_single_failures(const struct script_reader *reader, struct why_process *process, const struct walk *sound, unsigned reads)
{
	struct walk *walk = memory_zeroed(1, sizeof(*walk));
	unsigned wrong = 0, silent = 0, tries = 0;
	memory.kind = FAILS_ONCE;
	for (unsigned failing = 1; failing <= reads && tries < FAILURES_MAX; failing += tries < FAILURES_MAX / 2 ? 1 : FAILURES_STEP) {
		memory.failing = failing;
		take(reader, process, walk);
		tries++;
		wrong += !is_whole(walk) || !says_nothing_wrong(walk, sound);
		silent += walk->probed && walk->count < sound->count && !walk->reason[0];
	}
	tap_number(wrong, 0, "%s: one of its %u reads fails (%u tries): no frame and no line is wrong", reader->language, reads, tries);
	tap_number(silent, 0, "%s: and where frames are missing it says so", reader->language);
	free(walk);
}

/* One read of each walk, and now and then another one: with more of them few walks would come far. */
static void test_corruption(const struct script_reader *reader, struct why_process *process, const struct walk *sound, unsigned reads)
{
	struct walk *walk = memory_zeroed(1, sizeof(*walk));
	unsigned walks = reads < MANY_READS ? CORRUPTED_WALKS : CORRUPTED_WALKS / 5;
	walks = tap_in_valgrind() ? walks / 25 : walks;
	memory.rarely = 2 * reads;
	for (enum corruption kind = FAILS_OFTEN; kind < CORRUPTION_COUNT; kind++) {
		unsigned broken = 0, wrong = 0, through = 0;
		uint64_t begin = clock_now_ns();
		memory.kind = kind;
		for (unsigned i = 0; i < walks && clock_now_ns() - begin < (uint64_t)HUNG_S * NS_PER_S; i++) {
			memory.failing = 1 + (unsigned)(next_random() % reads);
			take(reader, process, walk);
			broken += !is_whole(walk);
			wrong += kind == FAILS_OFTEN && !says_nothing_wrong(walk, sound);
			through += walk->count > 0;
		}
		tap_number(broken + wrong, 0, "%s: %s: what is told is whole", reader->language, corruption_words[kind]);
		tap_ok(through > 0 || tap_in_valgrind(), "%s: %s: some walks find frames all the same (%u)", reader->language, corruption_words[kind], through);
		tap_ok(clock_now_ns() - begin < (uint64_t)HUNG_S * NS_PER_S, "%s: %s: and every walk ends", reader->language,
		       corruption_words[kind]);
	}
	free(walk);
}

static void test_reader(const struct script_reader *reader, const struct interpreter *interpreter)
{
	pid_t child = stopped(interpreter);
	if (!tap_ok(child > 0, "%s: an interpreter stops in a function", reader->language))
		return;
	struct why_process *process = memory_zeroed(1, sizeof(*process));
	struct walk *sound = memory_zeroed(1, sizeof(*sound));
	unsigned reads;
	memory.kind = SOUND;
	memory.failing = 0;
	memory.process = process;
	memory.random = 20240504;
	if (tap_ok(why_process_read(child, process) == 0, "%s: it can be read", reader->language) &&
	    test_sound(reader, interpreter, process, sound, &reads)) {
		test_single_failures(reader, process, sound, reads);
		test_corruption(reader, process, sound, reads);
	}
	memory.failing = 0;
	memory.kind = SOUND;
	free(sound);
	free(process);
	end(child);
}

int main(void)
{
	for (size_t i = 0; script_readers[i]; i++) {
		bool known = false;
		for (size_t n = 0; n < sizeof(interpreters) / sizeof(*interpreters); n++) {
			if (strcmp(interpreters[n].language, script_readers[i]->language) != 0)
				continue;
			known = true;
			if (access(interpreters[n].arguments[0], X_OK) == 0)
				test_reader(script_readers[i], &interpreters[n]);
		}
		tap_ok(known, "%s has a program to be read", script_readers[i]->language);
	}
	return tap_done();
}
