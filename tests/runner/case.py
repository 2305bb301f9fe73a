"""One case: set up, control without bailiff, the same command under bailiff, compare. tests/README.md has the format."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

KEYS = {"name", "why", "covers", "policy", "policy_valid", "options", "command", "setup", "stdin", "cwd", "environment",
	"control", "control_reason", "bailiff", "shell", "verdict", "expect", "as", "needs", "timeout", "alone", "left_running"}
EXPECTATIONS = {"status", "rule", "exit", "target", "resolved", "given", "syscall", "pointer", "file", "line", "stdout",
	"stdout_contains", "stdout_lacks", "stderr", "stderr_contains", "stderr_lacks", "notes_contain", "notes", "violations",
	"exit_code", "signal", "answered", "summary_contains", "jq", "files", "stdout_same_as_control"}
CONTROL_KEYS = {"command", "shell", "exit", "stdout", "stdout_contains", "cwd", "stdin"}
PATH = "/usr/local/bin:/usr/bin:/bin"
EXIT_OF_STATUS = {"completed": 0, "policy_blocked": 122, "resource_limit": 123, "timeout": 124}
ABSENT = object()


class Failure(Exception):
	"""What a case found wrong, with everything that helps to see why."""


def substitute(value, variables):
	if isinstance(value, str):
		for name, text in variables.items():
			value = value.replace("${%s}" % name, text)
		return value
	if isinstance(value, list):
		return [substitute(item, variables) for item in value]
	if isinstance(value, dict):
		return {substitute(key, variables): substitute(item, variables) for key, item in value.items()}
	return value


class Outcome:
	def __init__(self, arguments, returncode, stdout, stderr):
		self.arguments, self.returncode = arguments, returncode
		self.stdout = stdout.decode("utf-8", "backslashreplace")
		self.stderr = stderr.decode("utf-8", "backslashreplace")

	def describe(self, title):
		def shown(text):
			return text if len(text) < 4000 else f"{text[:2000]}\n[{len(text) - 4000} more]\n{text[-2000:]}"
		return (f"--- {title}: {' '.join(map(repr, self.arguments))}\nended with {self.returncode}\n"
			f"stdout: {shown(self.stdout)}\nstderr: {shown(self.stderr)}")


def run_program(arguments, cwd, environment, stdin, seconds):
	process = subprocess.Popen(arguments, cwd=cwd, env=environment, start_new_session=True, stdout=subprocess.PIPE,
		stderr=subprocess.PIPE, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
	try:
		stdout, stderr = process.communicate(None if stdin is None else stdin.encode(), timeout=seconds)
	except subprocess.TimeoutExpired:
		os.killpg(process.pid, signal.SIGKILL)
		stdout, stderr = process.communicate()
		outcome = Outcome(arguments, process.returncode, stdout, stderr)
		raise Failure(outcome.describe(f"still running after {seconds} s"))
	return Outcome(arguments, process.returncode, stdout, stderr)


def remove_tree(path):
	def unlock(function, name, _):
		os.chmod(os.path.dirname(name), stat.S_IRWXU)
		if not os.path.islink(name) and os.path.isdir(name):
			os.chmod(name, stat.S_IRWXU)
			shutil.rmtree(name)
		elif os.path.lexists(name):
			function(name)
	if os.path.lexists(path):
		shutil.rmtree(path, onerror=unlock)


def processes_inside(folder):
	"""pid -> command line of the processes that still have their working directory in `folder`."""
	found = {}
	for pid in filter(str.isdigit, os.listdir("/proc")):
		try:
			cwd = os.readlink(f"/proc/{pid}/cwd")
			if cwd == folder or cwd.startswith(folder + "/"):
				with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
					found[int(pid)] = cmdline.read().replace(bytes(1), b" ").decode("utf-8", "backslashreplace")
		except OSError:
			continue
	return found


def end_processes_inside(folder):
	for pid in processes_inside(folder):
		try:
			os.kill(pid, signal.SIGKILL)
		except (ProcessLookupError, PermissionError):
			continue


def look_up(document, path):
	"""`a.b.0.c` in a JSON document; ABSENT where there is no such place. `\\.` is a dot within a key."""
	for key in re.split(r"(?<!\\)\.", path):
		key = key.replace("\\.", ".")
		if isinstance(document, list) and re.fullmatch(r"-?\d+", key) and -len(document) <= int(key) < len(document):
			document = document[int(key)]
		elif isinstance(document, dict) and key in document:
			document = document[key]
		elif key == "length" and isinstance(document, (list, str)):
			document = len(document)
		else:
			return ABSENT
	return document


OPERATORS = {
	"$contains": lambda actual, wanted: actual is not ABSENT and wanted in (actual if isinstance(actual, list) else str(actual)),
	"$lacks": lambda actual, wanted: actual is not ABSENT and wanted not in (actual if isinstance(actual, list) else str(actual)),
	"$matches": lambda actual, wanted: isinstance(actual, str) and re.search(wanted, actual) is not None,
	"$at_least": lambda actual, wanted: isinstance(actual, (int, float)) and actual >= wanted,
	"$at_most": lambda actual, wanted: isinstance(actual, (int, float)) and actual <= wanted,
	"$absent": lambda actual, wanted: (actual is ABSENT) == wanted,
	"$not": lambda actual, wanted: actual is not ABSENT and actual != wanted,
	"$in": lambda actual, wanted: actual in wanted,
}


def agrees(actual, wanted):
	if isinstance(wanted, dict) and len(wanted) == 1 and next(iter(wanted)) in OPERATORS:
		operator, operand = next(iter(wanted.items()))
		return OPERATORS[operator](actual, operand)
	return type(actual) is type(wanted) and actual == wanted


class Case:
	def __init__(self, raw, base, tools):
		self.tools = tools
		self.base = base
		self.scratch = os.path.join(base, "s")
		self.temporary = os.path.join(base, "t")
		self.variables = {"S": self.scratch, "T": tools.targets, "B": tools.bailiff}
		self.raw = substitute(raw, self.variables)
		self.seconds = raw.get("timeout", 60) * tools.patience
		self.control = self.verdict = self.outcome = None

	def environment(self):
		environment = {"PATH": PATH, "HOME": self.scratch, "TMPDIR": self.temporary, "LANG": "C.UTF-8"}
		environment.update(self.variables)
		environment.update(self.tools.environment)
		environment.update(self.raw.get("environment", {}))
		return environment

	def run(self):
		self.check_shape()
		try:
			self.run_control()
			self.prepare()
			self.run_bailiff()
			problems = self.problems()
			if problems:
				raise Failure("\n".join(problems))
		except Failure as failure:
			raise Failure("\n".join(filter(None, [str(failure), f"why: {self.raw.get('why')}", self.evidence()])))
		finally:
			end_processes_inside(self.base)
			remove_tree(self.base)

	def evidence(self):
		parts = [self.control and self.control.describe("without bailiff"), self.outcome and self.outcome.describe("with bailiff"),
			self.verdict and "--- verdict: " + self.shown_verdict()]
		return "\n".join(filter(None, parts))

	def shown_verdict(self):
		"""Without what is long and seldom says why a case failed."""
		left_out = {"envelope", "artifacts", "considered", "suggestions", "recorded", "stack", "script"}

		def short(value):
			if isinstance(value, dict):
				return {key: short(item) for key, item in value.items() if key not in left_out}
			return value
		return json.dumps(short(self.verdict), ensure_ascii=False)[:4000]

	def check_shape(self):
		unknown = set(self.raw) - KEYS | set(self.raw.get("expect", {})) - EXPECTATIONS
		if isinstance(self.raw.get("control"), dict):
			unknown |= set(self.raw["control"]) - CONTROL_KEYS
		if unknown:
			raise Failure(f"unknown keys in the case: {', '.join(sorted(unknown))}")
		if not self.raw.get("expect") or not self.raw.get("why"):
			raise Failure("a case says why it is there and expects something")
		if self.raw.get("control", ABSENT) is None and not self.raw.get("control_reason"):
			raise Failure('"control": null needs a "control_reason"')

	def prepare(self):
		end_processes_inside(self.base)
		remove_tree(self.base)
		os.makedirs(self.scratch)
		os.makedirs(self.temporary)
		if self.raw.get("setup"):
			outcome = run_program(["/bin/sh", "-ec", self.raw["setup"]], self.scratch, self.environment(), None, self.seconds)
			if outcome.returncode != 0:
				raise Failure(outcome.describe("the set-up failed"))

	def run_control(self):
		"""The command on its own must succeed: else a refusal would prove nothing."""
		control = self.raw.get("control", {})
		if control is None or ("bailiff" in self.raw and "control" not in self.raw):
			return
		command = control.get("command") or self.raw.get("command")
		if "shell" in control or command is None:
			command = ["/bin/sh", "-c", control["shell"]] if "shell" in control else None
		if command is None:
			raise Failure("the case has neither a command nor a control")
		self.prepare()
		outcome = run_program(command, control.get("cwd") or self.raw.get("cwd", self.scratch), self.environment(),
			control.get("stdin", self.raw.get("stdin")), self.seconds)
		self.control = outcome
		if outcome.returncode != control.get("exit", 0):
			raise Failure(f"control: ended with {outcome.returncode}, expected {control.get('exit', 0)}")
		if "stdout" in control and outcome.stdout != control["stdout"]:
			raise Failure(f"control: standard output differs, expected {control['stdout']!r}")
		for piece in as_list(control.get("stdout_contains")):
			if piece not in outcome.stdout:
				raise Failure(f"control: standard output lacks {piece!r}")

	def policy_options(self):
		policy = self.raw.get("policy")
		if policy is None:
			return []
		if isinstance(policy, dict):
			path = os.path.join(self.scratch, "policy.json")
			with open(path, "w", encoding="utf-8") as file:
				json.dump(policy, file, indent=2, ensure_ascii=False)
				file.write("\n")
			if self.raw.get("policy_valid", True):
				self.tools.validate("policy", policy)
			return ["-p", path]
		beside = os.path.join(self.tools.case_folder, policy)
		return ["-p", beside if policy.endswith(".json") and os.path.isfile(beside) else policy]

	def arguments(self):
		policy = self.policy_options()
		if "shell" in self.raw:
			return ["/bin/sh", "-c", self.raw["shell"]]
		if "bailiff" in self.raw:
			arguments = self.raw["bailiff"]
			options = self.tools.run_options if arguments[:1] == ["run"] else []
			return [self.tools.bailiff] + arguments[:1] + options + arguments[1:]
		where = [] if "verdict" in self.raw else ["-o", self.verdict_path()]
		return [self.tools.bailiff, "run"] + self.tools.run_options + policy + where + self.raw.get("options", []) + ["--"] + self.raw["command"]

	def verdict_path(self):
		return os.path.join(self.scratch, ".verdict.json")

	def run_bailiff(self):
		arguments = self.arguments()
		self.outcome = run_program(arguments, self.raw.get("cwd", self.scratch), self.environment(),
			self.raw.get("stdin"), self.seconds)
		self.verdict = self.read_verdict()
		if self.verdict is not None:
			self.tools.validate("verdict", self.verdict)

	def read_verdict(self):
		where = self.raw.get("verdict", "none" if {"bailiff", "shell"} & set(self.raw) else self.verdict_path())
		if where == "none":
			return None
		if where == "stdout":
			text = self.outcome.stdout
		elif where == "stderr":
			text = (self.outcome.stderr.rstrip("\n").splitlines() or [""])[-1]
		else:
			try:
				with open(where, encoding="utf-8") as file:
					text = file.read()
			except (OSError, UnicodeDecodeError) as error:
				raise Failure(f"no verdict: {error}")
		try:
			return json.loads(text, object_pairs_hook=without_duplicates)
		except ValueError as error:
			raise Failure(f"the verdict is not JSON: {error}: {text[:2000]!r}")

	def problems(self):
		found = []
		for key, wanted in self.raw["expect"].items():
			found += self.compare(key, wanted)
		found += self.invariants()
		return found

	def invariants(self):
		"""What holds after every run, whatever it was about."""
		found = []
		if self.verdict is not None and not self.verdict["exit"]["interrupted"] and "shell" not in self.raw:
			found += differing("exit status for this verdict", self.outcome.returncode, exit_status_of(self.verdict))
		remains = os.listdir(self.temporary)
		if remains:
			found.append(f"left behind in TMPDIR: {remains}")
		if not self.raw.get("left_running"):
			found += self.still_running()
		return found

	def still_running(self):
		deadline = time.monotonic() + 2
		while True:
			running = processes_inside(self.base)
			if not running or time.monotonic() > deadline:
				return [f"still running: {running}"] if running else []
			time.sleep(0.02)

	def compare(self, key, wanted):
		if key in SIMPLE:
			actual = look_up(self.verdict, SIMPLE[key]) if self.verdict is not None else ABSENT
			return [] if agrees(actual, wanted) else differing(key, actual, wanted)
		return getattr(self, "compare_" + key)(wanted)

	def compare_exit(self, wanted):
		return differing("exit status of bailiff", self.outcome.returncode, wanted)

	def compare_target(self, wanted):
		return self.contains("first_failure.operation.target", wanted)

	def compare_file(self, wanted):
		return self.contains("first_failure.policy.file", wanted)

	def compare_summary_contains(self, wanted):
		return self.contains("summary", wanted)

	def contains(self, path, wanted):
		actual = look_up(self.verdict, path) if self.verdict is not None else ABSENT
		return [f"{path} is {shown(actual)}, expected it to contain {piece!r}"
			for piece in as_list(wanted) if actual is ABSENT or piece not in str(actual)]

	def compare_stdout(self, wanted):
		return differing("standard output", self.outcome.stdout, wanted)

	def compare_stderr(self, wanted):
		return differing("standard error", self.outcome.stderr, wanted)

	def compare_stdout_contains(self, wanted):
		return [f"standard output lacks {piece!r}" for piece in as_list(wanted) if piece not in self.outcome.stdout]

	def compare_stdout_lacks(self, wanted):
		return [f"standard output has {piece!r}" for piece in as_list(wanted) if piece in self.outcome.stdout]

	def compare_stderr_contains(self, wanted):
		return [f"standard error lacks {piece!r}" for piece in as_list(wanted) if piece not in self.outcome.stderr]

	def compare_stderr_lacks(self, wanted):
		return [f"standard error has {piece!r}" for piece in as_list(wanted) if piece in self.outcome.stderr]

	def compare_stdout_same_as_control(self, wanted):
		if self.control is None:
			return ["there is no control to compare standard output with"]
		same = self.outcome.stdout == self.control.stdout
		return [] if same == wanted else differing("standard output", self.outcome.stdout, self.control.stdout)

	def compare_notes_contain(self, wanted):
		notes = json.dumps(self.verdict["notes"], ensure_ascii=False) if self.verdict else ""
		return [f"no note contains {piece!r}" for piece in as_list(wanted) if piece not in notes]

	def compare_jq(self, wanted):
		found = []
		for path, value in wanted.items():
			actual = look_up(self.verdict, path) if self.verdict is not None else ABSENT
			if not agrees(actual, value):
				found += differing(path, actual, value)
		return found

	def compare_files(self, wanted):
		found = []
		for name, content in wanted.items():
			path = os.path.join(self.scratch, name)
			actual = read_text(path) if os.path.lexists(path) else None
			if not agrees(actual, content):
				found += differing(f"file {name}", actual, content)
		return found


# Expectations that are one place of the verdict.
SIMPLE = {
	"status": "status", "rule": "rule", "resolved": "first_failure.path.resolved", "given": "first_failure.path.given",
	"syscall": "first_failure.operation.syscall", "pointer": "first_failure.policy.pointer", "line": "first_failure.policy.line",
	"violations": "violations.total", "exit_code": "exit.code", "signal": "exit.signal", "answered": "first_failure.answered",
	"notes": "notes.length",
}


def as_list(value):
	return [] if value is None else value if isinstance(value, list) else [value]


def shown(value):
	return "absent" if value is ABSENT else repr(value)


def differing(what, actual, wanted):
	return [] if agrees(actual, wanted) else [f"{what} is {shown(actual)}, expected {shown(wanted)}"]


def read_text(path):
	if os.path.isdir(path):
		return sorted(os.listdir(path))
	with open(path, encoding="utf-8", errors="backslashreplace") as file:
		return file.read()


def without_duplicates(pairs):
	keys = [key for key, _ in pairs]
	if len(keys) != len(set(keys)):
		raise ValueError(f"a key appears twice among {keys}")
	return dict(pairs)


def exit_status_of(verdict):
	if verdict["status"] is None:
		return {"$in": [125, 126, 127]}
	if verdict["status"] in EXIT_OF_STATUS:
		return EXIT_OF_STATUS[verdict["status"]]
	if verdict["exit"]["signal"]:
		return 128 + signal_number(verdict["exit"]["signal"])
	return verdict["exit"]["code"]


def signal_number(name):
	match = re.fullmatch(r"SIGRTMIN\+(\d+)|signal (\d+)", name)
	if match:
		return signal.SIGRTMIN + int(match.group(1)) if match.group(1) else int(match.group(2))
	return int(signal.Signals[name])
