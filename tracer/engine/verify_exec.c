/* After the fact: what an execve really ended in, looked at before its first instruction runs. At PTRACE_EVENT_EXEC the kernel
 * holds the program open, and writing to it is ETXTBSY: what is seen here is what runs. A loader can be written to from then
 * on, by whoever may. */
#include "engine/evidence.h"
#include "engine/handlers.h"
#include "engine/pin.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static const char wrong_hash_text[] = "the file's sha256 is not the one that the entry names";

/* Another file than the one decided: a binfmt_misc interpreter, or a swap. It is judged as a program of its own. */
static bool judge_again(struct stop *stop, struct subject *subject)
{
	struct decision decision = subject_decide(stop, subject, ACCESS_EXECUTE);
	if (decision.kind == DECISION_ALLOW)
		return false;
	struct operation *operation = &subject->operation;
	operation->rule = RULE_BLOCKED_EXECUTE;
	operation->position = decision.position;
	operation->list = decision.matched ? LIST_COUNT : decision.list;
	return report_blocked_after(stop, operation);
}

static bool wrong_hash(struct stop *stop, struct subject *subject)
{
	subject->operation.rule = RULE_BLOCKED_EXECUTE;
	subject->operation.flags = wrong_hash_text;
	subject->operation.position = subject_decide(stop, subject, ACCESS_EXECUTE).position;
	return report_blocked_after(stop, &subject->operation);
}

static bool verify_program(struct stop *stop, const struct task_exec *expected, struct subject *subject)
{
	struct stat status;
	ssize_t length = proc_read_link(stop->task->tid, "exe", subject->resolved.path, sizeof(subject->resolved.path));
	auto_fd int fd = proc_open(stop->task->tid, "exe", O_RDONLY | O_NONBLOCK);
	if (length == -ESRCH || length == -ENOENT || fd == -ESRCH)
		return false; /* killed meanwhile: its end is the next event */
	if (length < 0 || fd < 0 || fstat(fd, &status) != 0) {
		subject->resolved.path[0] = '\0'; /* what runs cannot be told: no list allows that */
		return judge_again(stop, subject);
	}
	if (!exec_hash_agrees(stop, subject->resolved.path, fd))
		return wrong_hash(stop, subject);
	bool decided = expected->pending && expected->device == status.st_dev && expected->inode == status.st_ino;
	if (!decided && judge_again(stop, subject))
		return true;
	evidence_executed(stop, fd, subject->resolved.path);
	return false;
}

static bool loader_hash_agrees(struct stop *stop, const char *name, uint64_t inode)
{
	char path[32];
	struct stat status;
	if (!decide_required_sha256(stop->supervisor->policy, name, stop->task->process->tgid))
		return true;
	auto_fd int object = resolve_open(name, false);
	if (object < 0 || fstat(object, &status) != 0 || status.st_ino != inode)
		return false;
	own_descriptor_path(object, path);
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && exec_hash_agrees(stop, name, fd);
}

/* What runs first, where that is not the program itself: whatever holds the first instruction, by the name of its mapping. Not
 * by AT_BASE, which is 0 for a static program and for a loader that is linked to one address alike. */
static bool verify_loader(struct stop *stop, struct subject *subject)
{
	struct registers_all registers;
	struct registers_position position;
	uint64_t inode = 0;
	auto_free char *program = text_duplicate(subject->resolved.path);
	if (registers_read_all(stop->task->tid, &registers) != 0)
		return false; /* gone */
	registers_position(&registers, &position);
	char *path = subject->resolved.path;
	int found = proc_mapped_file(stop->task->tid, position.instruction_pointer, path, sizeof(subject->resolved.path), &inode);
	if (found == -ESRCH || found == -ENOENT)
		return false;
	if (found > 0 && strcmp(path, program) == 0)
		return false; /* a static program */
	if (found <= 0)
		path[0] = '\0';
	if (found > 0 && !loader_hash_agrees(stop, path, inode))
		return wrong_hash(stop, subject);
	bool own = found > 0 && exec_is_system_loader(stop->supervisor, path);
	if (!own && judge_again(stop, subject))
		return true;
	evidence_loader(stop, path);
	return false;
}

bool verify_exec(struct stop *stop)
{
	struct subject *subject = memory_zeroed(1, sizeof(*subject));
	struct task_exec expected = stop->task->exec;
	stop->task->exec.pending = false;
	stop->row = syscall_by_name("execve");

	text_copy(subject->given, sizeof(subject->given), "/proc/self/exe");
	subject->operation.given = subject->given;
	subject->operation.resolved = subject->resolved.path;
	subject->operation.access = ACCESS_EXECUTE;
	bool killed = !PIN_CHECK_ONLY && (verify_program(stop, &expected, subject) || verify_loader(stop, subject));
	free(subject);
	return killed;
}

/* ---- the script, when its interpreter opens it -------------------------------------------------------------------- */

static struct task_script *find_script(struct task *task, const char *path)
{
	for (unsigned i = 0; i < task->script_count; i++)
		if (task->scripts[i].path && strcmp(task->scripts[i].path, path) == 0)
			return &task->scripts[i];
	return NULL;
}

bool script_is_awaited(struct stop *stop, const char *path)
{
	return find_script(stop->task, path) != NULL;
}

/* It must have a hash, and the run itself could change it. A copy is another file to whoever locks it or compares it. */
bool script_needs_copy(struct stop *stop, const struct subject *subject)
{
	return decide_required_sha256(stop->supervisor->policy, subject->resolved.path, stop->task->process->tgid) &&
	       subject_decide(stop, subject, ACCESS_WRITE).kind == DECISION_ALLOW;
}

static int copy_content(int from, int to)
{
	enum { SCRIPT_MAX_BYTES = 64 << 20 };
	off_t offset = 0;
	ssize_t copied = 1;
	while (copied > 0 && offset <= SCRIPT_MAX_BYTES)
		copied = sendfile(to, from, &offset, SCRIPT_MAX_BYTES);
	return copied < 0 ? -errno : copied > 0 ? -EFBIG : 0;
}

int script_copy(int object)
{
	char name[32];
	own_descriptor_path(object, name);
	auto_fd int from = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	auto_fd int copy = from < 0 ? -1 : memfd_create("script", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return -errno;
	int failed = copy_content(from, copy);
	if (!failed && fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		failed = -errno;
	if (failed)
		return failed;
	own_descriptor_path(copy, name);
	int held = open(name, O_PATH | O_CLOEXEC);
	return held >= 0 ? held : -errno;
}

bool script_is_bound(struct stop *stop, struct subject *subject, int object, int copy, struct resume *resume)
{
	struct stat status;
	char path[32];
	struct task_script *script = find_script(stop->task, subject->resolved.path);
	if (!script)
		return true;
	bool same = fstat(object, &status) == 0 && status.st_dev == script->device && status.st_ino == script->inode;
	/* The first open is the interpreter's. What could change meanwhile is given as a copy each time: Python opens it twice. */
	if (copy < 0) {
		free(script->path);
		script->path = NULL;
	}
	own_descriptor_path(copy >= 0 ? copy : object, path);
	auto_fd int fd = same ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd >= 0 && exec_hash_agrees(stop, subject->resolved.path, fd))
		return true;
	subject->operation.rule = RULE_BLOCKED_EXECUTE;
	subject->operation.access = ACCESS_EXECUTE;
	subject->operation.position = subject_decide(stop, subject, ACCESS_EXECUTE).position;
	subject->operation.flags = same ? wrong_hash_text : "the script is not the file that was decided when it was executed";
	subject->operation.answer = EACCES;
	*resume = report_blocked(stop, &subject->operation);
	return resume->kind == RESUME_RUN;
}
