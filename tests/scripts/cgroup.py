#!/usr/bin/python3
"""A cgroup of the run's own: that verdict and doctor say what is so, that it limits, and that nothing of it stays. What needs a
delegated one (BAILIFF_TEST_CGROUP) is skipped where there is none. Prints TAP."""

import glob
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from harness import BAILIFF, Tap, finish, fresh, run, start, verdict, wait_for  # noqa: E402

CGROUP = os.environ.get("BAILIFF_TEST_CGROUP", "")
HOG = ["/usr/bin/python3", "-B", "-c", "import sys; input(); kept = [b'a' * (1 << 20) for _ in range(int(sys.argv[1]))]; print(len(kept))"]
tap = Tap()


def enter():
	"""For preexec_fn: the cgroup has bailiff in it from the start, and nobody else."""
	with open(f"{CGROUP}/cgroup.procs", "w", encoding="ascii") as file:
		file.write("0")


def doctor(**options):
	done = subprocess.run([BAILIFF, "doctor", "--json"], capture_output=True, text=True, check=False, **options)
	report = json.loads(done.stdout)
	return report["cgroup"], [layer for layer in report["layers"] if layer["name"] == "cgroup v2"][0]


def used(folder):
	return verdict(folder)["envelope"]["engine"]["cgroup"]


def content(name):
	try:
		with open(f"{CGROUP}/{name}", encoding="ascii") as file:
			return file.read().split()
	except OSError as error:
		return error.strerror


def check_here():
	"""Wherever the tests run."""
	controllers, layer = doctor()
	folder = fresh("here")
	code, _, stderr = run(folder, ["/bin/true"])
	tap.equal("doctor and verdict name the same controllers", (code, used(folder)), (0, controllers), stderr)
	tap.equal("doctor's layer agrees, and nothing needs it", (layer["available"], layer["required"]), (controllers is not None, False), layer)


def why_not():
	"""Why what needs a delegated cgroup cannot be shown, or None."""
	if not CGROUP:
		return "BAILIFF_TEST_CGROUP names no cgroup"
	try:
		controllers, layer = doctor(preexec_fn=enter)
	except subprocess.SubprocessError:
		return f"{CGROUP} cannot be entered"
	return None if controllers == ["memory", "pids"] else f"{CGROUP}: {layer['detail']}"


def nothing_is_left(name):
	state = (glob.glob(f"{CGROUP}/bailiff-*"), content("cgroup.subtree_control"), content("cgroup.procs"))
	tap.equal(f"{name}: nothing of it stays", state, ([], [], []))


def check_limits():
	folder = fresh("limits")
	shown = "cd /sys/fs/cgroup/${0#*::} && cat memory.max memory.swap.max pids.max"
	code, stdout, stderr = run(folder, ["/bin/sh", "-c", f'set -- "$(grep ^0:: /proc/self/cgroup)"; exec /bin/sh -c \'{shown}\' "$1"'],
		options=["--memory", "64M", "--threads", "40", "--read", "/sys/fs/cgroup/**"], preexec_fn=enter)
	tap.equal("the run is in a cgroup with limits", (code, stdout.split()), (0, [b"88080384", b"0", b"80"]), stderr)
	tap.equal("and the verdict says so", used(folder), ["memory", "pids"])
	nothing_is_left("after a run")
	folder = fresh("unlimited")
	code, _, stderr = run(folder, ["/bin/true"], options=["--memory", "none", "--threads", "none"], preexec_fn=enter)
	tap.equal("without limits there is none", (code, used(folder)), (0, None), stderr)


def hog(folder, mebibytes, blind):
	"""bailiff's looks at the memory are made to stop before the program begins to take any, where `blind`."""
	process = start(folder, [*HOG, str(mebibytes)], options=["--memory", "64M"], stdin=subprocess.PIPE, preexec_fn=enter)
	events = f"{CGROUP}/bailiff-{process.pid}-*[!n]/memory.events"
	wait_for(lambda: glob.glob(events))
	if blind:
		process.send_signal(signal.SIGSTOP)
	process.stdin.write(b"\n")
	process.stdin.flush()
	if blind:
		found = [os.path.relpath(name, CGROUP) for name in glob.glob(events)]
		killed = found and wait_for(lambda: "oom_kill 0" not in " ".join(content(found[0])))
		tap.ok("the kernel ends what nobody looks at", killed, found, found and content(found[0]))
		process.send_signal(signal.SIGCONT)
	return finish(process)


def check_memory():
	folder = fresh("above")
	code, _, stderr = hog(folder, 400, True)
	document = verdict(folder)
	tap.equal("and the verdict names the limit", (code, document["rule"]), (123, "resource_limit_memory"), stderr)
	tap.ok("with the number", "bytes of memory in use in the run's cgroup" in document["summary"], document["summary"])
	nothing_is_left("after the kernel ended it")
	folder = fresh("below")
	code, stdout, stderr = hog(folder, 40, False)
	tap.equal("below the limit it completes", (code, stdout, verdict(folder)["status"]), (0, b"40\n", "completed"), stderr)
	nothing_is_left("after a large run")


def check_interrupted():
	folder = fresh("interrupted")
	process = start(folder, ["/bin/sleep", "60"], preexec_fn=enter)
	tap.ok("a run that lasts has its two", wait_for(lambda: len(glob.glob(f"{CGROUP}/bailiff-{process.pid}-*")) == 2))
	process.terminate()
	tap.equal("an interrupted one ends", finish(process)[0], -signal.SIGTERM)
	nothing_is_left("after an interruption")


def check_others():
	with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=enter) as other:
		controllers, layer = doctor(preexec_fn=enter)
		tap.ok("with others in it, it is left alone", controllers is None and "other processes" in layer["detail"], layer)
		folder = fresh("others")
		code, _, stderr = run(folder, ["/bin/true"], preexec_fn=enter)
		tap.equal("and the run is as any other", (code, used(folder), content("cgroup.procs")), (0, None, [str(other.pid)]), stderr)
		other.stdin.close()


check_here()
REASON = why_not()
if REASON:
	tap.skip("a run in a cgroup of its own", f"{REASON} (optional)")
else:
	for check in (check_limits, check_memory, check_interrupted, check_others):
		check()
tap.end()
