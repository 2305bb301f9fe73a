#!/usr/bin/python3
"""A full file system where the verdict, the output, the workspace or a file copied out should go: an error of bailiff's own, and no half
verdict."""

import json
import os
import subprocess
import sys

import harness
from harness import BAILIFF, ENVIRONMENT, fresh

INSIDE = "BAILIFF_TEST_FULL_DISK"
tap = harness.Tap()


def fill(path):
	with open(os.path.join(path, "filler"), "wb", buffering=0) as file:
		try:
			while True:
				file.write(bytes(4096))
		except OSError:
			return


def run_with(options, shell="echo ran", **environment):
	return subprocess.run([BAILIFF, "run", *options, "--", "/bin/sh", "-c", shell], env=dict(ENVIRONMENT, **environment), cwd="/",
		stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)


def checks(disk):
	old = os.path.join(disk, "old.json")
	with open(old, "w", encoding="utf-8") as file:
		file.write("old\n")
	fill(disk)
	before = sorted(os.listdir(disk))
	for path in (os.path.join(disk, "new.json"), old):
		done = run_with(["-o", path])
		name = os.path.basename(path)
		tap.equal(f"no room for {name}: exit 125", done.returncode, 125, done)
		tap.ok(f"no room for {name}: the reason is said", b"No space left" in done.stderr or b"ENOSPC" in done.stderr, done)
		tap.equal(f"no room for {name}: nothing half written is left", sorted(os.listdir(disk)), before)
	with open(old, encoding="utf-8") as file:
		tap.equal("the verdict that was there is untouched", file.read(), "old\n")
	done = run_with(["-o", "/dev/null"], TMPDIR=disk)
	tap.ok("a workspace on a full disk: a run, or exit 125 with a reason", done.returncode in (0, 125), done)
	tap.equal("a workspace on a full disk: nothing is left there", sorted(os.listdir(disk)), before)
	output(disk)
	files_out(disk, old, before)


def output(disk):
	"""What the last page of a file still has room for is written; what is behind it is counted as lost."""
	path = os.path.join(disk, "old.json")
	room = 4096 - os.path.getsize(path)
	command = [BAILIFF, "run", "--", "/usr/bin/head", "-c", "4096", "/dev/zero"]
	with open(path, "ab") as file:
		done = subprocess.run(command, env=ENVIRONMENT, cwd="/", stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE,
			timeout=30, check=False)
	tap.equal("output to a full disk: exit 125", done.returncode, 125, done)
	tap.ok("output to a full disk: what was lost is said",
		b"cannot write standard output, %d bytes are lost: No space left" % (4096 - room) in done.stderr, done)
	tap.equal("output to a full disk: what there was room for is there", os.path.getsize(path), 4096)
	os.truncate(path, 4096 - room)


def files_out(disk, old, before):
	"""What was asked for and is not there is no success; a failure of the run's own comes first all the same."""
	for name, path, end, code, status in (("a new file", os.path.join(disk, "new"), 0, 125, None), ("an old file", old, 0, 125, None),
			("a run that failed", old, 7, 7, "runtime_error")):
		done = run_with(["-o", "-", "--get", f"made:{path}"], f"head -c 200000 /dev/zero > made; exit {end}")
		verdict = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
		tap.equal(f"--get to a full disk, {name}: exit status", done.returncode, code, done)
		if verdict:
			tap.equal(f"--get to a full disk, {name}: status", verdict["status"], status, verdict["summary"])
			tap.equal(f"--get to a full disk, {name}: the reason", verdict["artifacts"][0]["refused"],
				"it cannot be saved: No space left on device")
			tap.equal(f"--get to a full disk, {name}: the error", (verdict["error"] or {}).get("stage"), None if end else "artifact")
		tap.equal(f"--get to a full disk, {name}: nothing half written is left", sorted(os.listdir(disk)), before)
	with open(old, encoding="utf-8") as file:
		tap.equal("--get to a full disk: what was there is untouched", file.read(), "old\n")


if os.geteuid() != 0:
	tap.skip("full disk", "mounting needs root (optional)")
elif not os.environ.get(INSIDE):
	probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
	if probe.returncode != 0:
		tap.skip("full disk", f"this root may not mount: {probe.stderr.decode().strip()} (optional)")
	else:
		os.execvpe("unshare", ["unshare", "-m", sys.executable, os.path.abspath(__file__)], dict(os.environ, **{INSIDE: "1"}))
else:
	mounted = fresh("disk")
	subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mounted], check=True)
	checks(mounted)
tap.end()
