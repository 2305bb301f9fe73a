/* What this host can enforce, found by trying: a kernel's version says little in containers, where a profile or a sandbox
 * around us may refuse any call. Each try runs in a throw-away child, which reports through a pipe and is killed when it
 * does not answer. */
#include "engine/host.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/cgroup.h"
#include "engine/landlock.h"
#include "tracee/page.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROBE_TIMEOUT_MS = 3000 };

/* A step that failed: an errno, and which step of the probe it was. */
struct answer {
	int number; /* 0: it works */
	char step[64];
};

typedef struct answer probe_function(void);

static struct answer works(void)
{
	return (struct answer){ 0 };
}

static struct answer fails(int number, const char *step)
{
	struct answer answer = { .number = number ? number : EIO };
	snprintf(answer.step, sizeof(answer.step), "%s", step);
	return answer;
}

/* ---- throw-away processes ---- */

static void report_and_exit(int fd, const struct answer *answer)
{
	ssize_t written = write(fd, answer, sizeof(*answer));
	_exit(written == (ssize_t)sizeof(*answer) ? 0 : 1);
}

static bool read_answer(int fd, struct answer *answer)
{
	struct pollfd item = { .fd = fd, .events = POLLIN };
	int ready;
	while ((ready = poll(&item, 1, PROBE_TIMEOUT_MS)) < 0 && errno == EINTR)
		;
	return ready == 1 && read(fd, answer, sizeof(*answer)) == (ssize_t)sizeof(*answer);
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static struct answer ask_child(probe_function *probe)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fails(errno, "pipe");
	auto_fd int reading = ends[0];
	auto_fd int writing = ends[1];
	pid_t child = fork();
	if (child < 0)
		return fails(errno, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1); /* behind a run bailiff is not, and a child that is not cannot be seized */
		struct answer answer = probe();
		report_and_exit(writing, &answer);
	}
	close(fd_release(&writing));

	struct answer answer;
	bool answered = read_answer(reading, &answer);
	kill(child, SIGKILL);
	reap(child);
	return answered ? answer : fails(ETIMEDOUT, "the probe was killed or did not answer");
}

/* ---- probes: each runs in a child of its own ---- */

static const struct sock_filter trace_getppid[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* A descriptor or 0 on success, -errno. */
static int install_filter(unsigned flags)
{
	struct sock_fprog program = { .len = sizeof(trace_getppid) / sizeof(*trace_getppid),
				      .filter = (struct sock_filter *)trace_getppid };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return result < 0 ? -errno : (int)result;
}

/* The tracee of a probe: waits until it is seized (its end of the pipe closes), then makes one call that stops. */
static void tracee_body(int go)
{
	char byte;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &byte, 1) < 0 || install_filter(0) < 0)
		_exit(1);
	syscall(SYS_getppid);
	_exit(0);
}

struct tracee {
	pid_t pid;
	int go; /* closing it lets the tracee run */
};

static int start_tracee(struct tracee *tracee)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	tracee->pid = fork();
	if (tracee->pid < 0)
		return -errno;
	if (tracee->pid == 0) {
		close(ends[1]);
		tracee_body(ends[0]);
	}
	close(ends[0]);
	tracee->go = ends[1];
	return 0;
}

/* Kills and reaps. A killed tracee may still announce its end with a stop, from which it must be sent on; so must one that
 * stands in such a stop already, which SIGKILL does not end. */
static void end_tracee(const struct tracee *tracee)
{
	int status;
	kill(tracee->pid, SIGKILL);
	ptrace(PTRACE_CONT, tracee->pid, NULL, NULL);
	while (waitpid(tracee->pid, &status, __WALL) == tracee->pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, tracee->pid, NULL, NULL);
}

static int seize(pid_t pid)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESECCOMP;
	return ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) == 0 ? 0 : -errno;
}

static struct answer probe_ptrace(void)
{
	struct tracee tracee;
	int result = start_tracee(&tracee);
	if (result < 0)
		return fails(-result, "fork");
	result = seize(tracee.pid);
	end_tracee(&tracee);
	return result < 0 ? fails(-result, "PTRACE_SEIZE") : works();
}

/* Is the call of the stop told? PTRACE_GET_SYSCALL_INFO came with Linux 5.3. */
static struct answer check_stop(pid_t pid, int status)
{
	if (!WIFSTOPPED(status) || status >> 8 != (SIGTRAP | (PTRACE_EVENT_SECCOMP << 8)))
		return fails(ENOTSUP, "a filter that asks for a stop gave none");
	struct __ptrace_syscall_info info;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		return fails(errno, "PTRACE_GET_SYSCALL_INFO (Linux 5.3)");
	if (info.op != PTRACE_SYSCALL_INFO_SECCOMP || info.seccomp.nr != SYS_getppid)
		return fails(ENOTSUP, "the stop tells of another call");
	return works();
}

static struct answer probe_seccomp_trace(void)
{
	struct tracee tracee;
	int result = start_tracee(&tracee);
	if (result < 0)
		return fails(-result, "fork");
	struct answer answer = fails(ENOTSUP, "PTRACE_SEIZE");
	result = seize(tracee.pid);
	if (result < 0)
		answer.number = -result;
	close(tracee.go);

	int status;
	if (result == 0 && waitpid(tracee.pid, &status, __WALL) == tracee.pid)
		answer = check_stop(tracee.pid, status);
	end_tracee(&tracee);
	return answer;
}

static struct answer probe_read_memory(void)
{
	static const char here[] = "a probe reads this";
	char copy[sizeof(here)];
	struct tracee tracee;
	int result = start_tracee(&tracee);
	if (result < 0)
		return fails(-result, "fork");
	struct iovec local = { copy, sizeof(copy) }, remote = { (void *)here, sizeof(here) };
	ssize_t count = process_vm_readv(tracee.pid, &local, 1, &remote, 1, 0);
	int number = count < 0 ? errno : 0;
	end_tracee(&tracee);
	if (count != (ssize_t)sizeof(here) || memcmp(copy, here, sizeof(here)) != 0)
		return fails(number, "process_vm_readv");
	return works();
}

/* The sealed page comes into a program as the answer to a call. Here no call waits, which a kernel says only when it knows
 * the request (ENOTTY before Linux 5.9) and its flag (EINVAL before 5.14). */
static struct answer probe_listener(void)
{
	int listener = install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (listener < 0)
		return fails(-listener, "SECCOMP_FILTER_FLAG_NEW_LISTENER");
	struct seccomp_notif_addfd nobody = { .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)listener };
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &nobody) >= 0 || errno != ENOENT)
		return fails(errno, "SECCOMP_ADDFD_FLAG_SEND (Linux 5.14)");
	return works();
}

static struct answer probe_close_range(void)
{
	const unsigned nothing = INT_MAX; /* no descriptor has this number */
	return syscall(SYS_close_range, nothing, nothing, 0) != 0 ? fails(errno, "close_range") : works();
}

static struct answer probe_procfs(void)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? fails(errno, "/proc/self/status") : works();
}

static struct answer probe_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	return syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)) < 0 ? fails(errno, "openat2") : works();
}

static struct answer probe_sealed_page(void)
{
	struct page *page = page_new();
	if (!page)
		return fails(errno, "memfd_create and its seals");
	page_free(page);
	return works();
}

static struct answer probe_pidfd_getfd(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		return fails(errno, "pidfd_open");
	return syscall(SYS_pidfd_getfd, pidfd, pidfd, 0) < 0 ? fails(errno, "pidfd_getfd") : works();
}

/* A ruleset without rules: what could be read a moment ago must be out of reach. */
static struct answer probe_landlock(void)
{
	const struct landlock_ruleset nothing = { .handled_files = LANDLOCK_READ_FILE };
	struct error error;
	int ruleset = landlock_load(&nothing, &error);
	if (ruleset < 0)
		return fails(error.number, "landlock_create_ruleset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return fails(errno, "PR_SET_NO_NEW_PRIVS");
	int failed = landlock_restrict(ruleset);
	if (failed)
		return fails(-failed, "landlock_restrict_self");
	if (open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		return fails(ENOTSUP, "a ruleset without rules refused nothing");
	return works();
}

static const struct probe {
	const char *name;
	bool required;
	probe_function *function;
	const char *works; /* what follows where it does */
	const char *fails; /* and where it does not */
} probes[] = {
	{ "procfs", true, probe_procfs, "/proc is readable", "no run can be enforced: mount /proc" },
	{ "ptrace", true, probe_ptrace, "a child can be seized with every option", "no run can be enforced" },
	{ "seccomp-trace", true, probe_seccomp_trace, "a filter stops a call and the stop tells which",
	  "no run can be enforced" },
	{ "process_vm_readv", true, probe_read_memory, "a child's memory can be read", "no run can be enforced" },
	{ "user notification", true, probe_listener, "bailiff holds the one listener of the run",
	  "no run can be enforced: a program could make a listener of its own, which outranks every stop" },
	{ "openat2", true, probe_openat2, "a path can be opened without following a link",
	  "no run can be enforced (Linux 5.6 has it)" },
	{ "sealed page", true, probe_sealed_page, "arguments can be put where the program cannot change them",
	  "no run can be enforced (Linux 5.1 has it)" },
	{ "close_range", true, probe_close_range, "inherited descriptors can be closed",
	  "no run can be enforced (Linux 5.9 has it)" },
	{ "pidfd_getfd", false, probe_pidfd_getfd, "descriptors can be fetched", "not needed" },
};

static struct host_layer *new_layer(struct host_report *report, const char *name, bool required, bool available)
{
	struct host_layer *layer = &report->layers[report->layer_count++];
	layer->name = name;
	layer->required = required;
	layer->available = available;
	return layer;
}

static void run_probe(struct host_report *report, const struct probe *probe)
{
	struct answer answer = ask_child(probe->function);
	struct host_layer *layer = new_layer(report, probe->name, probe->required, answer.number == 0);
	if (answer.number == 0)
		snprintf(layer->detail, sizeof(layer->detail), "%s", probe->works);
	else
		snprintf(layer->detail, sizeof(layer->detail), "%s: %s; %s", answer.step, errno_text(answer.number),
			 probe->fails);
}

/* ---- what is only read ---- */

static int yama_scope(void)
{
	auto_file FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope;
	return file && fscanf(file, "%d", &scope) == 1 ? scope : -1;
}

static int own_tracer(void)
{
	auto_file FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int tracer = 0;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			return tracer;
	return 0;
}

/* What each ABI brought that a ruleset of ours makes use of. */
static const char *landlock_reach(int abi)
{
	enum { TRUNCATION = 3, PORTS = 4, SCOPES = 6 };
	return abi >= SCOPES      ? "files, TCP ports, signals and abstract sockets"
	       : abi >= PORTS      ? "files and TCP ports"
	       : abi >= TRUNCATION ? "files"
				   : "files, but not their truncation";
}

static void add_landlock(struct host_report *report)
{
	struct answer answer = { 0 };
	if (report->landlock_abi > 0)
		answer = ask_child(probe_landlock);
	bool available = report->landlock_abi > 0 && answer.number == 0;
	struct host_layer *layer = new_layer(report, "landlock", false, available);
	if (available)
		snprintf(layer->detail, sizeof(layer->detail), "ABI %d: a second line behind the decisions for %s",
			 report->landlock_abi, landlock_reach(report->landlock_abi));
	else if (report->landlock_abi > 0)
		snprintf(layer->detail, sizeof(layer->detail), "ABI %d, but %s: %s; the decisions stand alone", report->landlock_abi,
			 answer.step, errno_text(answer.number));
	else
		snprintf(layer->detail, sizeof(layer->detail), "not offered (Linux 5.13 has it): the decisions stand alone");
}

static void add_yama(struct host_report *report)
{
	static const char *const meaning[] = {
		"0: any process of the same user can be traced",
		"1: a process may trace what it has started, which is all that bailiff does",
		"2: only CAP_SYS_PTRACE may trace; run as root, or set kernel.yama.ptrace_scope to 1",
		"3: nothing can be traced until the next boot",
	};
	int scope = report->yama_scope;
	struct host_layer *layer = new_layer(report, "yama", false, scope <= 1);
	const char *detail = scope < 0 ? "not there: nothing is restricted" : "unknown scope";
	if (scope >= 0 && scope <= 3)
		detail = meaning[scope];
	snprintf(layer->detail, sizeof(layer->detail), "%s", detail);
}

static void add_cgroup(struct host_report *report)
{
	static const char *const names[] = {
		[RECORD_CGROUP_MEMORY] = "memory", [RECORD_CGROUP_PIDS] = "pids", [RECORD_CGROUP_MEMORY | RECORD_CGROUP_PIDS] = "memory, pids",
	};
	struct cgroup_facts facts;
	cgroup_look(&facts);
	const char *refusal = cgroup_refusal(&facts);
	struct host_layer *layer = new_layer(report, "cgroup v2", false, !refusal);
	if (refusal) {
		snprintf(layer->detail, sizeof(layer->detail), "%s; bailiff's own counting stands alone", refusal);
		return;
	}
	report->cgroup_controllers = facts.offered;
	snprintf(layer->detail, sizeof(layer->detail), "delegated, with %s: a run gets one of its own, behind bailiff's own counting",
		 names[facts.offered]);
}

static void add_own_tracer(struct host_report *report)
{
	int tracer = own_tracer();
	struct host_layer *layer = new_layer(report, "untraced", false, tracer == 0);
	if (tracer == 0)
		snprintf(layer->detail, sizeof(layer->detail), "nobody traces bailiff");
	else
		snprintf(layer->detail, sizeof(layer->detail),
			 "process %d traces bailiff: a child that it follows cannot be traced by bailiff as well", tracer);
}

void host_describe(struct host_report *report)
{
	memset(report, 0, sizeof(*report));
	struct utsname name;
	if (uname(&name) == 0) {
		snprintf(report->kernel, sizeof(report->kernel), "%s", name.release);
		snprintf(report->machine, sizeof(report->machine), "%s", name.machine);
	}
	report->landlock_abi = landlock_kernel_abi();
	report->yama_scope = yama_scope();
	report->root = geteuid() == 0;
}

void host_probe(struct host_report *report)
{
	host_describe(report);
	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++)
		run_probe(report, &probes[i]);
	add_landlock(report);
	add_yama(report);
	add_cgroup(report);
	add_own_tracer(report);
}

/* What stands in front of the semicolon says which step failed and how. */
static void append_lacking(struct text *words, const struct host_report *report)
{
	for (size_t i = 0; i < report->layer_count; i++) {
		const struct host_layer *layer = &report->layers[i];
		if (layer->required && !layer->available)
			text_printf(words, "%s%s (%.*s)", words->length ? ", " : "", layer->name, (int)strcspn(layer->detail, ";"),
				    layer->detail);
	}
}

void host_explain_failure(struct record_error *error)
{
	struct host_report report;
	struct text words = { 0 };
	host_probe(&report);
	append_lacking(&words, &report);
	size_t length = strnlen(error->message, sizeof(error->message) - 1);
	if (words.length) {
		snprintf(error->stage, sizeof(error->stage), "host");
		snprintf(error->message + length, sizeof(error->message) - length,
			 "; this host refuses what bailiff needs: %s; `bailiff doctor` tells more", text_string(&words));
	}
	text_free(&words);
}

bool host_enforceable(const struct host_report *report)
{
	for (size_t i = 0; i < report->layer_count; i++)
		if (report->layers[i].required && !report->layers[i].available)
			return false;
	return report->layer_count > 0;
}
