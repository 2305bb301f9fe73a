#!/usr/bin/python3
"""The rules of the house, read from the sources: who may include whom, and who may do what. Prints TAP.

The same rules are then held against a small tree that breaks each of them once: a rule that notices nothing is no rule.
"""

import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP_LEVEL = {".ci", ".git", ".gitignore", "LICENSE", "Makefile", "README.md", "bench", "build", "man", "policies", "tests", "tracer"}
MOST_LINES = 600
MOST_FUNCTION_LINES = 50
MOST_COLUMNS = 144  # 120 is the habit; this is where reading stops

# Room -> rooms whose headers it may include, besides its own.
BELOW = {
	"base": set(),
	"policy": {"base"},
	"verdict": {"base", "policy"},
	"tracee": {"base", "policy", "verdict"},
	"engine": {"base", "policy", "verdict", "tracee"},
	"why": {"base", "policy", "verdict", "tracee"},
	"cli": {"base", "policy", "verdict", "tracee", "engine", "why"},
}
# The one header that crosses sideways: the two functions that the engine asks for, why/ fills in and cli/ hands over.
SIDEWAYS = {"why": {"engine/explainer.h"}}
PURE = {"policy", "verdict"}
PTRACE_HEADER = re.compile(r"<(sys|linux|asm)/(ptrace|user|reg)\.h>")

# What only some files may name, and why those. engine/host.c only ever touches throw-away children that it forks itself to
# find out what the kernel offers; cli/attack_run.c runs
# whole bailiffs, from outside; why/helper.c starts the unwinder and reaps it, and engine/evidence_hash.c what hashes files when
# the tree is dead; engine/supervise.c is the tracer, a forked child that ends when front is gone.
OWNERS = [
	("waits for tracees", r"\b(waitpid|waitid|wait[34]?)\s*\(", {"tracee/wait.c", "engine/front.c", "engine/host.c", "why/helper.c", "cli/attack_run.c", "engine/evidence_hash.c"}),
	("reads tracee memory", r"\bprocess_vm_readv\b|\bPTRACE_PEEK(TEXT|DATA)\b|/proc/%[^\"]*/mem\b",
		{"tracee/memory.c", "engine/host.c"}),
	("writes tracee memory", r"\bprocess_vm_writev\b|\bPTRACE_POKE(TEXT|DATA)\b", {"tracee/memory.c"}),
	("writes registers", r"\bPTRACE_(SETREGS|SETFPREGS|SETREGSET|POKEUSER|POKEUSR|SET_SYSCALL_INFO)\b", {"tracee/registers.c"}),
	("ends the process", r"(?<![\w.>])(_?exit|_Exit|quick_exit|abort|err|errx|assert)\s*\(|\bSYS_exit(_group)?\b|\b__NR_exit(_group)?\b",
		{"cli/", "engine/launch.c", "engine/front.c", "engine/supervise.c", "engine/host.c", "base/bug.c"}),
	("calls a shell", r"\b(system|popen)\s*\(", set()),
	("uses an unbounded copy", r"\b(strcat|sprintf|vsprintf|gets|strtok)\s*\(|\bstrcpy\s*\([^,]*,\s*[^\"\s]", set()),
]
MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def read(path):
	with open(path, encoding="utf-8") as file:
		return file.read()


def without_comments(text, keep_strings=True):
	"""Blanks comments (and strings), so that a rule is not broken by a sentence about it. Line numbers stay."""
	pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

	def blank(match):
		piece = match.group()
		return piece if keep_strings and piece[0] in "\"'" else re.sub(r"[^\n]", " ", piece)
	return pattern.sub(blank, text)


def sources(root):
	for folder, _, names in sorted(os.walk(os.path.join(root, "tracer"))):
		for name in sorted(names):
			if name.endswith((".c", ".h", ".def")):
				yield os.path.relpath(os.path.join(folder, name), os.path.join(root, "tracer"))


def includes(root, path):
	text = without_comments(read(os.path.join(root, "tracer", path)))
	for number, line in enumerate(text.splitlines(), 1):
		match = re.match(r'\s*#\s*include\s*(<[^>]+>|"[^"]+")', line)
		if match:
			yield number, match.group(1)


def include_problem(root, path, target):
	room = path.split("/")[0]
	if target.startswith("<"):
		return "a pure room includes a ptrace header" if room in PURE and PTRACE_HEADER.match(target) else None
	target = target.strip('"')
	other = target.split("/")[0]
	if "/" not in target or not os.path.isfile(os.path.join(root, "tracer", target)):
		return "not written as room/file"
	if target.endswith(".c"):
		return "includes a source file"
	if other != room and other not in BELOW[room] and target not in SIDEWAYS.get(room, ()):
		return f"{room}/ may not include {other}/"
	return None


def check_includes(root):
	for path in sources(root):
		if path.split("/")[0] not in BELOW:
			yield f"tracer/{path}: no such room"
			continue
		for number, target in includes(root, path):
			problem = include_problem(root, path, target)
			if problem:
				yield f"tracer/{path}:{number}: {target}: {problem}"


def owned_by(path, owners):
	return path in owners or path.split("/")[0] + "/" in owners


def rule_for(pattern, owners):
	expression = re.compile(pattern)

	def check(root):
		for path in sources(root):
			if owned_by(path, owners) or path.endswith(".def"):
				continue
			text = without_comments(read(os.path.join(root, "tracer", path)))
			for number, line in enumerate(text.splitlines(), 1):
				match = expression.search(re.sub(r'"(?:\\.|[^"\\])*"', keep_proc, line))
				if match:
					yield f"tracer/{path}:{number}: {match.group().strip()}"
	return check


def keep_proc(match):
	"""Of the strings only paths below /proc matter to a rule."""
	return match.group() if "/proc/" in match.group() else '""'


def check_top_level(root):
	for name in sorted(set(os.listdir(root)) - TOP_LEVEL):
		yield f"{name}: has no place in the top level"


def check_length(root):
	for path in sources(root):
		lines = read(os.path.join(root, "tracer", path)).count("\n")
		if lines > MOST_LINES:
			yield f"tracer/{path}: {lines} lines"


def check_layout(root):
	for path in sources(root):
		for number, line in enumerate(read(os.path.join(root, "tracer", path)).splitlines(), 1):
			if line != line.rstrip():
				yield f"tracer/{path}:{number}: blanks at the end"
			if len(line.expandtabs(8)) > MOST_COLUMNS and not path.endswith(".def"):
				yield f"tracer/{path}:{number}: {len(line.expandtabs(8))} columns"
			if re.match(r" +[^ *]", line):
				yield f"tracer/{path}:{number}: indented with blanks"


def check_functions(root):
	for path in sources(root):
		start = None
		for number, line in enumerate(read(os.path.join(root, "tracer", path)).splitlines(), 1):
			if line == "{":
				start = number
			elif line == "}" and start:
				if number - start - 1 > MOST_FUNCTION_LINES:
					yield f"tracer/{path}:{start}: {number - start - 1} lines"
				start = None


def written_files(root):
	for top in sorted(TOP_LEVEL - {".git", "build"}):
		path = os.path.join(root, top)
		if os.path.isfile(path):
			yield path
		for folder, _, names in sorted(os.walk(path)):
			yield from (os.path.join(folder, name) for name in sorted(names) if not name.endswith(".pyc"))


def check_marks(root):
	for path in written_files(root):
		try:
			text = read(path)
		except UnicodeDecodeError:
			continue
		for number, line in enumerate(text.splitlines(), 1):
			match = MARK.search(line)
			if match and "mktemp" not in line:
				yield f"{os.path.relpath(path, root)}:{number}: {match.group()}"


RULES = [
	("includes go down only", check_includes),
	("the top level holds the agreed entries", check_top_level),
	(f"no source file is longer than {MOST_LINES} lines", check_length),
	(f"tabs, {MOST_COLUMNS} columns, no blanks at the end", check_layout),
	("nothing is left to be done later", check_marks),
	(f"no function is longer than {MOST_FUNCTION_LINES} lines", check_functions),
] + [(f"who {name}: {', '.join(sorted(owners)) or 'nobody'}", rule_for(pattern, owners)) for name, pattern, owners in OWNERS]

# One offence each, and the number of the rule in RULES that must notice exactly it.
OFFENCES = [
	("tracer/policy/a.c", '#include "engine/run.h"\n', 0),
	("tracer/engine/a.c", '#include "why/stack.h"\n', 0),
	("tracer/why/a.c", '#include "engine/run.h"\n', 0),
	("tracer/base/a.c", '#include "policy/policy.h"\n', 0),
	("tracer/verdict/a.c", "#include <sys/ptrace.h>\n", 0),
	("tracer/policy/a.h", "#include <linux/ptrace.h>\n", 0),
	("tracer/policy/a.c", '#include "error.h"\n', 0),
	("tracer/rooms/a.c", "int a;\n", 0),
	("notes.txt", "", 1),
	("tracer/base/a.c", "\n" * (MOST_LINES + 1), 2),
	("tracer/base/a.c", "int a; \n", 3),
	("tracer/base/a.c", "    int a;\n", 3),
	("tracer/base/a.c", "\t" * 18 + "a\n", 3),
	("tracer/base/a.c", "/* TO" "DO */\n", 4),
	("bench/a.py", "# FIX" "ME\n", 4),
	("tracer/engine/a.c", "void a(void)\n{\n" + "\ta();\n" * (MOST_FUNCTION_LINES + 1) + "}\n", 5),
	("tracer/engine/a.c", "pid = waitpid(-1, &status, __WALL);\n", 6),
	("tracer/engine/a.c", "ptrace(PTRACE_PEEKDATA, pid, 0, 0);\n", 7),
	("tracer/engine/a.c", 'snprintf(path, sizeof(path), "/proc/%d/mem", pid);\n', 7),
	("tracer/engine/a.c", "process_vm_writev(pid, a, 1, b, 1, 0);\n", 8),
	("tracer/tracee/memory.c", "ptrace(PTRACE_SETREGSET, pid, 1, &io);\n", 9),
	("tracer/verdict/a.c", "exit(1);\n", 10),
	("tracer/engine/a.c", "_exit(1);\n", 10),
	("tracer/engine/a.c", "syscall(SYS_exit_group, 1);\n", 10),
	("tracer/cli/a.c", 'system("true");\n', 11),
	("tracer/base/a.c", "strcpy(a, b);\n", 12),
]
INNOCENT = '/* exit(1) and waitpid(2) in words */\n#include "base/a.h"\n\nstatic const char *text = "exit(1); system(x)";\nvoid on_exit_of(int a);\n'


def write(root, path, text):
	path = os.path.join(root, path)
	os.makedirs(os.path.dirname(path), exist_ok=True)
	with open(path, "w", encoding="utf-8") as file:
		file.write(text)


def noticed(path, text):
	"""Numbers of the rules that a tree with this one file breaks."""
	with tempfile.TemporaryDirectory(prefix="bailiff-check-") as root:
		write(root, "tracer/base/a.h", "#define A 1\n")
		write(root, "tracer/engine/run.h", "#define RUN 1\n")
		write(root, "tracer/why/stack.h", "#define WHY 1\n")
		write(root, "tracer/policy/policy.h", "#define POLICY 1\n")
		write(root, path, text)
		return [number for number, (_, check) in enumerate(RULES) if list(check(root))]


def main():
	results = [(name, list(check(ROOT))) for name, check in RULES]
	results.append(("there are sources to check", [] if list(sources(ROOT)) else ["tracer/ holds none"]))
	for path, text, rule in OFFENCES:
		found = noticed(path, text)
		results.append((f"noticed: {' '.join(text[:60].split()) or 'an entry'} in {path}", [] if found == [rule] else [f"rules {found}, expected {[rule]}"]))
	found = noticed("tracer/engine/innocent.c", INNOCENT)
	results.append(("words about a rule do not break it", [f"rules {found}"] if found else []))
	for number, (name, problems) in enumerate(results, 1):
		print(f"{'not ok' if problems else 'ok'} {number} - {name}")
		for problem in problems:
			print(f"# {problem}")
	print(f"1..{len(results)}")
	return 1 if any(problems for _, problems in results) else 0


if __name__ == "__main__":
	sys.exit(main())
