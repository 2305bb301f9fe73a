#!/usr/bin/python3
"""Files in and out where a case cannot look: what is left when a run is interrupted, modes, and a folder that is kept."""

import hashlib
import os
import re
import shutil
import signal
import stat

import harness
from harness import ENVIRONMENT, finish, fresh, run, start, verdict

tap = harness.Tap()


def workspaces():
	return sorted(name for name in os.listdir(ENVIRONMENT["TMPDIR"]) if name.startswith("bailiff-"))


def large_copy():
	"""More than one buffer, and bytes of every kind."""
	folder = fresh("large")
	content = bytes(range(256)) * 1500 + b"end"
	with open(os.path.join(folder, "in"), "wb") as file:
		file.write(content)
	code, _, stderr = run(folder, ["/bin/cp", "in", "made"], options=["--put", "in", "--get", "made:out"])
	tap.equal("a larger file: the run is completed", code, 0, stderr)
	with open(os.path.join(folder, "out"), "rb") as file:
		copied = file.read()
	found = verdict(folder)["artifacts"][0]
	tap.ok("a larger file: the copy is the original", copied == content, len(copied), len(content))
	tap.equal("a larger file: its hash", found["sha256"], hashlib.sha256(content).hexdigest())
	tap.equal("a larger file: its size", found["bytes"], len(content))


def modes():
	"""A program does not choose who may execute or read what it made."""
	folder = fresh("modes")
	kept = os.path.join(folder, "kept")
	with open(kept, "w", encoding="utf-8") as file:
		file.write("old\n")
	os.chmod(kept, 0o640)
	shell = "umask 0; echo a > new; chmod 4777 new; echo b > kept; chmod 4777 kept"
	code, _, stderr = run(folder, ["/bin/sh", "-c", shell], options=["--get", "new", "--get", "kept"], umask=0o027)
	tap.equal("modes: the run is completed", code, 0, stderr)
	tap.equal("modes: a new file", oct(stat.S_IMODE(os.stat(os.path.join(folder, "new")).st_mode)), "0o640")
	tap.equal("modes: a replaced one", oct(stat.S_IMODE(os.stat(kept).st_mode)), "0o640")


def interrupted(number):
	"""Nothing half written, no temporary file, no workspace; an old result stays."""
	name = signal.Signals(number).name
	folder = fresh(name)
	with open(os.path.join(folder, "old"), "w", encoding="utf-8") as file:
		file.write("old\n")
	before = workspaces()
	command = ["/bin/sh", "-c", "echo new > old; echo new > other; echo ready; exec sleep 60"]
	process = start(folder, command, options=["--put", "old:in", "--get", "old", "--get", "other", "--wall", "60s"])
	process.stdout.readline()
	process.send_signal(number)
	code, _, stderr = finish(process)
	tap.equal(f"{name}: bailiff dies of it", code, -number, stderr)
	left = sorted(os.listdir(folder))
	expected = ["old", "policy.json"]
	if number != signal.SIGKILL:
		expected.append("verdict.json")
		tap.equal(f"{name}: the verdict says why nothing was copied", [item["refused"] for item in verdict(folder)["artifacts"]],
			["the run was interrupted"] * 2)
		tap.equal(f"{name}: the workspace is gone", workspaces(), before)
	tap.equal(f"{name}: no other file is left", left, expected)
	with open(os.path.join(folder, "old"), encoding="utf-8") as file:
		tap.equal(f"{name}: the old result is untouched", file.read(), "old\n")


def kept_folder():
	folder = fresh("keep")
	code, stdout, stderr = run(folder, ["/bin/sh", "-c", "echo $HOME; echo x > $HOME/made"], options=["--keep-workspace"])
	home = stdout.decode().strip()
	tap.equal("--keep-workspace: the run is completed", code, 0, stderr)
	tap.ok("--keep-workspace: the file is there", os.path.exists(os.path.join(home, "made")), home)
	notes = [note["text"] for note in verdict(folder)["notes"]]
	tap.ok("--keep-workspace: the verdict says where", f"the workspace is kept: {home}" in notes, notes)
	tap.equal("--keep-workspace: of mode 0700", oct(stat.S_IMODE(os.stat(home).st_mode)), "0o700")
	if re.search(r"/bailiff-\w+/work$", home):
		shutil.rmtree(os.path.dirname(home))


def not_kept_where_nothing_ran():
	folder = fresh("nothing")
	before = workspaces()
	code, _, stderr = run(folder, ["/bin/true"], options=["--keep-workspace", "--put", "nothing"])
	tap.equal("--put of nothing: exit 125", code, 125, stderr)
	tap.equal("--put of nothing: no workspace stays", workspaces(), before)


def place_swapped():
	"""During the run the target puts a link where the result goes: the link is replaced, not followed."""
	folder = fresh("swap")
	victim = os.path.join(folder, "victim")
	with open(victim, "w", encoding="utf-8") as file:
		file.write("safe\n")
	place = os.path.join(folder, "out")
	shell = f"echo x > out; ln -s {victim} {place}"
	code, _, stderr = run(folder, ["/bin/sh", "-c", shell], options=["--get", f"out:{place}", "--write", place])
	tap.equal("a link at the destination: the run is completed", code, 0, stderr, verdict(folder).get("summary"))
	tap.ok("a link at the destination is replaced", not os.path.islink(place) and os.path.getsize(place) == 2, os.listdir(folder))
	with open(victim, encoding="utf-8") as file:
		tap.equal("and not followed", file.read(), "safe\n")


large_copy()
modes()
for interruption in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
	interrupted(interruption)
kept_folder()
not_kept_where_nothing_ran()
place_swapped()
tap.end()
