#!/usr/bin/python3
"""Signals to bailiff, to its parts and to the target: the tree ends, the verdict says so, nothing is left."""

import os
import signal
import subprocess
import time

import harness
from harness import ENVIRONMENT, TARGETS, children_of, finish, fresh, processes_with, start, verdict, wait_for

tap = harness.Tap()


def sleeping_tree(folder):
	"""A run of a shell with a child and a grandchild in another session; returns it once all are there, with a mark."""
	mark = f"{1000 + time.monotonic_ns() % 100000}.{os.getpid()}"
	shell = f"sleep {mark} & setsid sleep {mark} & sleep {mark} & echo $HOME; exec sleep {mark}"
	process = start(folder, ["/bin/sh", "-c", shell], options=["--wall", "60s"])
	home = process.stdout.readline().decode().strip()
	wait_for(lambda: len(processes_with(f"sleep\0{mark}")) >= 4)
	return process, home, mark


def check_all_gone(name, mark, home, seconds=5):
	tap.ok(f"{name}: no process is left", wait_for(lambda: not processes_with(mark), seconds), processes_with(mark))
	if home:
		tap.ok(f"{name}: the workspace is removed", wait_for(lambda: not os.path.lexists(home), seconds), home)


def ended_by(number):
	name = signal.Signals(number).name
	folder = fresh(name)
	process, home, mark = sleeping_tree(folder)
	tap.ok(f"{name}: the workspace was there", os.path.isdir(home), home)
	process.send_signal(number)
	code, _, stderr = finish(process)
	tap.equal(f"{name}: bailiff dies of it", code, -number, stderr)
	found = verdict(folder)
	tap.equal(f"{name}: the verdict says so", found["exit"].get("interrupted"), name, found)
	check_all_gone(name, mark, home)


def twice():
	folder = fresh("twice")
	process, home, mark = sleeping_tree(folder)
	process.send_signal(signal.SIGTERM)
	process.send_signal(signal.SIGINT)
	code, _, stderr = finish(process)
	tap.ok("two signals: bailiff dies of one of them", code in (-signal.SIGTERM, -signal.SIGINT), code, stderr)
	tap.ok("two signals: one verdict", verdict(folder)["exit"].get("interrupted") in ("SIGTERM", "SIGINT"), verdict(folder))
	check_all_gone("two signals", mark, home)


def killed():
	folder = fresh("killed")
	process, _, mark = sleeping_tree(folder)
	process.kill()
	finish(process)
	check_all_gone("SIGKILL to bailiff", mark, None)


def tracer_killed():
	folder = fresh("tracer")
	process, home, mark = sleeping_tree(folder)
	tracers = children_of(process.pid)
	for tracer in tracers:
		os.kill(tracer, signal.SIGKILL)
	code, _, stderr = finish(process)
	tap.equal("SIGKILL to the tracer: exit 125", code, 125, tracers, stderr)
	tap.ok("SIGKILL to the tracer: the verdict has an error", verdict(folder)["error"] is not None, verdict(folder))
	check_all_gone("SIGKILL to the tracer", mark, home)


def stopped_and_continued():
	folder = fresh("stopped")
	process = start(folder, ["/bin/sh", "-c", "echo begun; sleep 0.3; echo ended"])
	process.stdout.readline()
	process.send_signal(signal.SIGSTOP)
	time.sleep(0.2)
	process.send_signal(signal.SIGCONT)
	code, stdout, stderr = finish(process)
	tap.equal("SIGSTOP and SIGCONT to bailiff: the run goes on", (code, stdout), (0, b"ended\n"), stderr)


def target_of(process, program):
	"""The process of the run that executes `program`."""
	found = []

	def search():
		pending = children_of(process.pid)
		found.clear()
		while pending:
			pid = pending.pop()
			pending += children_of(pid)
			try:
				with open(f"/proc/{pid}/comm", encoding="ascii") as file:
					if file.read().strip() == program:
						found.append(pid)
			except OSError:
				continue
		return found

	wait_for(lambda: search() or process.poll() is not None)
	return found[0] if found else None


def begun(folder, shell, options=()):
	"""A run of a shell that has said that it runs: its own code is at work, not its start."""
	process = start(folder, ["/bin/sh", "-c", f"echo begun; {shell}"], options=options)
	process.stdout.readline()
	return process, target_of(process, "sh")


def signals_to_the_target():
	for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, 137)):
		folder = fresh("target")
		process, target = begun(folder, "while :; do :; done")
		os.kill(target, number)
		ended, _, stderr = finish(process)
		found = verdict(folder)
		tap.equal(f"{number.name} to the target from outside", (ended, found["status"], found["exit"].get("signal")),
			(code, "runtime_error", number.name), stderr, found)
	process, target = begun(fresh("target"), "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	os.kill(target, signal.SIGSTOP)
	stopped = wait_for(lambda: state_of(target) in "Tt")
	os.kill(target, signal.SIGCONT)
	tap.equal("SIGSTOP and SIGCONT to the target: it stops, and ends well", (stopped, finish(process)[0]), (True, 0))


def stop_and_continue(process, delay_ms):
	"""Stops and continues the target `delay_ms` after its process is there."""
	while process.poll() is None:
		targets = [target for tracer in children_of(process.pid) for target in children_of(tracer)]
		if targets:
			time.sleep(delay_ms / 1000)
			try:
				os.kill(targets[0], signal.SIGSTOP)
				time.sleep(delay_ms % 1 / 100)
				os.kill(targets[0], signal.SIGCONT)
			except ProcessLookupError:
				pass
			return


def stops_while_it_starts():
	"""A stop may come at any moment of the start: before the execve, behind it, and in the midst of each open."""
	ended = []
	for attempt in range(60):
		process = start(fresh("start"), ["/bin/sh", "-c", "/bin/true; echo ran"], options=["--wall", "3s"])
		stop_and_continue(process, attempt % 20 * 0.31)
		ended.append(finish(process, 12)[:2])
	tap.equal("60 runs, each stopped and continued while it starts", [end for end in ended if end != (0, b"ran\n")], [])


def chain_of_programs(name, count, receiver, *numbers):
	"""Programs that execute one another, while `receiver(process)` gets these signals all the time."""
	folder = fresh("chain")
	with open(os.path.join(folder, "chain.sh"), "w", encoding="ascii") as file:
		file.write('echo begun; [ "$1" -eq 0 ] || exec /bin/sh "$0" $(($1 - 1)); echo ended\n')
	process = start(folder, ["/bin/sh", "chain.sh", str(count)], "shell", ["--wall", "60s"])
	process.stdout.readline()
	target = receiver(process)
	while target and process.poll() is None:
		try:
			for number in numbers:
				os.kill(target, number)
		except ProcessLookupError:
			break
		time.sleep(0.003) # more often, and an idle host gets on with nothing else
	code, stdout, stderr = finish(process, 60)
	tap.equal(f"{count} programs, one executing the next, {name} meanwhile", (code, stdout[-6:]), (0, b"ended\n"), stderr, verdict(folder))


def signals_between_programs():
	"""Each execve borrows the thread for calls of bailiff's own, which a stop takes back: they are made again. Front wakes the
	tracer with SIGUSR1, which must not reach it while it answers such a call."""
	chain_of_programs("stopped and continued", 150, lambda process: target_of(process, "sh"), signal.SIGSTOP, signal.SIGCONT)
	chain_of_programs("their tracer woken", 400, lambda process: children_of(process.pid)[0], signal.SIGUSR1)


def state_of(pid):
	try:
		with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
			return file.read().rpartition(") ")[2][0]
	except OSError:
		return "gone"


def inherited_dispositions():
	def ignore():
		signal.signal(signal.SIGCHLD, signal.SIG_IGN)
		signal.signal(signal.SIGPIPE, signal.SIG_IGN)

	def block():
		signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1})

	for name, prepare in (("ignored", ignore), ("blocked", block)):
		command = ["/bin/sh", "-c", "/bin/echo child; echo ended"]
		done = subprocess.run(command, env=ENVIRONMENT, preexec_fn=prepare, capture_output=True, timeout=10, check=False)
		code, stdout, stderr = finish(start(fresh(name), command, preexec_fn=prepare), 10)
		tap.equal(f"started with SIGCHLD {name}, as without bailiff", (code, stdout), (done.returncode, done.stdout), stderr)
	folder = fresh("wall")
	code, _, stderr = finish(start(folder, ["/bin/sleep", "30"], options=["--wall", "500ms"], preexec_fn=block), 10)
	tap.equal("started with SIGALRM blocked, the wall limit fires", (code, verdict(folder)["rule"]), (124, "timeout_wall"), stderr)


def children_it_did_not_make():
	folder = fresh("foreign")
	command = " ".join(f"'{word}'" for word in harness.arguments(folder, ["/bin/sh", "-c", "sleep 0.4; echo ended"]))
	done = subprocess.run(["/bin/sh", "-c", f"sleep 0.1 & exec {command}"], cwd=folder, env=ENVIRONMENT, capture_output=True,
		timeout=20, check=False, stdin=subprocess.DEVNULL)
	tap.equal("started with a child that it did not make", (done.returncode, done.stdout), (0, b"ended\n"), done.stderr)


def ended_behind_vfork():
	"""The parent of a vfork child waits where no signal reaches it: whoever waits for the parent first hangs."""
	folder = fresh("vfork")
	process = start(folder, [f"{TARGETS}/use_play", "vfork"])
	said = process.stdout.readline()
	process.send_signal(signal.SIGINT)
	code, _, stderr = finish(process)
	tap.equal("SIGINT while a vfork child holds its parent", (said, code, verdict(folder)["exit"].get("interrupted")),
		(b"waiting\n", -signal.SIGINT, "SIGINT"), stderr)


def first_process():
	"""In a PID namespace of its own bailiff is process 1, to which orphans of others come."""
	folder = fresh("first")
	namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
	if subprocess.run([*namespace, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0:
		tap.skip("as process 1", "no PID namespace can be made here (optional)")
		return
	command = " ".join(f"'{word}'" for word in harness.arguments(folder, ["/bin/sh", "-c", "sleep 0.4; exit 7"]))
	done = subprocess.run([*namespace, "/bin/sh", "-c", f"(setsid sh -c 'sleep 0.1; exit 3' &); exec {command}"], cwd=folder,
		env=ENVIRONMENT, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL)
	tap.equal("as process 1, with an orphan that is not its own", (done.returncode, verdict(folder)["rule"]), (7, "runtime_error_exit"),
		done.stderr)


for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
	ended_by(signal_number)
twice()
killed()
tracer_killed()
stopped_and_continued()
signals_to_the_target()
stops_while_it_starts()
signals_between_programs()
inherited_dispositions()
children_it_did_not_make()
ended_behind_vfork()
first_process()
tap.end()
