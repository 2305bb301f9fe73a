#!/usr/bin/python3
"""Races between the moment in which a call is judged and the moment in which it takes effect.

Calls that change names or metadata are done by the supervisor, programs are verified once they are loaded, and what opens
and other calls point to is pinned: none may lose a single try. Each race is first shown to be real, by the same program without bailiff."""

import os
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))

import harness  # noqa: E402
from harness import TARGETS, fresh, native, run, verdict  # noqa: E402

TRIES = int(os.environ.get("BAILIFF_TEST_RACES", "4000"))
ROUNDS = 20
tap = harness.Tap()
RACE = f"{TARGETS}/race_play"
WAYS = {"string": "the name is changed", "link": "a link on the way is changed"}


def arena(call):
	"""Folders a and b with the object that the call works on."""
	folder = fresh("race")
	for name in "ab":
		os.mkdir(os.path.join(folder, name))
		if call != "mkdir":
			with open(os.path.join(folder, name, "object"), "w", encoding="ascii") as file:
				file.write("two")
			os.chmod(os.path.join(folder, name, "object"), 0o600)
	return folder


def changed(call, path):
	"""Has the call taken effect on the object that it must not reach?"""
	try:
		status = os.lstat(path)
	except FileNotFoundError:
		return call == "unlink"
	if call == "mkdir":
		return True
	return (call == "chmod" and stat.S_IMODE(status.st_mode) != 0o600) or (call == "truncate" and status.st_size != 3)


def words(way, call, folder, tries):
	if way == "string":
		return [RACE, way, call, f"{folder}/a/object", f"{folder}/b/object", str(tries)]
	return [RACE, way, call, f"{folder}/a", f"{folder}/b", str(tries), f"{folder}/link"]


def run_until_met(folder, command, policy):
	"""Whether the two sides of a race meet within one run is luck: begun again until the verdict says that they did."""
	for _ in range(ROUNDS):
		found = run(folder, command, policy, seconds=120)
		if verdict(folder)["rule"]:
			break
	return found


def race(way, call):
	name = f"{call}, {WAYS[way]}"
	folder = arena(call)
	native(words(way, call, folder, 20000), folder)
	tap.ok(f"{name}: the race is real without bailiff", changed(call, f"{folder}/b/object"))
	folder = arena(call)
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"}, paths={
		"execute": [f"{TARGETS}/*"], "read": [f"{folder}/a/**"], "write": [f"{folder}/a/**", f"{folder}/link", f"{folder}/link.next"]})
	code, stdout, stderr = run_until_met(folder, words(way, call, folder, TRIES), policy)
	tap.ok(f"{name}: {TRIES} tries, none reaches outside", not changed(call, f"{folder}/b/object"), stdout, stderr)
	found = verdict(folder)
	tap.equal(f"{name}: it could reach inside", stdout, f"race: {call} answered ok: 1\n".encode(), code, stderr, found)
	tap.equal(f"{name}: the attempts are on record", found["rule"], "policy_blocked_write", found)


def race_open(way):
	"""A file is read; what is inside says "two", what is outside says "out"."""
	name = f"open, {WAYS[way]}"
	folder = arena("open")
	with open(f"{folder}/b/object", "w", encoding="ascii") as file:
		file.write("out")
	own = [f"{folder}/link", f"{folder}/link.next"]
	inside, outside = ((f"{folder}/a", f"{folder}/b") if way == "link" else (f"{folder}/a/object", f"{folder}/b/object"))
	command = [RACE, way, "open", inside, outside, "TRIES"] + own[:1] * (way == "link")
	_, stdout, _ = native([word.replace("TRIES", "50000") for word in command], folder)
	tap.ok(f"{name}: the race is real without bailiff", b"outside: 1" in stdout, stdout)
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"}, paths={
		"execute": [f"{TARGETS}/*"], "read": [f"{folder}/a/**"], "write": own})
	code, stdout, stderr = run_until_met(folder, [word.replace("TRIES", str(TRIES)) for word in command], policy)
	tap.equal(f"{name}: {TRIES} tries, none reads what is outside, some what is inside", stdout,
		b"race: open answered ok: 1, read outside: 0\n", code, stderr)
	tap.equal(f"{name}: the attempts are on record", verdict(folder)["rule"], "policy_blocked_read", verdict(folder))


def race_exec():
	folder = fresh("exec")
	for name, code in (("good", "/bin/true"), ("bad", "/bin/false")):
		shutil.copy(code, os.path.join(folder, name))
	os.mkdir(os.path.join(folder, "d"))
	command = [RACE, "exec", f"{folder}/good", f"{folder}/bad", "400", f"{folder}/d"]
	_, stdout, _ = native(command, folder)
	tap.equal("execve, the program is swapped: the race is real without bailiff", stdout, b"race: good ran: 1, bad ran: 1\n")
	# Both may be executed by their own names, or neither might get the name that is raced for.
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"}, paths={
		"execute": [f"{TARGETS}/*", f"{folder}/good", f"{folder}/bad", {"path": f"{folder}/d/program", "sha256": sha256(f"{folder}/good")}],
		"write": [f"{folder}/**"]})
	code, stdout, stderr = run_until_met(folder, command, policy)
	tap.ok("execve, the program is swapped: the other content never runs", b"bad ran: 1" not in stdout, stdout, stderr, code)
	tap.equal("execve, the program is swapped: the attempts are on record", verdict(folder)["rule"], "policy_blocked_execute", verdict(folder))


def race_owner(call):
	folder = fresh("owner")
	_, stdout, _ = native([RACE, "owner", call, str(50 * TRIES)], folder)
	tap.ok(f"owner of a descriptor by {call}: the race is real without bailiff", b"outside: 1" in stdout, stdout)
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"})
	code, stdout, stderr = run_until_met(folder, [RACE, "owner", call, str(TRIES)], policy)
	tap.equal(f"owner of a descriptor by {call}: never a process outside", stdout, b"race: own: 1, outside: 0\n", code, stderr)
	tap.equal(f"owner of a descriptor by {call}: the attempts are on record", verdict(folder)["rule"], "policy_blocked_syscall")


def race_number():
	folder = arena("link")
	command = [RACE, "number", f"{folder}/a/object", f"{folder}/b/object", f"{folder}/a/new"]
	_, stdout, _ = native([*command, "20000"], folder)
	tap.equal("linkat, a descriptor's number is reused: the race is real without bailiff", stdout,
	          b"race: inside linked: 1, outside linked: 1\n")
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"}, paths={
		"execute": [f"{TARGETS}/*"], "read": [f"{folder}/a/**"], "write": [f"{folder}/a/**"]})
	code, stdout, stderr = run(folder, [*command, str(TRIES)], policy, seconds=120)
	tap.equal(f"linkat, a descriptor's number is reused: {TRIES} tries, none links the other file", stdout,
	          b"race: inside linked: 1, outside linked: 0\n", code, stderr)
	tap.equal("linkat, a descriptor's number is reused: the attempts are on record", verdict(folder)["rule"], "policy_blocked_write")


def race_pidfd():
	folder = fresh("pidfd")
	policy = harness.write_policy(folder, on_violation="deny", limits={"wall": "100s", "cpu": "100s"})
	with subprocess.Popen(["sleep", "200"]) as victim:
		run(folder, [RACE, "pidfd", str(victim.pid), str(TRIES)], policy, seconds=120)
		tap.equal("a signal by pidfd: never to a process outside", victim.poll(), None)
		tap.equal("a signal by pidfd: the attempts are on record", verdict(folder)["rule"], "policy_blocked_signal")
		native([RACE, "pidfd", str(victim.pid), str(50 * TRIES)], folder)
		victim.kill()
		tap.equal("a signal by pidfd: the race is real without bailiff", victim.wait(), -signal.SIGTERM)


def sha256(path):
	import hashlib
	with open(path, "rb") as file:
		return hashlib.sha256(file.read()).hexdigest()


for race_way in ("string", "link"):
	for race_call in ("mkdir", "chmod", "unlink", "truncate"):
		race(race_way, race_call)
	race_open(race_way)
race_exec()
race_number()
for race_call in ("fcntl", "ioctl"):
	race_owner(race_call)
race_pidfd()
tap.end()
