/* execve and execveat: decided before, verified after.
 *
 * Before: the program, every `#!` interpreter along a script chain, and a PT_INTERP that is not the system's own loader are
 * judged like programs. After: at PTRACE_EVENT_EXEC the kernel has opened the file and nothing can be swapped any more
 * (writing to it is ETXTBSY); what really runs is looked at before its first instruction. A helper that renames another
 * binary over the checked name between the two won 653 times in 10,000 against a check before alone. */
#include "engine/handlers.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "engine/held.h"
#include "engine/limits.h"
#include "engine/pin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	HEAD_BYTES = 256,      /* what the kernel reads of a script's first line (BINPRM_BUF_SIZE) */
	CHAIN_MAX = 5,         /* interpreters of interpreters before the kernel answers ELOOP */
	PROGRAM_HEADER_MAX = 128,
};

struct chain {
	char names[CHAIN_MAX + 1][PATH_MAX];
	const char *pointers[CHAIN_MAX + 1];
	size_t count;
};

bool exec_is_system_loader(const struct supervisor *supervisor, const char *path)
{
	for (size_t i = 0; i < supervisor->system_loader_count; i++)
		if (strcmp(supervisor->system_loaders[i], path) == 0)
			return true;
	return false;
}

/* One program of the chain, open for reading. The answer for what is not executable comes after the policy's. */
struct program {
	int fd;
	struct stat status;
	char head[HEAD_BYTES + 1];
	size_t head_length;
	bool unreadable; /* it could be executed, but not read */
};

/* A program named by a descriptor is held before it is decided: with the number opened once more after the decision, a thread
 * that put another file under it had that one executed in every second run of 100 tries. -1 where it has a name. */
static int program_hold(struct subject *subject)
{
	const struct resolved *resolved = &subject->resolved;
	if (!resolved->by_descriptor || !resolved->holder || resolved->objected)
		return -1;
	int held = held_take(resolved->holder, resolved->descriptor, 0);
	if (held >= 0)
		resolve_held(held, &subject->resolved);
	else
		subject->resolved.error = -held;
	return held;
}

/* Opens the object for a look inside. First O_PATH: a FIFO or a lease must not hang the supervisor. */
static int program_open(const struct subject *subject, int held, struct program *program)
{
	char path[32];
	auto_fd int named = held < 0 ? resolve_open(subject->resolved.path, false) : -1;
	int object = held < 0 ? named : held;
	if (object < 0)
		return object;
	if (fstat(object, &program->status) != 0)
		return -errno;
	if (!S_ISREG(program->status.st_mode))
		return -EACCES;
	own_descriptor_path(object, path);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
		return -errno;
	program->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	program->unreadable = program->fd < 0;
	if (program->unreadable)
		return -EACCES;
	ssize_t length = pread(program->fd, program->head, HEAD_BYTES, 0);
	if (length < 0)
		return -errno;
	program->head_length = (size_t)length;
	program->head[length] = '\0';
	return 0;
}

/* The interpreter named by a `#!` line, as the kernel reads it. False where the line names none (ENOEXEC). */
static bool script_interpreter(const struct program *program, char interpreter[static HEAD_BYTES])
{
	const char *start = program->head + 2;
	const char *limit = program->head + program->head_length;
	while (start < limit && (*start == ' ' || *start == '\t'))
		start++;
	const char *end = start;
	while (end < limit && *end != '\n' && *end != ' ' && *end != '\t' && *end != '\0')
		end++;
	/* A first line that does not end in what the kernel reads must at least have a whole name in it. */
	if (end == start || (end == limit && program->head_length == HEAD_BYTES))
		return false;
	memcpy(interpreter, start, (size_t)(end - start));
	interpreter[end - start] = '\0';
	return true;
}

struct segments {
	Elf64_Phdr rows[PROGRAM_HEADER_MAX];
	size_t count;
	bool fixed; /* linked to the addresses that they name */
};

/* 0 for an ELF of this machine, else -ENOEXEC. */
static int elf_segments(const struct program *program, struct segments *segments)
{
	Elf64_Ehdr header;
	if (program->head_length < sizeof(header))
		return -ENOEXEC;
	memcpy(&header, program->head, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum == 0 || header.e_phnum > PROGRAM_HEADER_MAX)
		return -ENOEXEC;

	segments->fixed = header.e_type == ET_EXEC;
	segments->count = header.e_phnum;
	size_t bytes = segments->count * sizeof(Elf64_Phdr);
	if (header.e_phoff > INT64_MAX || pread(program->fd, segments->rows, bytes, (off_t)header.e_phoff) != (ssize_t)bytes)
		return -ENOEXEC;
	return 0;
}

/* PT_INTERP: 1 with the name filled, 0 for a static program, -ENOEXEC where it is none. */
static int elf_interpreter(const struct program *program, const struct segments *segments, char interpreter[static PATH_MAX])
{
	for (size_t i = 0; i < segments->count; i++) {
		const Elf64_Phdr *row = &segments->rows[i];
		if (row->p_type != PT_INTERP)
			continue;
		size_t length = row->p_filesz;
		if (length < 2 || length > PATH_MAX || row->p_offset > INT64_MAX ||
		    pread(program->fd, interpreter, length, (off_t)row->p_offset) != (ssize_t)length ||
		    interpreter[length - 1] != '\0')
			return -ENOEXEC;
		return 1;
	}
	return 0;
}

/* Linked to where the sealed page has to lie, below where linkers put programs. */
static bool elf_is_in_page(const struct segments *segments)
{
	for (size_t i = 0; i < segments->count && segments->fixed; i++)
		if (segments->rows[i].p_type == PT_LOAD && segments->rows[i].p_vaddr < PAGE_END)
			return true;
	return false;
}

/* What the kernel sets aside for data and bss before the first instruction. */
static uint64_t elf_data_bytes(const struct segments *segments)
{
	uint64_t total = 0;
	for (size_t i = 0; i < segments->count; i++) {
		const Elf64_Phdr *row = &segments->rows[i];
		bool counts = row->p_type == PT_LOAD && (row->p_flags & PF_W);
		if (counts && __builtin_add_overflow(total, row->p_memsz, &total))
			return UINT64_MAX;
	}
	return total;
}

static struct resume exec_error(struct stop *stop, struct subject *subject, int number)
{
	report_allowed(stop, &subject->operation, number);
	return resume_answer(-number);
}

/* A program that the supervisor cannot read would be unreadable while it runs as well. */
static struct resume unreadable(struct stop *stop, struct subject *subject)
{
	return report_refused_quietly(stop, &subject->operation, EACCES, "a program that cannot be read cannot be supervised");
}

static bool chain_add(struct chain *chain, struct subject *subject)
{
	if (chain->count > CHAIN_MAX)
		return false;
	text_copy(chain->names[chain->count], PATH_MAX, subject->resolved.path);
	chain->pointers[chain->count] = chain->names[chain->count];
	chain->count++;
	subject->operation.chain = chain->count > 1 ? chain->pointers : NULL;
	subject->operation.chain_count = chain->count > 1 ? chain->count : 0;
	return true;
}

/* The hash that an entry names must be that of the file as it is now; at PTRACE_EVENT_EXEC it is taken once more. */
bool exec_hash_agrees(struct stop *stop, const char *path, int fd)
{
	const char *required = decide_required_sha256(stop->supervisor->policy, path, stop->task->process->tgid);
	if (!required)
		return true;
	char found[HASH_TEXT];
	return hash_fd(fd, found, NULL, NULL) == 0 && strcmp(found, required) == 0;
}

static bool blocked_by_hash(struct stop *stop, struct subject *subject, int fd, struct resume *resume)
{
	if (exec_hash_agrees(stop, subject->resolved.path, fd))
		return false;
	struct operation *operation = &subject->operation;
	struct decision decision = subject_decide(stop, subject, ACCESS_EXECUTE);
	operation->rule = RULE_BLOCKED_EXECUTE;
	operation->position = decision.position;
	operation->answer = EACCES;
	operation->flags = "the file's sha256 is not the one that the entry names";
	*resume = report_blocked(stop, operation);
	return resume->kind != RESUME_RUN;
}

/* The name of the next program in the chain is resolved from the caller's current directory, as the kernel does. */
static int subject_from_name(struct stop *stop, const char *name, struct subject *subject)
{
	memset(&subject->operation, 0, sizeof(subject->operation));
	subject->directory = false;
	text_copy(subject->given, sizeof(subject->given), name);
	subject->operation.given = subject->given;
	subject->operation.resolved = subject->resolved.path;
	subject->operation.list = LIST_COUNT;
	return resolve_path(stop->supervisor, stop->task, AT_FDCWD, name, 0, &subject->resolved);
}

/* Of COMMAND itself: what its process reports is an errno alone, the same as for a COMMAND that is not there. A script of
 * another system names "/bin/sh\r". */
static void tell_missing(const struct supervisor *supervisor, const struct subject *interpreter)
{
	if (!supervisor->started && interpreter->resolved.error == ENOENT)
		record_error(supervisor->record, "command", ENOEXEC,
			     "cannot execute %.1000s: the interpreter that it names is not there: %.256s",
			     supervisor->plan->command[0], interpreter->given);
}

static bool loader_has_hash(struct stop *stop, struct subject *subject, struct resume *resume)
{
	char path[32];
	if (!decide_required_sha256(stop->supervisor->policy, subject->resolved.path, stop->task->process->tgid))
		return true;
	auto_fd int object = resolve_open(subject->resolved.path, false);
	own_descriptor_path(object, path);
	auto_fd int fd = object < 0 ? object : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	subject->operation.access = ACCESS_EXECUTE;
	return !blocked_by_hash(stop, subject, fd, resume);
}

/* The loader of an ELF program: the system's own needs no entry of its own, any other is a program like the rest. */
static bool loader_allowed(struct stop *stop, const char *name, struct chain *chain, struct resume *resume)
{
	struct subject subject;
	if (subject_from_name(stop, name, &subject) != 0) {
		*resume = resume_nothing();
		return false;
	}
	if (subject.resolved.error) {
		tell_missing(stop->supervisor, &subject);
		*resume = exec_error(stop, &subject, subject.resolved.error);
		return false;
	}
	if (!loader_has_hash(stop, &subject, resume))
		return false;
	if (!subject.resolved.objected && exec_is_system_loader(stop->supervisor, subject.resolved.path))
		return true;
	if (!chain_add(chain, &subject)) {
		*resume = resume_answer(-ELOOP);
		return false;
	}
	return subject_allowed(stop, &subject, ACCESS_EXECUTE, resume);
}

/* The script is bound when its interpreter opens it: the file that was decided, with the hash that was asked for. */
static void remember_script(struct task *task, const char *path, const struct stat *status)
{
	if (task->script_count == TASK_SCRIPT_MAX)
		return; /* the chain is longer than the kernel follows: it ends in ELOOP */
	struct task_script *script = &task->scripts[task->script_count++];
	*script = (struct task_script){ text_duplicate(path), status->st_dev, status->st_ino };
}

/* The name as the program wrote it, from the sealed page: another thread cannot have another file executed than the one that
 * was decided. It is not replaced by the canonical one, since scripts see it as their own name. */
static struct resume exec_pinned(struct stop *stop, const char *given, const char *canonical)
{
	const unsigned argument = stop->row->roles.path - 1u;
	struct resume resume = resume_run();
	/* Our own code before the first image has no page, and no other thread. */
	if (!stop->task->launching)
		resume = pin_address_argument(stop, argument, given, strlen(given) + 1);
	pin_guard(stop, canonical, given);
	resume.settle = true;
	return resume;
}

static struct resume exec_elf(struct stop *stop, struct subject *subject, const struct program *program, struct chain *chain)
{
	struct segments segments;
	struct resume resume;
	char loader[PATH_MAX];
	int failed = elf_segments(program, &segments);
	int has_loader = failed ? failed : elf_interpreter(program, &segments, loader);
	if (has_loader < 0)
		return resume_answer(has_loader);
	if (elf_is_in_page(&segments))
		return report_refused_quietly(stop, &subject->operation, ENOEXEC, "a program that is linked below 2 MiB");
	if (has_loader && !loader_allowed(stop, loader, chain, &resume))
		return resume;
	return limit_stops_program(stop, elf_data_bytes(&segments), subject->resolved.path, &resume) ? resume : resume_run();
}

/* Judges one program of the chain. `next` receives the interpreter of a script, else stays empty. */
static struct resume exec_program(struct stop *stop, struct subject *subject, struct chain *chain, char next[static HEAD_BYTES])
{
	struct resume resume = resume_run();
	next[0] = '\0';
	subject->operation.access = ACCESS_EXECUTE;
	auto_fd int held = program_hold(subject);
	if (subject->resolved.error && !subject->resolved.objected)
		return subject_walk_error(stop, subject, ACCESS_EXECUTE);
	if (!chain_add(chain, subject))
		return resume_answer(-ELOOP);
	if (!subject_allowed(stop, subject, ACCESS_EXECUTE, &resume))
		return resume;

	struct program program = { .fd = -1 };
	int failed = program_open(subject, held, &program);
	auto_fd int fd = program.fd;
	if (failed)
		return program.unreadable ? unreadable(stop, subject) : exec_error(stop, subject, -failed);
	if (blocked_by_hash(stop, subject, fd, &resume))
		return resume;

	stop->task->exec = (struct task_exec){ true, program.status.st_dev, program.status.st_ino };
	if (program.head_length >= 2 && memcmp(program.head, "#!", 2) == 0) {
		remember_script(stop->task, subject->resolved.path, &program.status);
		return script_interpreter(&program, next) ? resume_run() : resume_answer(-ENOEXEC);
	}
	if (program.head_length < SELFMAG || memcmp(program.head, ELFMAG, SELFMAG) != 0)
		return resume_run(); /* ENOEXEC, or a binfmt_misc interpreter: judged when it has been loaded */
	return exec_elf(stop, subject, &program, chain);
}

struct resume handle_exec(struct stop *stop)
{
	const struct syscall_roles *roles = &stop->row->roles;
	int call_flags = stop_int(stop, roles->flags);
	unsigned flags = (call_flags & AT_EMPTY_PATH ? RESOLVE_EMPTY : 0) | (call_flags & AT_SYMLINK_NOFOLLOW ? RESOLVE_LINK : 0);

	if (!stop->task->launching && limit_descriptors_full(stop->task))
		return resume_answer(-EMFILE);

	struct subject *subject = memory_zeroed(1, sizeof(*subject));
	struct chain *chain = memory_zeroed(1, sizeof(*chain));
	struct resume resume;
	char next[HEAD_BYTES];
	char *given = NULL;
	stop->task->exec.pending = false;
	task_forget_scripts(stop->task);
	int failed = subject_read(stop, roles->dirfd, roles->path, flags, subject);
	if (!failed)
		given = text_duplicate(subject->given);
	for (;;) {
		if (failed) {
			resume = failed == -ESRCH ? resume_nothing() : resume_answer(failed);
			break;
		}
		resume = exec_program(stop, subject, chain, next);
		if (resume.kind != RESUME_RUN || next[0] == '\0')
			break;
		if (chain->count > CHAIN_MAX) {
			resume = resume_answer(-ELOOP);
			break;
		}
		failed = subject_from_name(stop, next, subject);
		tell_missing(stop->supervisor, subject);
	}
	if (resume.kind == RESUME_RUN)
		resume = exec_pinned(stop, given, chain->names[0]);
	free(given);
	free(chain);
	free(subject);
	return resume;
}
