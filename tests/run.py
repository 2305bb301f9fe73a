#!/usr/bin/python3
"""The runner behind `make check`.

    tests/run.py [GROUP...] [-k TEXT] [--build DIR]

Without a GROUP all of them run. The last line is "N passed, N failed"; the exit status is 0 only when nothing failed and
something passed. build/check.tap holds every result. Started as root, cases and scripts run twice: as root and as an
ordinary user. BAILIFF_TEST_NO_SKIP=1 turns a skipped test into a failure; BAILIFF_TEST_LANDLOCK=off is passed to
every run.
"""

import argparse
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from runner.report import Report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ORDINARY_USER = os.environ.get("BAILIFF_TEST_USER", "nobody")
FUZZ_INPUTS = os.environ.get("BAILIFF_TEST_FUZZ_INPUTS", "20000")
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -U_FORTIFY_SOURCE"
ASAN = {"ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
SANITIZED_CASES = 40
LANDLOCK_OFF_CASES = 120
# Leaks are the sanitizers' to find: a forked child that ends at once would be blamed for what its parent still holds.
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=no"]


class Run:
	def __init__(self, options, report):
		self.report = report
		self.pattern = options.k
		self.build = os.path.abspath(options.build)
		self.label = "root" if os.geteuid() == 0 else "user"

	def wanted(self, source):
		return not self.pattern or self.pattern in source

	def programs(self, pattern):
		return [path for path in sorted(glob.glob(pattern)) if os.access(path, os.X_OK) and os.path.isfile(path)]

	def tap_program(self, source, arguments, environment=None, cwd=ROOT):
		"""Runs a program that prints TAP; its standard error is shown among its details."""
		if not self.wanted(source):
			return
		process = subprocess.Popen(arguments, cwd=cwd, env={**os.environ, **(environment or {})}, text=True,
			errors="backslashreplace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
		self.report.absorb(source, process.stdout, process.wait)
		self.report.finish_source(source)

	def command(self, source, name, arguments, environment=None):
		"""One result: does the command end with status 0?"""
		if not self.wanted(source):
			return True
		done = subprocess.run(arguments, cwd=ROOT, env={**os.environ, **(environment or {})}, text=True, check=False,
			errors="backslashreplace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
		passed = self.report.result(source, name, done.returncode == 0, f"status {done.returncode}\n{done.stdout[-6000:]}")
		self.report.finish_source(source)
		return passed

	def make(self, source, *arguments):
		make = [os.environ.get("MAKE", "make"), "-s", "--no-print-directory", f"-j{os.cpu_count()}"]
		clean = {key: "" for key in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
		return self.command(source, "builds", make + list(arguments), clean)

	def exists(self, what, found):
		if not found and not self.pattern:
			self.report.result(what, "is there", False, "nothing to run was found; build first: make all tests")
		return found

	# The groups, in the order in which they run.

	def unit(self):
		for path in self.exists("unit", self.programs(f"{self.build}/tests/unit/test_*")):
			self.tap_program(f"unit {os.path.basename(path)}", [path])

	def fuzz(self):
		for path in self.exists("fuzz", self.programs(f"{self.build}/tests/fuzz/fuzz_*")):
			self.command(f"fuzz {os.path.basename(path)}", f"survives {FUZZ_INPUTS} inputs", [path, FUZZ_INPUTS])

	def house(self):
		for path in self.programs(f"{ROOT}/tests/check_*"):
			self.script(path, f"house {os.path.basename(path)}", tempfile.gettempdir())
		with tempfile.TemporaryDirectory(prefix="bailiff-check-") as scratch:
			self.command("house bench", "measures every variant", [sys.executable, "bench/bench.py", "--build", self.build,
				"--rounds", "1", "--json", f"{scratch}/bench.json"])

	def cases(self):
		from runner.cases import Tools, run_all
		run_all(self.report, self.label, Tools(ROOT, self.build), self.pattern)

	def landlock(self):
		"""Some of the cases without a ruleset behind the decisions: nothing that is decided may depend on it."""
		from runner.cases import Tools, run_all
		tools = Tools(ROOT, self.build, landlock="off")
		run_all(self.report, self.label, tools, self.pattern, sample(tools.case_folder, LANDLOCK_OFF_CASES), "landlock-off cases")

	def scripts(self):
		folders = ("scripts", "hostile")
		for path in [path for folder in folders for path in self.programs(f"{ROOT}/tests/{folder}/*.[sp][hy]")]:
			with tempfile.TemporaryDirectory(prefix="bailiff-check-", ignore_cleanup_errors=True) as scratch:
				self.script(path, f"scripts[{self.label}] {os.path.basename(path)}", os.path.realpath(scratch))

	def script(self, path, source, scratch):
		environment = {"B": f"{self.build}/bailiff", "T": f"{self.build}/tests/targets", "S": scratch, "LANG": "C.UTF-8",
			"PYTHONDONTWRITEBYTECODE": "1"}
		interpreter = [sys.executable] if path.endswith(".py") else []
		self.tap_program(source, interpreter + [path], environment)

	def user(self):
		"""Cases and scripts once more as an ordinary user, in a process that has dropped to it for good."""
		if self.label != "root":
			return
		account = pwd.getpwnam(ORDINARY_USER)
		with tempfile.TemporaryDirectory(prefix="bailiff-user-", ignore_cleanup_errors=True) as scratch:
			os.chown(scratch, account.pw_uid, account.pw_gid)
			root, build = self.reachable(account, scratch)
			self.run_as(account, root, build, scratch)

	def reachable(self, account, scratch):
		"""A checkout below a closed home directory cannot be seen by anybody else: then a copy of it is tested."""
		probe = subprocess.run(["test", "-x", f"{self.build}/bailiff", "-a", "-r", f"{ROOT}/tests/run.py"], check=False,
			user=account.pw_uid, group=account.pw_gid, extra_groups=[])
		if probe.returncode == 0:
			return ROOT, self.build
		copy = os.path.join(scratch, "tree")
		shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "obj", "asan", "gcc", "clang"))
		subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
		return copy, os.path.join(copy, os.path.relpath(self.build, ROOT))

	def run_as(self, account, root, build, scratch):
		arguments = [sys.executable, f"{root}/tests/run.py", "--tap", "--build", build, "cases", "scripts"]
		environment = {"HOME": scratch, "TMPDIR": scratch, "USER": account.pw_name, "PATH": os.environ["PATH"],
			"LANG": "C.UTF-8", "BAILIFF_TEST_BOTH": "1"}
		environment.update({key: value for key, value in os.environ.items() if key.startswith("BAILIFF_TEST_")})
		process = subprocess.Popen(arguments + (["-k", self.pattern] if self.pattern else []), cwd="/", env=environment,
			user=account.pw_uid, group=account.pw_gid, extra_groups=[], text=True, errors="backslashreplace",
			stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
		source = f"as {account.pw_name}"
		self.report.absorb(source, process.stdout, process.wait)
		self.report.finish_source(source)

	def lint(self):
		self.command("lint cppcheck", "finds nothing in tracer/", ["cppcheck", "--quiet", "--std=c11", "--error-exitcode=1",
			"--enable=warning,portability,performance", "--library=tests/cppcheck.cfg",
			"--suppressions-list=tests/cppcheck.suppress", "-Itracer", "-D__x86_64__", "-D_GNU_SOURCE", "tracer"])
		scripts = shell_scripts()
		self.command("lint shellcheck", f"finds nothing in {len(scripts)} scripts", ["shellcheck", *scripts])
		pages = sorted(glob.glob(f"{ROOT}/man/*.[1-8]"))
		self.command("lint mandoc", f"finds nothing in {len(pages)} pages", ["mandoc", "-T", "lint", "-W", "warning", *pages])

	def gcc(self):
		self.make("gcc", f"B={self.build}/gcc", "EXTRA=-Werror", "all", "tests", "attacks")

	def clang(self):
		self.make("clang", f"B={self.build}/clang", "CC=clang", "EXTRA=-Werror", "all", "tests", "attacks")

	def valgrind(self):
		for path in self.exists("valgrind", self.programs(f"{self.build}/tests/unit/test_*")):
			self.tap_program(f"valgrind {os.path.basename(path)}", VALGRIND + [path])

	def asan(self):
		from runner.cases import Tools, run_all
		build = f"{self.build}/asan"
		if not self.make("asan", f"B={build}", f"EXTRA={SANITIZE}", "all", "units"):
			return
		leaks = {**ASAN, "ASAN_OPTIONS": ASAN["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")}
		for path in self.programs(f"{build}/tests/unit/test_*"):
			self.tap_program(f"asan {os.path.basename(path)}", [path], leaks)
		for path in self.programs(f"{build}/tests/fuzz/fuzz_*"):
			self.command(f"asan {os.path.basename(path)}", "survives 2000 inputs", [path, "2000"], leaks)
		tools = Tools(ROOT, self.build, ASAN, patience=4)
		tools.bailiff = f"{build}/bailiff"
		run_all(self.report, self.label, tools, self.pattern, sample(tools.case_folder, SANITIZED_CASES), "asan cases")


def sample(folder, count):
	"""A choice of cases, spread over all files."""
	from runner.cases import load
	every = [(file, raw["name"]) for file, raw in load(folder) if isinstance(raw, dict) and not raw.get("alone")]
	chosen = {name for _, name in every[::max(1, len(every) // count)]}
	return lambda raw: raw["name"] in chosen


def shell_scripts():
	patterns = ["tests/*.sh", "tests/scripts/*.sh", "tests/why/*.sh", "policies/*.sh", "policies/examples/*/*.sh", "bench/*.sh", ".ci/run"]
	return sorted(path for pattern in patterns for path in glob.glob(f"{ROOT}/{pattern}"))


GROUPS = ["unit", "fuzz", "house", "lint", "cases", "landlock", "scripts", "user", "gcc", "clang", "valgrind", "asan"]
NEED_TARGETS = {"cases", "landlock", "scripts", "user"}


def default_signals():
	"""Started by nohup or in the background, signals are ignored here, and would be in every program that is tested. One that is
	caught is as good as ignored, and has its default in what is started."""
	for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
		if signal.getsignal(number) == signal.SIG_IGN:
			signal.signal(number, lambda *_: None)


def main():
	parser = argparse.ArgumentParser(usage=__doc__)
	parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
	parser.add_argument("-k", metavar="TEXT")
	parser.add_argument("--build", default=f"{ROOT}/build")
	parser.add_argument("--tap", action="store_true")
	options = parser.parse_args()
	groups = options.groups or GROUPS
	if NEED_TARGETS.intersection(groups) and not glob.glob(f"{options.build}/tests/targets/*"):
		sys.exit(f"tests/run.py: the programs to be tested are not in {options.build}; build first: make all tests attacks")
	default_signals()
	# The runner's own language settings must not reach what it tests.
	os.environ["LC_ALL"] = "C.UTF-8"
	os.makedirs(options.build, exist_ok=True)
	report = Report(None if options.tap else f"{options.build}/check.tap", options.tap)
	run = Run(options, report)
	for group in groups:
		getattr(run, group)()
	if options.k and not options.tap and not report.sources:
		print(f"tests/run.py: nothing in {' '.join(groups)} has {options.k} in its name", file=sys.stderr)
	return report.end()


if __name__ == "__main__":
	sys.exit(main())
