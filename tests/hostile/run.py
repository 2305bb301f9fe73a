#!/usr/bin/python3
"""Attacks on bailiff, each with a control that wins: without a supervisor ("alone"), or against a build of bailiff that only
checks and lets the call go on ("check-only"). What wins nothing without bailiff proves nothing about bailiff.

	run.py                                  the short form, as one of the scripts of `make check`: prints TAP
	run.py --build DIR --tries N [-k TEXT]  the long form (`make hostile N=100000`): prints a table, and started as root does
	                                        everything a second time as an ordinary user

Each attack runs on all processors and on one of them. A win, a hang, an end before the end or a control that wins nothing
is a failure."""

import argparse
import hashlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))

SHORT_TRIES, SHORT_KILLS, LONG_KILLS, PATIENCE = 300, 40, 200, 100
CONTROL_TRIES, CONTROL_ROUNDS = 60000, 20
LOADER = b"/lib64/ld-linux-x86-64.so.2"
EVERYBODY_RUNS = 0o755
WITHOUT_LANDLOCK = ("--landlock", "off") # which would stand behind a decision that was got round


class Attack:
	"""`policy`: what is added to the policy of all, `bind` to its addresses; `connect`: instead of its addresses. `kills`: bailiff ends
	the run at the first try that would win."""

	def __init__(self, name, program=None, more=(), control="check-only", policy=None, kills=False, tries=None, services=False,
		     connect=None, limits=None, mode="deny", bind=()):
		self.name, self.program, self.more, self.control = name, program or name, list(more), control
		self.policy, self.kills, self.services, self.connect = policy or {}, kills, services, connect
		self.limits, self.mode, self.bind = limits or {}, mode, list(bind)
		self.tries = tries or (lambda tries: tries)


def fewer(part, most):
	return lambda tries: max(1, min(tries // part, most))


def attacks():
	yield Attack("string_flip")
	yield Attack("string_flip, own filter", "string_flip", ["filtered"])
	yield Attack("shared_flip")
	yield Attack("link_swap")
	yield Attack("link_swap, own filter", "link_swap", ["filtered"])
	yield Attack("folder_flip, descriptor", "folder_flip", ["descriptor"])
	yield Attack("folder_flip, current", "folder_flip", ["current"])
	yield Attack("descriptor_flip")
	yield Attack("connect_flip", more=["ALLOWED", "BARRED"], services=True)
	for call in ("sendto", "sendmsg", "sendmmsg"):
		yield Attack(f"send_flip, {call}", "send_flip", ["ALLOWED", "BARRED", call], services=True)
	yield Attack("socket_flip", more=["ALLOWED", "BARRED"], services=True, connect=["tcp:127.0.0.1:ALLOWED", "udp:127.0.0.1:BARRED"])
	yield Attack("unix_swap", services=True)
	yield Attack("own_socket", control="alone", services=True, policy={"write": ["b/**"]}, bind=["unix:@ARENA"])
	yield Attack("unix_wait", control="alone", services=True, tries=fewer(10, 3000))
	yield Attack("listen_trick", more=["FREE", "BARRED"], control="alone", services=True)
	yield Attack("source_route", more=["ALLOWED", "BARRED"], control="alone", services=True)
	yield Attack("exec_swap, link", "exec_swap", ["link"], kills=True, tries=fewer(3, 10000))
	yield Attack("exec_swap, rename", "exec_swap", ["rename"], kills=True, tries=fewer(3, 10000))
	yield Attack("interpreter_swap", kills=True, tries=fewer(3, 10000))
	yield Attack("interpreter_swap, fixed", "interpreter_swap", ["b/fixed"], kills=True, tries=fewer(3, 10000))
	yield Attack("folder_rename", control="alone", policy={"deny": ["tree/*/deep/secret"], "read": ["tree/**"], "write": ["tree/**"]})
	yield Attack("page_edge", control="alone")
	yield Attack("page_attack", control="alone", policy={"allow": ["shmget"], "write": ["/proc/self/mem"], "read": ["/proc/self/mem"]})
	yield Attack("page_attack, with a limit", "page_attack", control="alone", limits={"memory": "512M"},
		policy={"allow": ["shmget"], "write": ["/proc/self/mem"], "read": ["/proc/self/mem"]})
	yield Attack("page_attack, denied calls", "page_attack", control="alone", mode="log", policy={"allow": ["shmget"],
		"stop": ["mmap", "munmap", "mremap", "mprotect", "madvise"], "write": ["/proc/self/mem"], "read": ["/proc/self/mem"]})
	yield Attack("foreign_call", control="alone")
	yield Attack("exec_tricks", control="alone")
	yield Attack("unreadable", control="alone")
	yield Attack("filter_stack", control="alone")
	yield Attack("listener", control="alone")
	yield Attack("untraced", control="alone")
	yield Attack("inject_call", control="alone", policy={"read": ["/proc/self/task/*/syscall"]})
	yield Attack("signals", control="alone", policy={"read": ["/proc/*/stat"]})
	yield Attack("async_signal", control="alone")
	yield Attack("starve", control="alone")
	yield Attack("hang", control="alone", tries=fewer(10, 3000))
	yield Attack("fork_bomb", control="alone")
	yield Attack("kill_race", control=None, services=True, tries=fewer(2, 5000))


def merged(*policies):
	"""Adds up the lists of paths and system calls."""
	lists = {}
	for policy in policies:
		for key, entries in policy.items():
			lists.setdefault(key, []).extend(entries)
	return lists


class Arena:
	"""A folder with what is allowed (a/), what is barred (b/), what may be written (work/), and the programs for it."""

	def __init__(self, attack, services):
		self.folder = harness.fresh(attack.program.replace("_", "")[:8])
		self.attack, self.services, self.free_port = attack, services, free_port()
		for name in ("a", "b", "work"):
			os.mkdir(self.path(name))
		self.write("a/file", b"allowed\n")
		self.write("b/file", b"barred\n")
		self.trees()
		self.programs()
		if services:
			services.open(self.folder)

	def path(self, name):
		return os.path.join(self.folder, name)

	def write(self, name, content, mode=0o644):
		with open(self.path(name), "wb") as file:
			file.write(content)
		os.chmod(self.path(name), mode)

	def trees(self):
		for number in range(1, 11) if self.attack.program == "folder_rename" else ():
			os.makedirs(self.path(f"tree/{number}/plain"))
			os.makedirs(self.path(f"tree/{number}/deep"))
			self.write(f"tree/{number}/deep/secret", b"barred\n")

	def programs(self):
		mark = program_bytes("mark")
		for name, content in (("a/program", read("/bin/true")), ("b/program", mark), ("work/good", read("/bin/true")), ("work/bad", mark)):
			self.write(name, content, EVERYBODY_RUNS)
		if self.attack.program == "unreadable":
			self.write("a/unreadable", program_bytes("unreadable"), 0o111)
		if self.attack.program == "interpreter_swap":
			content = program_bytes("interpreter_swap")
			self.write("a/program", content.replace(LOADER, b"work/loader".ljust(len(LOADER), b"\0"), 1), EVERYBODY_RUNS)
			self.write("b/loader", read(LOADER.decode()), EVERYBODY_RUNS)
			self.write("b/fixed", program_bytes("fixed_loader"), EVERYBODY_RUNS)

	def policy(self):
		good = hashlib.sha256(read(self.path("work/good"))).hexdigest()
		base = {"read": ["a/**", "work/**"], "write": ["work/**"],
			"execute": [f"{HOSTILE}/*", "a/**", "work/good", {"path": "work/program", "sha256": good}]}
		lists = merged(base, self.attack.policy)
		calls = {"allow": lists.pop("allow", []), "deny": lists.pop("stop", [])}
		network = {"bind": [f"127.0.0.1:{self.free_port}"],
			"connect": [f"unix:{self.path('a/socket')}", f"unix:{self.path('a/datagram')}"]}
		if self.services:
			network["connect"] += [f"127.0.0.1:{self.services.ports[0]}", f"[::1]:{self.services.ports[0]}"]
		network["bind"] += [entry.replace("ARENA", self.folder) for entry in self.attack.bind]
		if self.attack.connect:
			network["connect"] = [self.with_ports(entry) for entry in self.attack.connect]
		return harness.write_policy(self.folder, on_violation=self.attack.mode, network=network, syscalls=calls,
			paths={key: [self.whole(entry) for entry in entries] for key, entries in lists.items()},
			limits={"wall": f"{PATIENCE * 20}s", "cpu": "none", "processes": "none", "threads": "none", "memory": "none", **self.attack.limits})

	def whole(self, entry):
		if isinstance(entry, dict):
			return {**entry, "path": self.whole(entry["path"])}
		return entry if entry.startswith("/") else self.path(entry)

	def marks(self):
		try:
			return os.stat(self.path("work/ran")).st_size
		except FileNotFoundError:
			return 0

	def with_ports(self, entry):
		for name, port in zip(("ALLOWED", "BARRED"), self.services.ports):
			entry = entry.replace(name, str(port))
		return entry

	def more(self):
		names = dict(zip(("ALLOWED", "BARRED"), self.services.ports)) if self.services else {}
		return [str({**names, "FREE": self.free_port}.get(word, word)) for word in self.attack.more]

	def remove(self):
		if self.services:
			self.services.close()
		shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
	with socket.socket() as found:
		found.bind(("127.0.0.1", 0))
		return found.getsockname()[1]


def read(path):
	with open(path, "rb") as file:
		return file.read()


def program_bytes(name):
	return read(os.path.join(HOSTILE, name))


class Services:
	"""What stands outside of every run: two ports of 127.0.0.1 and the sockets a/… and b/…, which answer with their word."""

	def __init__(self):
		self.arrived = 0 # datagrams at the barred port
		self.sockets = []
		pairs = [self.port(which) for which in (0, 1)]
		self.ports = [port for port, _ in pairs]

	def port(self, which):
		while True:
			stream, datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
			stream.bind(("127.0.0.1", 0))
			port = stream.getsockname()[1]
			try:
				datagram.bind(("127.0.0.1", port))
			except OSError:
				continue
			stream.listen(1024)
			self.serve(self.accept, stream, b"")
			self.serve(self.count, datagram, which)
			return port, stream

	def open(self, folder):
		for name, word in (("a", b"allowed"), ("b", b"barred")):
			stream, datagram = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
			for kind, opened in (("socket", stream), ("datagram", datagram)):
				opened.bind(f"{folder}/{name}/{kind}")
				os.chmod(f"{folder}/{name}/{kind}", 0o777)
				self.sockets.append(opened)
			stream.listen(1024)
			self.serve(self.accept, stream, word)
			self.serve(self.answer, datagram, word)
		abstract = socket.socket(socket.AF_UNIX)
		abstract.bind(f"\0{folder}")
		self.sockets.append(abstract)
		abstract.listen(1024)
		self.serve(self.accept, abstract, b"barred")

	def close(self):
		for opened in self.sockets:
			try:
				opened.shutdown(socket.SHUT_RDWR)
			except OSError:
				pass
			opened.close()
		self.sockets = []

	def serve(self, function, *arguments):
		threading.Thread(target=function, args=arguments, daemon=True).start()

	def accept(self, stream, word):
		while True:
			try:
				peer, _ = stream.accept()
			except OSError:
				return
			with peer:
				try:
					peer.sendall(word)
				except OSError:
					pass

	def count(self, datagram, which):
		while True:
			datagram.recv(16)
			self.arrived += which

	def answer(self, datagram, word):
		while True:
			try:
				data, sender = datagram.recvfrom(1 << 18)
			except OSError:
				return
			if sender and data:
				try:
					datagram.sendto(word, sender)
				except OSError:
					pass
			if not data:
				return


class Outcome:
	def __init__(self, wins=0, tried=0, problems=()):
		self.wins, self.tried, self.problems, self.seconds = wins, tried, list(problems), 0.0

	def add(self, other):
		self.wins += other.wins
		self.tried += other.tried
		self.problems += other.problems
		self.seconds += other.seconds
		return self

	def text(self):
		return f"{self.wins} of {self.tried}"


def on(processors):
	return lambda: os.sched_setaffinity(0, processors)


def start(arena, bailiff, tries, enough, processors):
	program = [os.path.join(HOSTILE, arena.attack.program), str(tries), str(enough), arena.folder]
	command = program + ["under" if bailiff else "alone"] + arena.more()
	if bailiff:
		command = [bailiff, *harness.arguments(arena.folder, command, arena.policy(), WITHOUT_LANDLOCK)[1:]]
	return subprocess.Popen(command, cwd=arena.folder, env=harness.ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
		stderr=subprocess.PIPE, start_new_session=True, preexec_fn=on(processors))


def survivors(arena):
	return [pid for pid in harness.processes_with(arena.folder)]


def who_is(pid):
	try:
		with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat, open(f"/proc/{pid}/cmdline", "rb") as words:
			return f"left behind: {stat.read()[:60]} {words.read()[:200]}"
	except OSError:
		return f"left behind: {pid}"


def end_survivors(arena):
	"""Again and again: what is killed may just have made another one."""
	def nobody_is_left():
		for pid in survivors(arena):
			try:
				os.kill(pid, signal.SIGKILL)
			except ProcessLookupError:
				pass
		return not survivors(arena)
	harness.wait_for(nobody_is_left)


def judge(arena, bailiff, code, stdout, stderr):
	"""What the run says about itself, and what it left behind."""
	outcome = Outcome()
	lines = stdout.decode(errors="replace").splitlines()
	found = lines[-1].split(": wins ") if lines and ": wins " in lines[-1] else None
	verdict = harness.verdict(arena.folder) if bailiff else {}
	killed = arena.attack.kills and bailiff and verdict.get("rule") == "policy_blocked_execute"
	if found:
		outcome.wins, outcome.tried = (int(word) for word in found[1].split(" of "))
		outcome.problems += lines[:-1]
	elif killed:
		outcome.tried = max(1, verdict["usage"]["processes"]["total"] - 2)
	else:
		outcome.problems.append(f"no last line: exit {code}, {stdout[-300:]!r} {stderr[-600:]!r} {verdict.get('error')}")
	if arena.attack.program == "exec_swap":
		outcome.wins = arena.marks()
	if arena.attack.program == "fork_bomb":
		outcome.wins = len(survivors(arena))
	if bailiff and verdict.get("error"):
		outcome.problems.append(f"error {verdict['error']}")
	return outcome


def run_once(attack, services, bailiff, tries, enough, processors):
	arena = Arena(attack, services if attack.services else None)
	before = services.arrived
	began = time.monotonic()
	patience = PATIENCE + tries // 200 # on a busy host a try takes its time
	code, stdout, stderr = harness.finish(start(arena, bailiff, tries, enough, processors), patience)
	outcome = judge(arena, bailiff, code, stdout, stderr)
	outcome.seconds = time.monotonic() - began
	if code == "hangs":
		outcome.problems.append("hangs")
	if attack.program == "send_flip":
		time.sleep(0.02)
		outcome.wins = services.arrived - before
	end_survivors(arena)
	arena.remove()
	return outcome


def run_bailiff(attack, services, tries, processors):
	"""A run that bailiff has ended early is begun again until there were enough tries, or enough time."""
	outcome, end = Outcome(), time.monotonic() + (1 if tries <= SHORT_TRIES else tries / 100)
	while outcome.tried < tries and not outcome.problems:
		outcome.add(run_once(attack, services, harness.BAILIFF, tries, 0, processors))
		if time.monotonic() > end or not attack.kills:
			break
	return outcome


def run_control(attack, services, tries, short, processors):
	"""On a busy host the two sides of a race may not meet: a control may try more often."""
	if not attack.control:
		return None
	bailiff = CHECK_ONLY if attack.control == "check-only" else None
	most = SHORT_TRIES * 5 if attack.program == "send_flip" else CONTROL_TRIES # it cannot know when it has won
	for _ in range(CONTROL_ROUNDS):
		outcome = run_once(attack, services, bailiff, most if short else tries, 1 if short else 0, processors)
		if outcome.wins and not outcome.problems:
			break
	return outcome


# ---- bailiff itself is ended ---------------------------------------------------------------------------------------------------


def end_at_random(arena, command, number, rand):
	"""Starts the command, ends its first process after a moment: how many of the others are left?"""
	process = subprocess.Popen(command, cwd=arena.folder, env=harness.ENVIRONMENT, stdin=subprocess.DEVNULL,
		stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
	time.sleep(rand.uniform(0, 0.05))
	process.send_signal(number)
	try:
		process.wait(10)
	except subprocess.TimeoutExpired:
		process.kill()
		process.wait()
		return 1, [f"hangs after signal {number}"]
	harness.wait_for(lambda: not survivors(arena), 2)
	left = [who_is(pid) for pid in survivors(arena)]
	end_survivors(arena)
	return len(left) > 0, left


def kill_bailiff(services, kills, number):
	"""The tree of a bailiff that was killed at any moment must be gone with it; of one that was asked to end, the workspace too."""
	attack = Attack("kill_race", services=True)
	arena = Arena(attack, services)
	program = [os.path.join(HOSTILE, "kill_race"), "100000", "0", arena.folder, "under"]
	supervised = harness.arguments(arena.folder, program, arena.policy(), WITHOUT_LANDLOCK)
	rand, began = random.Random(1), time.monotonic()
	outcome, control = Outcome(), Outcome()
	for _ in range(kills):
		won, problems = end_at_random(arena, supervised, number, rand)
		outcome.add(Outcome(won, 1, problems))
	outcome.seconds = time.monotonic() - began
	left = os.listdir(harness.ENVIRONMENT["TMPDIR"])
	if number == signal.SIGTERM and left:
		outcome.problems.append(f"left behind: {left}")
	for name in left:
		shutil.rmtree(os.path.join(harness.ENVIRONMENT["TMPDIR"], name), ignore_errors=True)
	while control.tried < 20 and not control.wins:
		won, _ = end_at_random(arena, ["/bin/sh", "-c", '"$@" & wait', "sh", *program[:-1], "alone"], number, rand)
		control.add(Outcome(won, 1))
	arena.remove()
	return control, [outcome]


# ---- what is printed -----------------------------------------------------------------------------------------------------------


class Table:
	"""Rows for a person, or TAP for tests/run.py."""

	def __init__(self, tap, title):
		self.tap, self.failed = tap, 0
		if not tap:
			print(f"{title}\n{'attack':<26}{'control wins':>20}{'under bailiff':>20}{'on one processor':>20}{'seconds':>10}")

	def row(self, name, control, outcomes):
		problems = [problem for outcome in outcomes for problem in outcome.problems]
		if control is not None:
			problems += [f"control: {problem}" for problem in control.problems]
			if not control.wins:
				problems.append("the control wins nothing")
		if any(outcome.wins for outcome in outcomes):
			problems.append("the attack wins")
		texts = [outcome.text() for outcome in outcomes] + [""]
		seconds = sum(outcome.seconds for outcome in outcomes) + (control.seconds if control else 0)
		self.failed += bool(problems)
		if self.tap:
			told = f"control wins {control.text()}" if control else "no control"
			lost = ", on one processor ".join(texts[:len(outcomes)])
			self.tap.ok(f"{name}: {told}; under bailiff {lost} ({seconds:.1f} s)", not problems, *problems)
			return
		print(f"{name:<26}{control.text() if control else '-':>20}{texts[0]:>20}{texts[1]:>20}{seconds:>10.1f}"
			f"{'  FAILS' if problems else ''}", flush=True)
		for problem in problems:
			print(f"    {problem}", flush=True)


def run_all(table, tries, short, pattern):
	services = Services()
	every = os.sched_getaffinity(0)
	sets = [every, {max(every)}] if len(every) > 1 else [every]
	table.row("a build that only checks", None, [check_builds()])
	for attack in attacks():
		if pattern not in attack.name:
			continue
		number = attack.tries(tries)
		control = run_control(attack, services, number, short, every)
		table.row(attack.name, control, [run_bailiff(attack, services, number, processors) for processors in sets])
	for name, number in (("SIGKILL to bailiff", signal.SIGKILL), ("SIGTERM to bailiff", signal.SIGTERM)):
		if pattern in name:
			table.row(name, *kill_bailiff(services, SHORT_KILLS if short else LONG_KILLS, number))


def check_builds():
	"""The switch that makes the controls win is in their build alone."""
	versions = [subprocess.run([path, "--version"], capture_output=True, check=True).stdout for path in (harness.BAILIFF, CHECK_ONLY)]
	shipped = b"check-only" in versions[0] or b"check-only" in read(harness.BAILIFF)
	return Outcome(int(shipped or b"check-only" not in versions[1]), 1)


def reachable(account, build, scratch):
	"""A checkout below a closed folder cannot be seen by anybody else: then a copy of what is needed is used."""
	as_account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
	probe = subprocess.run(["test", "-x", f"{build}/bailiff", "-a", "-r", __file__], check=False, **as_account)
	if probe.returncode == 0:
		return __file__, build
	for name in ("bailiff", "check-only/bailiff", "tests/hostile"):
		target = os.path.join(scratch, "build", name)
		os.makedirs(os.path.dirname(target), exist_ok=True)
		(shutil.copytree if os.path.isdir(f"{build}/{name}") else shutil.copy)(f"{build}/{name}", target)
	for name in ("hostile", "scripts"):
		shutil.copytree(os.path.join(HERE, "..", name), os.path.join(scratch, "tests", name))
	subprocess.run(["chmod", "-R", "a+rX", scratch], check=True)
	return os.path.join(scratch, "tests", "hostile", "run.py"), os.path.join(scratch, "build")


def run_as_user(options):
	account = pwd.getpwnam(os.environ.get("BAILIFF_TEST_USER", "nobody"))
	with tempfile.TemporaryDirectory(prefix="bailiff-user-", ignore_cleanup_errors=True) as scratch:
		os.chmod(scratch, 0o755)
		script, build = reachable(account, options.build, scratch)
		environment = {key: value for key, value in os.environ.items() if key not in ("S", "B", "T")}
		done = subprocess.run([sys.executable, script, "--build", build, "--tries", str(options.tries), "-k", options.k], cwd="/",
			check=False, env=environment, user=account.pw_uid, group=account.pw_gid, extra_groups=[])
	return done.returncode


def arguments():
	parser = argparse.ArgumentParser(usage=__doc__)
	parser.add_argument("--build")
	parser.add_argument("--tries", type=int)
	parser.add_argument("-k", default="", metavar="TEXT")
	options = parser.parse_args()
	if options.build:
		options.build = os.path.abspath(options.build)
		os.environ.update({"B": f"{options.build}/bailiff", "T": f"{options.build}/tests/targets"})
	return options


def main(options):
	os.makedirs(harness.ENVIRONMENT["TMPDIR"], exist_ok=True)
	if not options.tries:
		tap = harness.Tap()
		run_all(Table(tap, ""), SHORT_TRIES, True, options.k)
		tap.end()
	table = Table(None, f"as {pwd.getpwuid(os.geteuid()).pw_name}, {options.tries} tries")
	run_all(table, options.tries, options.tries <= SHORT_TRIES, options.k)
	return max(table.failed > 0, run_as_user(options) if os.geteuid() == 0 else 0)


OPTIONS = arguments()
with tempfile.TemporaryDirectory(prefix="bailiff-hostile-", ignore_cleanup_errors=True) as SCRATCH:
	os.environ.setdefault("S", os.path.realpath(SCRATCH))
	# Attacks are on the decisions; behind them Landlock would hide what one has lost.
	os.environ["BAILIFF_TEST_LANDLOCK"] = "off"
	import harness
	BUILD = os.path.dirname(harness.BAILIFF)
	HOSTILE, CHECK_ONLY = f"{BUILD}/tests/hostile", f"{BUILD}/check-only/bailiff"
	sys.exit(main(OPTIONS))
