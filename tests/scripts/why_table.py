#!/usr/bin/python3
"""The table of blocked operations: does the verdict name the rule, the object, and the user's own line and function? Prints TAP, one
line per row.

The sources are in tests/why/. What a row expects is found in them: the line is the one that carries `HERE` and the row's mark.
Before the call the program prints what its own language says of its stack (backtrace(), traceback, BASH_LINENO, caller(), debug_backtrace(),
Error().stack): where a row is witnessed, the verdict must have the same frames. Another language is one more entry of LANGUAGES and a table."""

import os
import re
import shutil
import socket
import subprocess

from harness import LANDLOCK, SCRATCH, TARGETS, Tap, fresh, run, verdict, write_policy

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "why")
ATTEMPTS = 20
AT_LEAST = 60
SHELL = os.path.realpath("/bin/sh")
FOLDER = os.path.join(SCRATCH, "forbidden")  # on no list
READABLE = os.path.join(SCRATCH, "readable")  # on the list of what may be read
FILE, PROGRAM, NEW, SOCKET = f"{FOLDER}/file", f"{FOLDER}/program", f"{FOLDER}/new", f"{FOLDER}/socket"
MODULE = f"{FOLDER}/forbidden_module.py"
V4, V6, UDP = "127.0.0.1:9", "[::1]:9", "127.0.0.1:53"
NO_SHELL, LISTED = {"deny": [SHELL]}, {"stat": "listed"}

tap = Tap()
shown = 0

# (name of the operation, what is handed to it, rule, further keys of the policy's paths). The name is the function's, too, and the mark
# of its line. Where the object in the verdict is another one than what was handed over, it stands behind,
# with * for a name that is made up.
C_OPERATIONS = (
	("open_read", FILE, "read"), ("open_write", FILE, "write"), ("open_both", FILE, "read"), ("open_create", NEW, "write"),
	("open_truncate", f"{READABLE}/file", "write"), ("open_append", FILE, "write"), ("open_folder", FOLDER, "read"),
	("do_truncate", FILE, "write"), ("do_unlink", FILE, "write"), ("do_rename", FILE, "write"), ("do_mkdir", NEW, "write"),
	("do_rmdir", f"{FOLDER}/empty", "write"), ("do_chmod", FILE, "write"), ("do_chown", FILE, "write"),
	("do_utimes", FILE, "write"),
	("do_symlink", NEW, "write"), ("do_link", FILE, "write"), ("do_mkfifo", NEW, "write"), ("do_setxattr", FILE, "write"),
	("do_stat", FILE, "stat", LISTED), ("do_access", FILE, "stat", LISTED), ("do_chdir", FOLDER, "stat", LISTED),
	("do_shm_open", "/bailiff-why", "read", {}, "/dev/shm/bailiff-why"), ("do_connect", V4, "network"),
	("do_connect", V6, "network"),
	("do_connect", SOCKET, "network"), ("do_connect", "@bailiff-why", "network", {}, "bailiff-why"),
	("connect_udp", UDP, "network"),
	("do_sendto", UDP, "network"), ("do_bind", V4, "bind"), ("do_bind", V6, "bind"), ("do_bind", NEW, "write"),
	("do_execve", PROGRAM, "execute"), ("do_execveat", PROGRAM, "execute"), ("do_fexecve", PROGRAM, "execute"),
	("do_spawn", PROGRAM, "execute"), ("do_system", "exit", "execute", NO_SHELL, SHELL),
	("do_popen", "exit", "execute", NO_SHELL, SHELL),
	("exec_in_fork", PROGRAM, "execute"), ("exec_in_vfork", PROGRAM, "execute"), ("do_mount", FOLDER, "syscall", {}, "mount"),
	("do_chroot", FOLDER, "syscall", {}, "chroot"), ("do_unshare", "-", "syscall", {}, "unshare"),
	("do_ptrace", "-", "syscall", {}, "ptrace"), ("do_kill", "-", "signal", {}, "PROCESS"),
	("do_memfd", "name", "syscall", {}, "memfd_create"), ("do_msgget", "-", "syscall", {}, "msgget"),
)

# (name of the way, function that makes the call, who calls it).
C_WAYS = (
	("blocked", "blocked", ["performs", "main"]), ("nested", "blocked", [*["nested"] * 6, "in_five", "performs", "main"]),
	("calls_hidden", "hidden", ["calls_hidden", "performs", "main"]),
	("sorts", "blocked", ["compares", "sorts", "performs", "main"]),
	("searches", "blocked", ["compares", "searches", "main"]), ("scans", "blocked", ["filters", "scans", "main"]),
	("walks_a_tree", "blocked", ["compares", "walks_a_tree", "main"]),
	("signals", "blocked", ["on_signal", "raise", "signals", "main"]),
	("alternate_stack", "blocked", ["on_signal", "raise", "handles_on", "alternate_stack", "performs", "main"]),
	("alternate_stack_in_heap", "blocked", ["on_signal", "raise", "handles_on", "alternate_stack_in_heap", "main"]),
	("faults", "blocked", ["on_signal", "fault", "faults", "performs", "main"]),
	("expires", "blocked", ["on_signal", "expires", "main"]),
	("thread", "blocked", ["runs"]), ("alternate_stack_of_thread", "blocked", ["on_signal", "alternate_stack", "alternate_runs"]),
	("thread_key", "blocked", ["ends"]), ("once", "blocked", ["starts", "once", "main"]),
	("at_exit", "blocked", ["starts", "exit"]),
	("constructor", "blocked", ["before_main"]), ("jumps", "blocked", ["jumps", "performs", "main"]),
	("other_stack", "blocked", ["on_other_stack"]), ("fork_child", "blocked", ["fork_child", "performs", "main"]),
)

CPP_WAYS = (
	("member", FILE, "read", "job::Reader::member(char const*) const"),
	("static_member", FILE, "read", "job::Reader::fixed(char const*)"),
	("call_operator", FILE, "read", "job::Reader::operator()"),
	("virtual_member", FILE, "read", "job::Special::overridden(char const*)"),
	("template_member", FILE, "read", "job::Opener<"), ("template_function", FILE, "read", "job::open_any<"),
	("unnamed_namespace", FILE, "read", "(anonymous namespace)::unnamed("), ("catches", FILE, "read", "catches()"),
	("destructor", FILE, "write", "job::Unlinks::~Unlinks()"), ("stream", FILE, "read", "stream()"),
	("makes_folder", NEW, "write", "makes_folder()"), ("sorts", FILE, "read", "operator()"),
	("in_thread", FILE, "read", "operator()"),
	("later", FILE, "write", "operator()"), ("function_object", FILE, "read", "operator()"),
	("constructor", FILE, "read", "Early::Early()"),
)

RUST_WAYS = (
	("method", FILE, "read", "<ways::Named as ways::Opens>::opens"), ("generic", FILE, "read", "ways::generic"),
	("creates", NEW, "write", "ways::creates"), ("removes", FILE, "write", "ways::removes"),
	("makes_folder", NEW, "write", "ways::makes_folder"),
	("connects", V4, "network", "ways::connects"), ("listens", V4, "bind", "ways::listens"),
	("starts", PROGRAM, "execute", "ways::starts"),
	("in_thread", FILE, "read", "ways::in_thread::{{closure}}"),
	("dropped", FILE, "read", "<ways::Dropped as core::ops::drop::Drop>::drop"),
)

PYTHON_OPERATIONS = (
	("open_read", FILE, "read"), ("open_write", FILE, "write"), ("open_append", FILE, "write"), ("open_exclusive", NEW, "write"),
	("do_truncate", FILE, "write"), ("do_unlink", FILE, "write"), ("do_rename", FILE, "write"), ("do_mkdir", NEW, "write"),
	("do_chmod", FILE, "write"), ("do_symlink", NEW, "write"), ("do_link", FILE, "write"), ("do_utime", FILE, "write"),
	("do_stat", FILE, "stat", LISTED), ("do_listdir", FOLDER, "read"), ("path_write", FILE, "write"),
	("remove_tree", f"{FOLDER}/empty", "read"),
	("copy_file", NEW, "write"), ("temporary_file", FOLDER, "read", {}, f"{FOLDER}/tmp*"),
	("database", FILE, "read"), ("compressed", FILE, "read"),
	("archive", NEW, "read"), ("log_file", NEW, "write"), ("import_module", MODULE, "read", {}, FOLDER), ("call_c", FILE, "read"),
	("connect", V4, "network"), ("connect", V6, "network"), ("connect_path", SOCKET, "network"), ("send_to", UDP, "network"),
	("create_connection", V4, "network"), ("bind", V4, "bind"), ("url", V4, "network"), ("event_loop", V4, "network"),
	("event_loop_server", V4, "bind"), ("run", PROGRAM, "execute"), ("run_shell", "-", "execute", NO_SHELL, SHELL),
	("do_system", "-", "execute", NO_SHELL, SHELL), ("do_popen", "-", "execute", NO_SHELL, SHELL),
	("do_exec", PROGRAM, "execute"),
	("do_spawn", PROGRAM, "execute"), ("spawn_wait", PROGRAM, "execute"), ("fork_child", FILE, "read"),
	("other_process", FILE, "read"),
	("other_thread", FILE, "read"), ("signals", FILE, "read"), ("do_kill", "-", "signal", {}, "PROCESS"),
	("do_memfd", "-", "syscall", {}, "memfd_create"),
)
PYTHON_FUNCTIONS = {"event_loop": "coroutine", "event_loop_server": "starts_server", "other_process": "in_process", "other_thread": "in_thread",
	"signals": "on_signal"}

BASH_OPERATIONS = (
	("read_file", FILE, "read"), ("write_file", FILE, "write"), ("append_file", FILE, "write"), ("both", FILE, "read"),
	("read_builtin", FILE, "read"), ("source_file", FILE, "read"), ("connect", V4, "network"), ("send_to", UDP, "network"),
	("run", PROGRAM, "execute"), ("run_exec", PROGRAM, "execute"), ("substitution", PROGRAM, "execute"),
	("pipeline", PROGRAM, "execute"),
	("background", PROGRAM, "execute"), ("nested", FILE, "read"), ("trapped", FILE, "read"),
	("do_kill", "-", "signal", {}, "PROCESS"),
)
BASH_FUNCTIONS = {"nested": "inner", "trapped": "on_trap"}

PERL_OPERATIONS = (
	("open_read", FILE, "read"), ("open_write", FILE, "write"), ("open_append", FILE, "write"), ("open_object", FILE, "read"),
	("do_unlink", FILE, "write"), ("do_rename", FILE, "write"), ("do_mkdir", NEW, "write"),
	("do_rmdir", f"{FOLDER}/empty", "write"),
	("do_chmod", FILE, "write"), ("do_symlink", NEW, "write"), ("do_truncate", FILE, "write"), ("do_utime", FILE, "write"),
	("do_stat", FILE, "stat", LISTED), ("read_folder", FOLDER, "read"), ("do_require", MODULE, "read"),
	("connects", V4, "network"),
	("binds", V4, "bind"), ("run", PROGRAM, "execute"), ("run_exec", PROGRAM, "execute"), ("backticks", PROGRAM, "execute"),
	("piped", PROGRAM, "execute"), ("do_kill", "-", "signal", {}, "PROCESS"), ("fork_child", FILE, "read"),
	("sorted", FILE, "read"),
	("signals", FILE, "read"), ("destroyed", FILE, "read"),
)
PERL_FUNCTIONS = {**{row[0]: f"main::{row[0]}" for row in PERL_OPERATIONS}, "sorted": "main::order", "signals": "main::on_signal",
	"destroyed": "Job::DESTROY"}

PHP_OPERATIONS = (
	("open_read", FILE, "read"), ("open_write", FILE, "write"), ("open_append", FILE, "write"), ("open_exclusive", NEW, "write"),
	("open_object", FILE, "read"), ("get_contents", FILE, "read"), ("put_contents", FILE, "write"), ("read_lines", FILE, "read"),
	("read_settings", FILE, "read"), ("do_copy", NEW, "write"), ("do_unlink", FILE, "write"), ("do_rename", FILE, "write"),
	("do_mkdir", NEW, "write"), ("do_rmdir", f"{FOLDER}/empty", "write"), ("do_chmod", FILE, "write"), ("do_touch", FILE, "write"),
	("do_symlink", NEW, "write"), ("read_folder", FOLDER, "read"), ("each_of_folder", FOLDER, "read"),
	("temporary_file", FOLDER, "read", {}, f"{FOLDER}/made*"), ("do_include", MODULE, "read"), ("do_require", MODULE, "read"),
	("connects", V4, "network"), ("connect_path", SOCKET, "network"), ("connect_udp", UDP, "network"), ("binds", V4, "bind"),
	("url", V4, "network"), ("run", PROGRAM, "execute"), ("run_shell", "-", "execute", NO_SHELL, SHELL),
	("do_system", "-", "execute", NO_SHELL, SHELL), ("do_passthru", "-", "execute", NO_SHELL, SHELL),
	("do_popen", "-", "execute", NO_SHELL, SHELL), ("backticks", "-", "execute", NO_SHELL, SHELL), ("do_exec", PROGRAM, "execute"),
	("do_kill", "-", "signal", {}, "PROCESS"), ("fork_child", FILE, "read"), ("signals", FILE, "read"), ("sorted", FILE, "read"),
	("generated", FILE, "read"), ("destroyed", FILE, "read"), ("in_fiber", FILE, "read"), ("loads", MODULE, "read"),
)
# From 8.4 on the name of a closure goes on with its place.
PHP_FUNCTIONS = {"signals": "on_signal", "sorted": "{closure", "generated": "Job::rest", "destroyed": "Job::__destruct", "in_fiber": "{closure",
	"loads": "{closure"}

JAVASCRIPT_OPERATIONS = (
	("open_read", FILE, "read"), ("open_write", FILE, "write"), ("open_append", FILE, "write"), ("open_exclusive", NEW, "write"),
	("read_file", FILE, "read"), ("write_file", FILE, "write"), ("append_file", FILE, "write"), ("do_truncate", FILE, "read"),
	("do_copy", NEW, "write"), ("do_unlink", FILE, "write"), ("do_rename", FILE, "write"), ("do_mkdir", NEW, "write"),
	("do_rmdir", f"{FOLDER}/empty", "write"), ("do_chmod", FILE, "write"), ("do_utimes", FILE, "write"), ("do_symlink", NEW, "write"),
	("do_link", FILE, "write"), ("do_stat", FILE, "stat", LISTED), ("do_access", FILE, "stat", LISTED), ("do_chdir", FOLDER, "stat", LISTED),
	("read_folder", FOLDER, "read"), ("open_folder", FOLDER, "read"), ("temporary_folder", FOLDER, "write", {}, f"{FOLDER}/made*"),
	("do_require", FILE, "read"), ("connect_path", SOCKET, "network"),
	("bind_path", NEW, "write"), ("binds", "-", "bind", {}, "[::]:9"), ("run", PROGRAM, "execute"), ("run_file", PROGRAM, "execute"),
	("run_beside", PROGRAM, "execute"), ("run_shell", "-", "execute", NO_SHELL, SHELL), ("shell_beside", "-", "execute", NO_SHELL, SHELL),
	("do_kill", "-", "signal", {}, "PROCESS"), ("signals", FILE, "read"), ("other_thread", FILE, "read"), ("sorted", FILE, "read"),
	("generated", FILE, "read"), ("constructed", FILE, "read"), ("awaited", FILE, "read"), ("later", FILE, "read"),
	("from_native", FILE, "read"), ("at_exit", FILE, "read"),
)
JAVASCRIPT_FUNCTIONS = {"signals": "on_signal", "sorted": "<anonymous>", "generated": "Job.rest", "constructed": "Job", "later": "in_timer",
	"from_native": "toJSON", "at_exit": "ends"}

# What runs it, its source, its table, and the function of a row where it has another name than the row.
LANGUAGES = {
	"python": ("/usr/bin/python3", "operations.py", PYTHON_OPERATIONS, PYTHON_FUNCTIONS),
	"bash": ("/bin/bash", "operations.sh", BASH_OPERATIONS, BASH_FUNCTIONS),
	"perl": ("/usr/bin/perl", "operations.pl", PERL_OPERATIONS, PERL_FUNCTIONS),
	"php": ("/usr/bin/php", "operations.php", PHP_OPERATIONS, PHP_FUNCTIONS),
	"javascript": ("/usr/bin/node", "operations.js", JAVASCRIPT_OPERATIONS, JAVASCRIPT_FUNCTIONS),
}


# ---- what there is to be blocked ----

def prepare():
	"""Returns a process outside of the run, which ends when this one does."""
	for folder in (FOLDER, READABLE, f"{FOLDER}/empty"):
		os.makedirs(folder)
	for path in (FILE, f"{READABLE}/file", MODULE):
		with open(path, "w", encoding="utf-8") as file:
			file.write("1\n")
	shutil.copy("/bin/true", PROGRAM)
	with socket.socket(socket.AF_UNIX) as server:
		server.bind(SOCKET)
	return subprocess.Popen(["cat"], stdin=subprocess.PIPE)


def contents():
	"""What an operation would have changed, had it not been blocked."""
	status = os.stat(FILE)
	return sorted(os.listdir(FOLDER)), status.st_size, status.st_mode, status.st_mtime_ns


def source_line(path, mark):
	with open(path, encoding="utf-8") as file:
		return next(number for number, line in enumerate(file, 1) if re.search(rf"HERE {re.escape(mark)}\b", line))


# ---- one row ----

class Row:
	"""What is expected: `file` and `mark` give the line, `function` may be a part of its name, whose arguments are not told."""

	def __init__(self, title, rule, target, file, mark, function):
		self.title, self.rule, self.target = title, f"policy_blocked_{rule}", target
		self.file, self.line, self.function = file, source_line(f"{SOURCES}/{os.path.basename(file)}", mark), function


def blocked(command, read, paths):
	"""(verdict, what the program printed). Explanations have a deadline, which a busy host misses: then it is run again."""
	folder = fresh("row")
	policy = write_policy(folder, paths={"execute": [command[0], f"{TARGETS}/*"], "read": read, **paths})
	for _ in range(ATTEMPTS):
		_, stdout, _ = run(folder, command, policy)
		found = verdict(folder)
		failure = found["first_failure"] or {}
		late = f"{failure.get('stack_missing')} {failure.get('script_missing')}"
		if "did not end within" not in late and "took too long" not in late:
			break
	return found, stdout.decode(errors="replace")


def place_of(found):
	"""(file, line, function) that the summary names."""
	match = re.search(r"; (/.*):(\d+)(?: in (.*))?$", found.get("summary") or "")
	return (match.group(1), int(match.group(2)), match.group(3)) if match else (None, None, None)


def wrong(row, found):
	"""What is not as the row has it, in words."""
	failure = found["first_failure"] or {}
	operation, path = failure.get("operation") or {}, failure.get("path") or {}
	objects = f"{operation.get('syscall')} {operation.get('target')} {path.get('resolved')}"
	file, line, function = place_of(found)
	faults = []
	if found["rule"] != row.rule:
		faults.append(f"rule {found['rule']} instead of {row.rule}")
	target = re.escape(row.target).replace(r"\*", r"\w+")
	if not re.search(rf"{target}(?![\w/])", objects):
		faults.append(f"object {objects} instead of {row.target}")
	if (file, line) != (row.file, row.line):
		faults.append(f"line {file}:{line} instead of {row.file}:{row.line}")
	if row.function not in (function or ""):
		faults.append(f"function {function} instead of {row.function}")
	return faults


def in_order(wanted, frames):
	rest = iter(frames)
	return all(frame in rest for frame in wanted)


def report(row, found, faults, stdout):
	global shown
	failure = found["first_failure"] or {}
	frames = [f"{frame['function']} {frame['offset']} {frame['file']}:{frame['line']}" for frame in failure.get("stack") or []]
	shown += tap.ok(row.title, not faults, *faults, found.get("summary"), f"error {found.get('error')}", *frames, *(failure.get("script") or []),
		failure.get("stack_missing"), failure.get("script_missing"), stdout[-3000:])


# ---- compiled programs ----

def compiled(name, source, *command):
	"""A program built from a source in tests/why, or None where there is no such compiler."""
	environment = {**os.environ, "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))}
	if not shutil.which(command[0]):
		return None
	output = os.path.join(SCRATCH, name)
	done = subprocess.run([command[0], f"{SOURCES}/{source}", *command[1:], "-o", output], cwd=SCRATCH, env=environment, capture_output=True,
		text=True, check=False)
	if done.returncode != 0:
		print(f"# {' '.join(command)}: {done.stderr[-2000:]}")
	return output if done.returncode == 0 else None


def native_names(found):
	return [frame["function"] for frame in found["first_failure"]["stack"]] if found["first_failure"] else []


def witnessed_frames(program, stdout):
	"""(function, offset) of the program's own frames, innermost first, as backtrace_symbols() has them; the witness' own left out."""
	frames = re.findall(rf"^{re.escape(program)}\(([^)+]*)\+0x([0-9a-f]+)\)", stdout, re.MULTILINE)
	return [(function, int(offset, 16)) for function, offset in frames if function and function != "witness"]


def unlike_backtrace(program, row, found, stdout):
	"""The callers' return addresses are those of the witness; the function itself was elsewhere when it called that."""
	own = witnessed_frames(program, stdout)
	frames = [(frame["function"], frame["offset"]) for frame in found["first_failure"]["stack"]] if found["first_failure"] else []
	if len(own) < 2:
		return [f"no witness: {own}"]
	inner = own[0][0] == row.function and row.function in native_names(found)
	return [] if inner and in_order(own[1:], frames) else [f"the witness saw {own}"]


def c_operations(outsider):
	program = compiled("operations", "operations.c", "gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-pthread")
	for name, given, rule, *more in C_OPERATIONS:
		paths, target = more[0] if more else {}, more[1] if len(more) > 1 else given
		target = str(outsider) if target == "PROCESS" else target
		row = Row(f"C: {name} {os.path.relpath(given, SCRATCH) if given.startswith(SCRATCH) else given}", rule, target,
			f"{SOURCES}/operations.c", name, name)
		found, stdout = blocked([program, name, given, str(outsider)], [program, f"{READABLE}/**"], paths)
		report(row, found, wrong(row, found) + unlike_backtrace(program, row, found, stdout), stdout)


def c_way(title, program, way, function, callers, witnessed):
	row = Row(title, "read", FILE, f"{SOURCES}/ways.c", function, function)
	found, stdout = blocked([program, way, FILE], [program, "/etc"], {})
	names = native_names(found)
	faults = wrong(row, found)
	if function not in names or not in_order(callers, names[names.index(function) + 1:]):
		faults.append(f"callers {names} instead of {callers}")
	report(row, found, faults + (unlike_backtrace(program, row, found, stdout) if witnessed else []), stdout)


def c_ways():
	plain = ["-g", "-O1", "-fno-optimize-sibling-calls", "-pthread"]
	program = compiled("ways", "ways.c", "gcc", *plain, "-rdynamic")
	for way, function, callers in C_WAYS:
		# backtrace() ends where the C library's own frames have no name of the program's: a thread has one function.
		witnessed = function == "blocked" and len([name for name in callers if name not in ("raise", "exit")]) > 1
		c_way(f"C: from {way}", program, way, function, callers, witnessed)
	for title, options in (("-O2", ["-g", "-O2"]), ("-O3 -flto", ["-g", "-O3", "-flto"]), ("static", [*plain, "-static", "-DNO_WITNESS"]),
			("static PIE, -O2", ["-g", "-O2", "-static-pie", "-DNO_WITNESS"]), ("without frame pointers, not PIE", ["-g", "-O2",
			"-fomit-frame-pointer", "-no-pie"])):
		program = compiled("ways-other", "ways.c", "gcc", *options, "-pthread")
		for way, function in (("calls_hidden", "hidden"), ("sorts", "blocked"), ("signals", "blocked"), ("thread", "blocked")):
			c_way(f"C, {title}: from {way}", program, way, function, [], False)


def c_libraries():
	library = compiled("libwhy.so", "library.c", "gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC")
	linked = compiled("ways-linked", "ways.c", "gcc", "-g", "-O1", "-DWITH_LIBRARY", "-pthread", f"-L{SCRATCH}", "-lwhy",
		f"-Wl,-rpath,{SCRATCH}")
	loads = compiled("ways", "ways.c", "gcc", "-g", "-O1", "-pthread")
	for title, program, way in (("a shared library", linked, "uses_library"), ("a plugin", loads, "uses_plugin")):
		row = Row(f"C: from {title}", "read", FILE, f"{SOURCES}/library.c", "inside", "inside")
		found, stdout = blocked([program, way, FILE, library], [program, library], {})
		names = native_names(found)
		modules = {frame["function"]: frame["module"] for frame in (found["first_failure"] or {}).get("stack") or []}
		faults = wrong(row, found)
		if not in_order(["inside", "library_entry", way, "main"], names) or modules.get("inside") != library or modules.get(way) != program:
			faults.append(f"frames {names} in {modules}")
		report(row, found, faults, stdout)


def c_stripped():
	"""No names are left: module, build id and offset are, with which the line can be found where the symbols are."""
	whole = compiled("ways-whole", "ways.c", "gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-DNO_WITNESS", "-pthread")
	program = f"{whole}.stripped"
	subprocess.run(["strip", "-o", program, whole], check=True)
	found, stdout = blocked([program, "blocked", FILE], [program], {})
	own = [frame for frame in (found["first_failure"] or {}).get("stack") or [] if frame["module"] == program]
	done = subprocess.run(["addr2line", "-e", whole, hex(own[0]["offset"] - 1) if own else "0"], capture_output=True, text=True, check=False)
	notes = subprocess.run(["readelf", "-n", whole], capture_output=True, text=True, check=False).stdout
	row = Row("C: stripped, its line found by its offset", "read", FILE, f"{SOURCES}/ways.c", "blocked", "")
	faults = [] if own and own[0]["build_id"] and own[0]["build_id"] in notes else ["no build id"]
	if done.stdout.split()[0] != f"{row.file}:{row.line}":
		faults.append(f"its offset is {done.stdout}")
	if place_of(found)[0] or found["rule"] != row.rule or (found["first_failure"] or {})["path"]["resolved"] != FILE:
		faults.append("rule, object or place")
	report(row, found, faults, stdout)


def other_compiled():
	for language, name, source, command, table in (
		("C++", "ways-cc", "ways.cc", ["g++", "-g", "-O1", "-std=c++17", "-pthread"], CPP_WAYS),
		# A function that is folded into another or that jumps to what it calls last is on no stack: the compiler has removed it.
		("C++ -O2", "ways-cc", "ways.cc", ["g++", "-g", "-O2", "-fno-ipa-icf", "-fno-optimize-sibling-calls", "-std=c++17", "-pthread"], CPP_WAYS),
		("Rust", "ways-rs", "ways.rs", ["rustc", "-g"], RUST_WAYS),
		("Rust -O", "ways-rs", "ways.rs", ["rustc", "-g", "-O"], RUST_WAYS),
	):
		program = compiled(name, source, *command)
		for way, given, rule, function in table:
			if not program:
				tap.skip(f"{language}: {way}", "no compiler for it" + (" (optional)" if command[0] == "rustc" else ""))
				continue
			row = Row(f"{language}: {way}", rule, given, f"{SOURCES}/{source}", way, function)
			found, stdout = blocked([program, way, given], [program, "/sys/**"], {})
			report(row, found, wrong(row, found), stdout)


# ---- scripts ----

def own_frames(found):
	"""file:line:function as the verdict has them, of the program's own code."""
	frames = [frame for frame in (found["first_failure"] or {}).get("script") or [] if frame["own_code"]]
	return [f"{frame['file']}:{frame['line']}:{(frame['function'] or '').rsplit('.', 1)[-1]}" for frame in frames]


def unlike_witness(script, found, stdout):
	seen = [line.split(" ", 1)[1] for line in stdout.splitlines() if line.startswith(f"witness {script}:")]
	told = own_frames(found)
	seen = [frame for frame in seen if not frame.endswith(":(eval)")]  # perl calls no function there
	# At the top level Python says <module> and bash main; a function of bash's may have that name, too.
	plain = [re.sub(r":(<module>|main)$", ":", frame) for frame in seen]
	return [] if plain and plain == [re.sub(r":main$", ":", frame) for frame in told] else [f"the witness saw {seen}", f"the verdict has {told}"]


def scripts(outsider):
	for language, (interpreter, source, table, functions) in LANGUAGES.items():
		for name, given, rule, *more in table:
			title = f"{language}: {name} {os.path.relpath(given, SCRATCH) if given.startswith(SCRATCH) else given}"
			if not os.path.exists(interpreter):
				tap.skip(title, f"{interpreter} is missing (optional)")
				continue
			paths, target = more[0] if more else {}, more[1] if len(more) > 1 else given
			target = str(outsider) if target == "PROCESS" else target
			script = f"{SOURCES}/{source}"
			mark = functions.get(name, name) if language == "python" else name
			row = Row(title, rule, target, script, mark, functions.get(name, name))
			read = [script, SOURCES, f"{READABLE}/**", "/etc/php/**"]
			found, stdout = blocked([os.path.realpath(interpreter), script, name, given, str(outsider)], read, paths)
			report(row, found, wrong(row, found) + unlike_witness(script, found, stdout), stdout)


def main():
	outsider = prepare()
	before = contents()
	c_operations(outsider.pid)
	c_ways()
	c_libraries()
	c_stripped()
	other_compiled()
	scripts(outsider.pid)
	tap.equal("nothing was read, written or removed", contents(), before)
	tap.ok("the process outside of the runs is alive", outsider.poll() is None)
	outsider.stdin.close()
	outsider.wait()
	tap.ok(f"at least {AT_LEAST} operations are in the table", shown >= AT_LEAST, shown)
	tap.end()


main()
