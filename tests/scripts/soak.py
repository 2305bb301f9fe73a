#!/usr/bin/python3
"""Many runs leave nothing behind, runs at the same time do not see each other, and an interrupted run is gone.

	soak.py                        the short form, as one of the scripts of `make check`
	soak.py --build DIR --runs N   the long form (`make soak N=10000`), with 64 at once and 200 interruptions

What is orphaned below this process becomes its child (PR_SET_CHILD_SUBREAPER): a process or a zombie that a run leaves
behind cannot be overlooked."""

import argparse
import ctypes
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

SHORT = {"runs": 100, "together": 16, "moments": 40}
LONG = {"together": 64, "moments": 200}
PR_SET_CHILD_SUBREAPER = 36
PYTHON = "/usr/bin/python3"
WORKSPACE = re.compile(r"bailiff-\w{6}")

# ---- what is there ---------------------------------------------------------------------------------------------------------


def listing(path):
	return set(os.listdir(path)) if os.path.isdir(path) else set()


def system_v():
	"""(kind, id) of every segment, semaphore set and queue."""
	found = set()
	for kind in ("shm", "sem", "msg"):
		with open(f"/proc/sysvipc/{kind}", encoding="ascii") as file:
			found |= {(kind, line.split()[1]) for line in file.readlines()[1:]}
	return found


def unix_names():
	"""Names of bound unix sockets that are ours to make."""
	with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
		return set(re.findall(r"@bailiff-soak\S*", file.read()))


def on_the_host():
	"""What others on the host change as well."""
	return {
		"/dev/shm": listing("/dev/shm"),
		"/dev/mqueue": listing("/dev/mqueue"),
		"System V": system_v(),
		"unix sockets": unix_names(),
	}


def of_our_own():
	"""What only the runs of this script can have left."""
	return {
		"descriptors of the caller": len(os.listdir("/proc/self/fd")),
		"processes and zombies": harness.children_of(os.getpid()),
		"temporary files": sorted(listing(harness.ENVIRONMENT["TMPDIR"])),
	}


def left_on_the_host(before, seconds=40):
	"""New since `before` and still there whenever one looks: what other programs make meanwhile goes away again."""
	left = {key: now - before[key] for key, now in on_the_host().items()}

	def nothing():
		now = on_the_host()
		for key in left:
			left[key] &= now[key]
		return not any(left.values())

	harness.wait_for(nothing, seconds)
	return {key: sorted(names) for key, names in left.items() if names}


def check_nothing_left(name, own, host):
	tap.equal(f"{name}: descriptors, processes, zombies and temporary files are as before", of_our_own(), own)
	tap.equal(f"{name}: nothing is left in /dev/shm, System V IPC, message queues and socket names", left_on_the_host(host), {})


# ---- in a row --------------------------------------------------------------------------------------------------------------


def kinds(folder):
	"""(options, command, exit status, rule): each way in which a run can end, and what could be left by it."""
	shell = "/bin/sh", "-c"
	return [
		((), ["/bin/true"], 0, None),
		((), [*shell, "mkdir -p $HOME/a/b; echo x > $HOME/a/b/c; chmod 0 $HOME/a; "
			f"case $HOME in {harness.ENVIRONMENT['TMPDIR']}/*) exit 3 ;; esac"], 3, "runtime_error_exit"),
		((), ["/bin/cat", f"{folder}/secret"], 122, "policy_blocked_read"),
		(("--wall", "60ms"), [*shell, "setsid sleep 60 & sleep 60"], 124, "timeout_wall"),
		(("--output", "100"), ["/usr/bin/yes"], 123, "resource_limit_output"),
		((), [*shell, "setsid sleep 60 >/dev/null 2>&1 & exit 0"], 0, None),
		(("--put", "secret:in", "--get", "made"), ["/bin/cp", "in", "made"], 0, None),
		(("--capture", "--events", "events"), [*shell, "/bin/echo out; kill -9 $$"], 137, "runtime_error_signal"),
		((), ["/nonexistent"], 127, None),
		(("--on-violation", "deny"), [*shell, f"cat {folder}/secret; true"], 122, "policy_blocked_read"),
	]


def in_a_row(runs):
	folder = harness.fresh("row")
	with open(f"{folder}/secret", "w", encoding="ascii") as file:
		file.write("secret\n")
	every = kinds(folder)
	policy = harness.write_policy(folder)
	harness.run(folder, ["/bin/true"], policy)
	own, host, wrong = of_our_own(), on_the_host(), []
	files = listing(folder) | {"made", "events"}
	for number in range(runs):
		options, command, code, rule = every[number % len(every)]
		ended, stdout, stderr = harness.run(folder, command, policy, options, seconds=60)
		found = harness.verdict(folder)
		if (ended, found["rule"]) != (code, rule):
			wrong.append((number, command, ended, found["status"], found["rule"], found["error"], stdout[-200:], stderr[-200:]))
	tap.equal(f"{runs} runs in a row: each ended as it should", wrong[:10], [])
	tap.equal(f"{runs} runs in a row: no other file beside them", listing(folder) - files, set())
	check_nothing_left(f"{runs} runs in a row", own, host)


# ---- at once ---------------------------------------------------------------------------------------------------------------

# Says where it lives; is told of a neighbour's; tries to reach into it; and looks at its own place once more when all have tried.
NEIGHBOUR = """
import json, os, signal, socket, sys
number, home = sys.argv[1], os.environ["HOME"]
with open(home + "/mine", "w") as file:
    file.write(number)
server = socket.socket(socket.AF_UNIX)
server.bind("\\0bailiff-soak-" + number + sys.argv[2])
server.listen(100)
print(json.dumps({"home": home, "pid": os.getpid()}), flush=True)
other = json.loads(input())

def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return error.errno

def connect():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\\0bailiff-soak-" + other["number"] + sys.argv[2])

place = "/proc/%d/" % other["pid"]
print(json.dumps({
    "lists where workspaces lie": attempt(lambda: os.listdir(home + "/../..")),
    "lists the other's workspace": attempt(lambda: os.listdir(other["home"])),
    "reads the other's file": attempt(lambda: open(other["home"] + "/mine").close()),
    "writes the other's file": attempt(lambda: open(other["home"] + "/mine", "w").close()),
    "adds a file there": attempt(lambda: open(other["home"] + "/" + number, "w").close()),
    "removes the other's file": attempt(lambda: os.unlink(other["home"] + "/mine")),
    "writes the other's output": attempt(lambda: open(place + "fd/1", "w").close()),
    "reads the other's environment": attempt(lambda: open(place + "environ").close()),
    "reads the other's memory": attempt(lambda: open(place + "mem").close()),
    "signals the other": attempt(lambda: os.kill(other["pid"], signal.SIGTERM)),
    "connects to the other's socket": attempt(connect),
}), flush=True)
input()
print(json.dumps({"inside": os.listdir(home), "mine": open(home + "/mine").read()}), flush=True)
"""
EACCES, EPERM, ECONNREFUSED = 13, 1, 111
REFUSED = {
	"lists where workspaces lie": EACCES, "lists the other's workspace": EACCES, "reads the other's file": EACCES,
	"writes the other's file": EACCES, "adds a file there": EACCES, "removes the other's file": EACCES,
	"writes the other's output": EACCES, "reads the other's environment": EACCES, "reads the other's memory": EACCES,
	"signals the other": EPERM, "connects to the other's socket": ECONNREFUSED,
}


class Neighbour:
	def __init__(self, number, mark, options=()):
		self.number, self.folder = number, harness.fresh(f"neighbour{number}")
		name = f"unix:@bailiff-soak-{number}{mark}"
		policy = harness.write_policy(self.folder, extends="python")
		self.process = harness.start(self.folder, [PYTHON, "-I", "-S", "-c", NEIGHBOUR, str(number), mark], policy, stdin=subprocess.PIPE,
			options=["--on-violation", "deny", "--wall", "300s", "--cpu", "60s", "--bind", name, *options])

	def hear(self):
		line = self.process.stdout.readline()
		return json.loads(line) if line else {"ended": harness.finish(self.process), "verdict": harness.verdict(self.folder)}

	def tell(self, message):
		try:
			self.process.stdin.write(json.dumps(message).encode() + b"\n")
			self.process.stdin.flush()
		except BrokenPipeError:
			pass # hear() tells why it ended

	def end(self):
		code, stdout, stderr = harness.finish(self.process, 60)
		return code, stdout, stderr, harness.verdict(self.folder)


def places_differ(places):
	return all("home" in place for place in places) and len({place["home"] for place in places}) == len(places)


def tell_neighbours(runs, places):
	for index, run in enumerate(runs):
		other = (index + 1) % len(runs)
		run.tell({**places[other], "number": str(runs[other].number)})


def at_once(together):
	own, host, mark = of_our_own(), on_the_host(), f"-{os.getpid()}"
	runs = [Neighbour(number, mark) for number in range(together)]
	places = [run.hear() for run in runs]
	tap.ok(f"{together} at once: each has its own workspace", places_differ(places), places)
	tell_neighbours(runs, places)
	wrong = [(run.number, found) for run, found in [(run, run.hear()) for run in runs] if found != REFUSED]
	tap.equal(f"{together} at once: none reaches another", wrong[:3], [])
	for run in runs:
		run.tell("all have tried")
	wrong = [(run.number, found) for run, found in [(run, run.hear()) for run in runs]
		if found != {"inside": ["mine"], "mine": str(run.number)}]
	tap.equal(f"{together} at once: each still has what it wrote, and nothing else", wrong[:3], [])
	ends = [(run, run.end()) for run in runs]
	wrong = [(run.number, *end) for run, end in ends if (end[0], end[1], end[2]) != (122, b"", b"") or end[3]["exit"]["code"] != 0]
	tap.equal(f"{together} at once: each got its own output alone, and ended", wrong[:3], [])
	wrong = [end[3]["violations"]["total"] for _, end in ends if end[3]["violations"]["total"] < len(REFUSED)]
	tap.equal(f"{together} at once: each attempt is in the verdict", wrong, [])
	check_nothing_left(f"{together} at once", own, host)


def shared_with_the_host():
	"""The names of abstract sockets are the host's: what a policy lists there may belong to another run."""
	mark = f"-shared-{os.getpid()}"
	runs = [Neighbour(0, mark, ["--connect", f"unix:@bailiff-soak-1{mark}"]), Neighbour(1, mark)]
	tell_neighbours(runs, [run.hear() for run in runs])
	found = [run.hear() for run in runs]
	tap.equal("an abstract socket of another run is reached where the policy lists it", found,
		[{**REFUSED, "connects to the other's socket": "done"}, REFUSED])
	for run in runs:
		run.tell("end")
	tap.equal("and both runs end", [run.end()[0] for run in runs], [122, 122])


# ---- interrupted -----------------------------------------------------------------------------------------------------------

TREE = "mkdir -p $HOME/a/b; i=0; while [ $i -lt 12 ]; do echo $i > $HOME/a/b/$i; setsid sleep 60 >/dev/null & /bin/true; " \
	"i=$((i+1)); done; cp in made; echo done"


def start_tree(folder):
	return harness.start(folder, ["/bin/sh", "-c", TREE], options=["--put", "in", "--get", "made", "--events", "events", "--wall", "60s"])


def usual_duration(folder):
	durations = []
	for _ in range(3):
		begin = time.monotonic()
		harness.finish(start_tree(folder), 60)
		durations.append(time.monotonic() - begin)
	return statistics.median(durations)


def reap_orphans():
	"""Takes what has ended; returns what still lives."""
	try:
		while os.waitpid(-1, os.WNOHANG)[0]:
			pass
	except ChildProcessError:
		return []
	return harness.children_of(os.getpid())


def lines_of(path):
	"""Problems of a file of JSON Lines."""
	if not os.path.exists(path):
		return []
	problems = []
	with open(path, "rb") as file:
		for line in file.read().split(b"\n")[:-1]:
			try:
				json.loads(line)["when_ms"]
			except (ValueError, KeyError) as error:
				problems.append((str(error), line[:200]))
	return problems


class Interruption:
	"""One run, ended at one moment."""

	def __init__(self, number, moment):
		self.folder, self.signal, self.moment = harness.fresh("moment"), number, moment
		with open(f"{self.folder}/in", "w", encoding="ascii") as file:
			file.write("in\n")

	def run(self):
		self.lasted = None # seconds, where it ended by itself
		begin, process = time.monotonic(), start_tree(self.folder)
		try:
			process.wait(self.moment)
			self.lasted = time.monotonic() - begin
		except subprocess.TimeoutExpired:
			process.send_signal(self.signal)
		self.code, self.stdout, self.stderr = harness.finish(process, 60)
		self.at_once = harness.children_of(os.getpid())
		self.workspaces = listing(harness.ENVIRONMENT["TMPDIR"])
		return self

	def problems(self):
		"""What is not as it should be."""
		killed = self.code == -signal.SIGKILL
		if self.code not in (0, -self.signal):
			yield f"ended with {self.code}: {self.stderr[-300:]}"
		if self.at_once and not killed:
			yield f"left {self.at_once} behind"
		if not harness.wait_for(lambda: not reap_orphans()):
			yield f"{reap_orphans()} live on"
		if self.workspaces and not killed:
			yield f"left {self.workspaces} behind"
		if any(not WORKSPACE.fullmatch(name) for name in self.workspaces):
			yield f"made {self.workspaces}"
		yield from lines_of(f"{self.folder}/events")
		yield from self.wrong_files()

	def wrong_files(self):
		"""Beside a verdict that is whole or not there, and a copy that is whole or not there, nothing is left."""
		names = listing(self.folder) - {"in", "policy.json", "events", "verdict.json", "made"}
		if names:
			yield f"left {names}"
		if os.path.exists(f"{self.folder}/made"):
			with open(f"{self.folder}/made", encoding="ascii") as file:
				if file.read() != "in\n":
					yield "half a copy"
		if os.path.exists(f"{self.folder}/verdict.json"):
			found = harness.verdict(self.folder)
			if found["status"] != "completed" and found["exit"].get("interrupted") != signal.Signals(self.signal).name:
				yield f"verdict {found['status']} {found['exit']} {found['error']}"


def not_cleaned():
	"""After SIGKILL the workspace stays, and `doctor --clean` finds it; what it leaves is a problem."""
	done = subprocess.run([harness.BAILIFF, "doctor", "--clean"], env=harness.ENVIRONMENT, stdin=subprocess.DEVNULL,
		capture_output=True, text=True, check=False)
	left = listing(harness.ENVIRONMENT["TMPDIR"])
	return [(done.returncode, done.stdout, done.stderr, left)] if left else []


def interrupted(moments):
	own, host, numbers = of_our_own(), on_the_host(), (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
	first = Interruption(signal.SIGTERM, 0)
	duration, seed = usual_duration(first.folder), random.randrange(1 << 32)
	dice, wrong, early, kept, index = random.Random(seed), [], 0, 0, 0
	while early < moments and index < 5 * moments: # a moment behind the end of its run is not one
		index += 1
		run = Interruption(numbers[index % len(numbers)], dice.uniform(0, 1.1 * duration)).run()
		early += run.code == -run.signal
		duration = run.lasted or duration # a host may be busy now and idle then
		kept += bool(run.workspaces)
		wrong += [(index, run.signal.name, f"after {run.moment * 1000:.1f} ms", problem) for problem in run.problems()]
		wrong += not_cleaned() if run.workspaces else []
	name = f"{moments} interruptions"
	tap.equal(f"{name} (TERM, INT, HUP, KILL; of {index} runs, {kept} workspaces left by KILL and cleaned)", wrong[:10], [], f"seed {seed}")
	tap.equal(f"{name}: all of them before the end of their run", early, moments)
	check_nothing_left(name, own, host)


# ---- which -----------------------------------------------------------------------------------------------------------------


def arguments():
	parser = argparse.ArgumentParser(usage=__doc__)
	parser.add_argument("--build")
	parser.add_argument("--runs", type=int)
	options = parser.parse_args()
	if options.build:
		build = os.path.abspath(options.build)
		os.environ.update({"B": f"{build}/bailiff", "T": f"{build}/tests/targets"})
	return options


def main(options):
	sizes = {"runs": options.runs, **LONG} if options.runs else SHORT
	in_a_row(sizes["runs"])
	at_once(sizes["together"])
	shared_with_the_host()
	interrupted(sizes["moments"])
	tap.end()


OPTIONS = arguments()
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
	sys.exit("Bail out! prctl(PR_SET_CHILD_SUBREAPER) failed")
with tempfile.TemporaryDirectory(prefix="bailiff-soak-", ignore_cleanup_errors=True) as SCRATCH:
	os.environ.setdefault("S", os.path.realpath(SCRATCH))
	import harness
	tap = harness.Tap()
	main(OPTIONS)
