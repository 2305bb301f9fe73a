"""What the scripts share: TAP lines, runs of bailiff, and finding what a run left behind. Not a test itself."""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time
import uuid

BAILIFF, TARGETS, SCRATCH = os.environ["B"], os.environ["T"], os.environ["S"]
LANDLOCK = ["--landlock", os.environ["BAILIFF_TEST_LANDLOCK"]] if os.environ.get("BAILIFF_TEST_LANDLOCK") else []
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": SCRATCH, "LANG": "C.UTF-8", "TMPDIR": os.path.join(SCRATCH, "tmp")}


# Started by nohup or in the background, signals are ignored, bailiff leaves them ignored, and no test of them would say a thing.
for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL),
		(signal.SIGTERM, signal.SIG_DFL)):
	if signal.getsignal(number) == signal.SIG_IGN:
		signal.signal(number, default)


class Tap:
	def __init__(self):
		self.count = self.failed = 0
		os.makedirs(ENVIRONMENT["TMPDIR"], exist_ok=True)

	def ok(self, name, passed, *detail):
		self.count += 1
		self.failed += not passed
		print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
		if not passed:
			for line in "\n".join(map(str, detail)).splitlines():
				print(f"# {line}")
		sys.stdout.flush()
		return passed

	def equal(self, name, actual, expected, *detail):
		return self.ok(name, actual == expected, f"got      {actual!r}", f"expected {expected!r}", *detail)

	def skip(self, name, reason):
		self.count += 1
		print(f"ok {self.count} - {name} # SKIP {reason}")

	def end(self):
		print(f"1..{self.count}")
		sys.exit(1 if self.failed else 0)


def fresh(name):
	"""An empty folder of its own below the scratch folder."""
	path = os.path.join(SCRATCH, f"{name}-{uuid.uuid4().hex[:8]}")
	os.makedirs(path)
	return path


def write_policy(folder, **keys):
	"""A policy that extends default and may run the targets; `keys` replace or add top-level keys."""
	policy = {"extends": "default", "paths": {"execute": [f"{TARGETS}/*"]}}
	policy.update(keys)
	path = os.path.join(folder, "policy.json")
	with open(path, "w", encoding="utf-8") as file:
		json.dump(policy, file, indent=2)
	return path


def arguments(folder, command, policy=None, options=()):
	return [BAILIFF, "run", "-p", policy or write_policy(folder), "-o", os.path.join(folder, "verdict.json"), *LANDLOCK, *options, "--", *command]


def start(folder, command, policy=None, options=(), **popen):
	settings = {"cwd": folder, "env": ENVIRONMENT, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
		"stderr": subprocess.PIPE, "start_new_session": True}
	settings.update(popen)
	return subprocess.Popen(arguments(folder, command, policy, options), **settings)


def finish(process, seconds=20):
	"""(return code, standard output, standard error); "hangs" as the code when it does not end."""
	try:
		stdout, stderr = process.communicate(timeout=seconds)
	except subprocess.TimeoutExpired:
		process.kill()
		stdout, stderr = process.communicate()
		return "hangs", stdout, stderr
	return process.returncode, stdout, stderr


def run(folder, command, policy=None, options=(), seconds=20, **popen):
	return finish(start(folder, command, policy, options, **popen), seconds)


def verdict(folder):
	try:
		with open(os.path.join(folder, "verdict.json"), encoding="utf-8") as file:
			return json.load(file)
	except (OSError, ValueError) as error:
		return {"status": f"no verdict: {error}", "rule": None, "exit": {}, "error": None, "first_failure": None}


def native(command, folder, seconds=30):
	"""The same command without bailiff."""
	done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
	return done.returncode, done.stdout, done.stderr


def wait_for(condition, seconds=10):
	"""Waits until `condition()` holds; says whether it did."""
	end = time.monotonic() + seconds
	while time.monotonic() < end:
		if condition():
			return True
		time.sleep(0.01)
	return bool(condition())


def processes_with(text):
	"""Ids of the processes that carry `text` in their command line, this one left out."""
	found = []
	for pid in filter(str.isdigit, os.listdir("/proc")):
		try:
			with open(f"/proc/{pid}/cmdline", "rb") as file:
				if text.encode() in file.read() and int(pid) != os.getpid():
					found.append(int(pid))
		except OSError:
			continue
	return found


def children_of(pid):
	try:
		with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
			return [int(child) for child in file.read().split()]
	except OSError:
		return []


def with_call_refused(number, errno):
	"""For preexec_fn: from here on the system call fails with errno."""
	def install():
		libc = ctypes.CDLL(None, use_errno=True)
		program = b"".join(struct.pack("HBBI", *line) for line in (
			(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7FFF0000)))
		buffer = ctypes.create_string_buffer(program)
		fprog = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
		if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0):
			os._exit(99)
	return install
