#!/usr/bin/python3
"""Native stacks: functions and lines of programs in C, C++, Rust and Go, built in the ways that make it hard. Prints TAP.

The line that is blocked carries the mark HERE; what a compiler is missing for is skipped."""

import os
import shutil
import subprocess
import sys
import time

from harness import Tap, fresh, run, verdict, write_policy

ATTEMPTS = 20
C = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
#define KEEP __attribute__((noinline))
static inline __attribute__((always_inline)) int inlined(void) {
	return open("/etc/shadow", O_RDONLY); /* HERE */
}
KEEP int blocked(void) {
	return inlined() + 1;
}
KEEP void *in_thread(void *data) {
	blocked();
	return data;
}
KEEP void on_signal(int number) {
	(void)number;
	blocked();
}
KEEP int deep(int depth) {
	volatile int kept = depth > 0 ? deep(depth - 1) : blocked();
	return kept + 1;
}
KEEP int spawns(char **argv) {
	pid_t pid;
	int failed = posix_spawn(&pid, "/etc/passwd", NULL, NULL, argv, environ); /* SPAWN */
	return failed + 1;
}
KEEP int forks(void) {
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/etc/passwd", "x", NULL); /* VFORK */
		_exit(1);
	}
	return waitpid(pid, NULL, 0) + 1;
}
KEEP void without_stack(void) {
	static const char path[] = "/etc/shadow";
	__asm__ volatile("xor %%esp, %%esp\n\tsyscall\n\thlt" : : "a"(257), "D"(-100), "S"(path), "d"(0)); /* RSP */
}
KEEP int plays(int argc, char **argv) {
	pthread_t thread;
	const char *how = argc > 1 ? argv[1] : "";
	if (strcmp(how, "thread") == 0)
		return pthread_create(&thread, NULL, in_thread, NULL) + pthread_join(thread, NULL) + 1;
	if (strcmp(how, "signal") == 0) {
		signal(SIGUSR1, on_signal);
		return raise(SIGUSR1) + 1;
	}
	if (strcmp(how, "deep") == 0)
		return deep(atoi(argv[2])) + 1;
	if (strcmp(how, "spawn") == 0)
		return spawns(argv) + 1;
	if (strcmp(how, "vfork") == 0)
		return forks() + 1;
	if (strcmp(how, "rsp") == 0)
		without_stack();
	return blocked() + 1;
}
int main(int argc, char **argv) {
	return plays(argc, argv) + 1;
}
"""
CPP = r"""
#include <fcntl.h>
#include <vector>
#include <algorithm>
namespace job {
struct Reader {
	__attribute__((noinline)) int read(const char *path) {
		return open(path, O_RDONLY) + 1; // HERE
	}
};
}
int main() {
	std::vector<int> items{1};
	job::Reader reader;
	std::for_each(items.begin(), items.end(), [&](int item) { items[0] = item + reader.read("/etc/shadow"); });
	return items[0];
}
"""
RUST = r"""
#[inline(never)]
fn secret(path: &str) -> bool {
	std::fs::File::open(path).is_ok() // HERE
}
fn main() {
	println!("{}", secret("/etc/shadow"));
}
"""
GO = r"""
package main
import ("fmt"; "os")
//go:noinline
func secret(path string) bool {
	_, err := os.ReadFile(path) // HERE
	return err == nil
}
func main() { fmt.Println(secret("/etc/shadow")) }
"""
tap = Tap()


def marked(source, mark="HERE"):
	return next(number for number, line in enumerate(source.splitlines(), 1) if f"{mark}" in line)


def build(folder, name, source, *command):
	"""The built program, or None where its compiler is missing or cannot do this."""
	if not shutil.which(command[0]):
		return None
	path = os.path.join(folder, name)
	with open(path, "w", encoding="utf-8") as file:
		file.write(source)
	done = subprocess.run([*command, "-o", f"{folder}/program", name], cwd=folder, capture_output=True, text=True, check=False,
		env={**os.environ, "HOME": folder, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off",
			"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))})
	return f"{folder}/program" if done.returncode == 0 else None


def stack_of(folder, program, *arguments):
	"""The verdict. On a host with too much to do the unwinder misses its deadline, as it must: then it is asked again."""
	policy = write_policy(folder, paths={"execute": [program], "read": [program, "/sys/**"]})
	for _ in range(ATTEMPTS):
		run(folder, [program, *arguments], policy)
		found = verdict(folder)
		if "did not end within" not in str((found["first_failure"] or {}).get("stack_missing")):
			break
	return found


def shown(failure):
	return "\n".join(str({key: frame.get(key) for key in ("function", "offset", "module", "file", "line", "of_parent")})
		for frame in (failure or {}).get("stack") or [{"function": "no stack"}])


def expect(name, found, function, source_file=None, line=None, callers=(), missing=None):
	"""`function` is on the stack with its line, and the callers follow in their order."""
	failure = found["first_failure"] or {}
	stack = failure.get("stack") or []
	names = [frame["function"] for frame in stack]
	detail = f"missing: {failure.get('stack_missing')}\n{shown(failure)}"
	if not tap.ok(f"{name}: {function} is on the stack", function in names, detail):
		return
	frame = stack[names.index(function)]
	if line:
		tap.ok(f"{name}: its line is {line}", frame["line"] == line and os.path.basename(frame["file"] or "") == source_file, detail)
		tap.ok(f"{name}: the summary names it", f"{source_file}:{line} in {function}" in found["summary"], found["summary"])
	rest = iter(names[names.index(function):])
	tap.ok(f"{name}: called by {', '.join(callers) or 'nobody in particular'}", all(caller in rest for caller in callers), detail)
	tap.equal(f"{name}: what is missing", failure.get("stack_missing"), missing, detail)
	tap.ok(f"{name}: modules have build ids", all(frame["build_id"] for frame in stack if frame["module"] and "libc.so" in frame["module"]), detail)


def c_builds():
	line = marked(C)
	for name, command in (
		("gcc -O0", ["gcc", "-g", "-O0", "-pthread"]),
		("gcc -O2", ["gcc", "-g", "-O2", "-pthread"]),
		("gcc -O2 without frame pointers, not PIE", ["gcc", "-g", "-O2", "-fomit-frame-pointer", "-no-pie", "-pthread"]),
		("gcc, static", ["gcc", "-g", "-O1", "-static", "-pthread"]),
		("gcc, static PIE", ["gcc", "-g", "-O1", "-static-pie", "-pthread"]),
		("gcc, DWARF 4, split by function", ["gcc", "-gdwarf-4", "-O1", "-ffunction-sections", "-pthread"]),
		("clang, without .debug_aranges", ["clang", "-g", "-O1", "-pthread"]),
	):
		folder = fresh("stacks")
		program = build(folder, "job.c", C, *command)
		if not program:
			tap.skip(name, "no compiler for it (optional)")
			continue
		expect(name, stack_of(folder, program), "inlined", "job.c", line, ["blocked", "plays", "main"])


def c_ways():
	folder = fresh("stacks")
	program = build(folder, "job.c", C, "gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread")
	if not program:
		tap.skip("ways of C", "no gcc (optional)")
		return
	line = marked(C)
	expect("thread", stack_of(folder, program, "thread"), "inlined", "job.c", line, ["blocked", "in_thread"])
	expect("signal handler", stack_of(folder, program, "signal"), "inlined", "job.c", line, ["blocked", "on_signal", "raise", "plays", "main"])
	expect("recursion", stack_of(folder, program, "deep", "20"), "inlined", "job.c", line, ["blocked", *["deep"] * 21, "plays", "main"])
	expect("100,000 deep", stack_of(folder, program, "deep", "100000"), "inlined", "job.c", line, ["blocked", *["deep"] * 100],
		"only the innermost 128 frames are kept")
	expect("vfork", stack_of(folder, program, "vfork"), "forks", "job.c", marked(C, "VFORK"), ["plays", "main"])
	spawned = stack_of(folder, program, "spawn")
	expect("posix_spawn", spawned, "spawns", "job.c", marked(C, "SPAWN"), ["plays", "main"])
	parents = [frame["function"] for frame in spawned["first_failure"]["stack"] if frame.get("of_parent")]
	tap.ok("posix_spawn: the parent's frames are marked", "spawns" in parents and "execve" not in parents, parents)
	expect("a stack pointer of 0", stack_of(folder, program, "rsp"), "without_stack", "job.c", marked(C, "RSP"), [],
		"the stack goes on where no copy was taken of it")


def stripped():
	folder = fresh("stacks")
	program = build(folder, "job.c", C, "gcc", "-O2", "-s", "-fno-optimize-sibling-calls", "-pthread")
	if not program:
		tap.skip("stripped", "no gcc (optional)")
		return
	found = stack_of(folder, program)
	own = [frame for frame in found["first_failure"]["stack"] if frame["module"] == program]
	tap.ok("stripped: frames with module, build id and offset", len(own) >= 3 and
		all(frame["function"] is None and frame["offset"] > 0 and frame["build_id"] and frame["line"] is None for frame in own), shown(found["first_failure"]))
	tap.ok("stripped: the summary names no place", "; " not in found["summary"], found["summary"])


def other_languages():
	for name, file, source, command, function, callers in (
		("C++", "job.cc", CPP, ["g++", "-g", "-O1"], "job::Reader::read(char const*)", ["main"]),
		("Rust", "job.rs", RUST, ["rustc", "-g"], "job::secret", ["job::main", "main"]),
		("Rust -O", "job.rs", RUST, ["rustc", "-g", "-O"], "job::secret", ["main"]),
		("Go", "job.go", GO, ["go", "build"], "main.secret", ["main.main", "runtime.main"]),
	):
		folder = fresh("stacks")
		program = build(folder, file, source, *command)
		if not program:
			tap.skip(name, "no compiler for it (optional)")
			continue
		expect(name, stack_of(folder, program), function, file, marked(source), callers)


def costs():
	"""Nobody waits past the deadline, and what is not blocked costs nothing of all this."""
	folder = fresh("stacks")
	program = build(folder, "job.c", C, "gcc", "-g", "-O1", "-pthread")
	if not program:
		return
	begin = time.monotonic()
	stack_of(folder, program)
	tap.ok("a verdict with a stack within two seconds", time.monotonic() - begin < 2, f"{time.monotonic() - begin:.3f} s")


def loaded():
	"""On a host with more to do than it can, the verdict comes all the same: whole, or with the words that there was no time."""
	folder = fresh("stacks")
	program = build(folder, "job.c", C, "gcc", "-g", "-O1", "-pthread")
	if not program:
		tap.skip("a busy host", "no gcc (optional)")
		return
	policy = write_policy(folder, paths={"execute": [program], "read": [program]})
	busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))]
	try:
		for number in range(6):
			code, _, _ = run(folder, [program, "deep", "60"], policy)
			found = verdict(folder)
			failure = found["first_failure"] or {}
			missing = failure.get("stack_missing") or ""
			whole = "main" in [frame["function"] for frame in failure.get("stack") or []] and "in inlined" in found["summary"]
			tap.ok(f"a busy host, run {number + 1}: rule, object, and a stack or why there is none", code == 122 and
				found["rule"] == "policy_blocked_read" and failure["path"]["resolved"] == "/etc/shadow" and
				(whole or "did not end within" in missing), code, found["summary"], missing, shown(failure))
	finally:
		for process in busy:
			process.kill()
			process.wait()


c_builds()
c_ways()
stripped()
other_languages()
costs()
loaded()
tap.end()
