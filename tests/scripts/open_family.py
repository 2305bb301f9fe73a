#!/usr/bin/python3
"""Opens of every kind give what they give without bailiff: the same errno, or the same kind, mode, size, flags and content.

The target open_play prints a line for each of its cases. Its folder is allowed, so that bailiff has nothing to refuse; how it
finds out what a name means differs with the policy and the options, and each of these ways is held against the same lines."""

import os
import shutil
import subprocess

import harness
from harness import TARGETS, fresh, native, run, verdict

tap = harness.Tap()
LEAST = 200 # fewer lines mean that the target has not come to its end

# Name, policy keys, options, cases that are answered otherwise on purpose.
WAYS = (
	("", {}, (), ()),
	("with events", {}, ("--events", "/dev/null"), ()),
	# Names on the way are compared with such entries, which another root would hide (openat2, RESOLVE_IN_ROOT: ENOSYS).
	("with a deny entry", {"deny": ["/nothing/**"]}, (), ("in root",)),
	("with a hide entry", {"hide": ["/nothing"]}, (), ("in root",)),
	("with listed metadata", {"stat": "listed"}, (), ()),
)


def emptied(folder):
	"""Away with what the target has made, folders without any permission included."""
	if os.path.isdir(folder):
		subprocess.run(["chmod", "-R", "u+rwx", folder], check=True, stderr=subprocess.DEVNULL)
		shutil.rmtree(folder)
	os.mkdir(folder)


def cases(output):
	return dict(line.split(": ", 1) for line in output.decode(errors="replace").splitlines() if ": " in line)


def policy(folder, arena, paths):
	lists = {"execute": [f"{TARGETS}/*"], "read": [folder, arena, f"{arena}/**", "/", "/dev/fd/*", "/proc/self/**"], "write": [arena, f"{arena}/**"]}
	return harness.write_policy(folder, paths={**lists, **paths}, on_violation="deny", limits={"wall": "100s", "cpu": "100s"})


FOLDER = fresh("open")
ARENA = os.path.join(FOLDER, "arena")
COMMAND = [f"{TARGETS}/open_play", ARENA]


def compare(way, paths, options, others):
	emptied(ARENA)
	code, stdout, stderr = run(FOLDER, COMMAND, policy(FOLDER, ARENA, paths), options, seconds=100, cwd=ARENA)
	found = cases(stdout)
	tap.ok(f"{way or 'all cases'}: the target comes to its end", code == 0, code, stderr, verdict(FOLDER)["first_failure"])
	for name, text in ALONE.items():
		if not way:
			tap.equal(name, found.get(name), text)
	differ = [f"{name}: {found.get(name)}, expected {text}" for name, text in ALONE.items() if found.get(name) != text and not name.startswith(others)]
	if way:
		tap.ok(f"{way}: {len(ALONE)} cases", not differ, *differ)


emptied(ARENA)
ALONE = cases(native(COMMAND, ARENA, 100)[1])
tap.ok(f"without bailiff: {len(ALONE)} cases", len(ALONE) >= LEAST)
for way_name, way_paths, way_options, way_others in WAYS:
	compare(way_name, way_paths, way_options, way_others or ("\0",))
emptied(ARENA)
tap.end()
