#!/usr/bin/python3
"""When bailiff has ended, nothing of the run goes on: no process, no write, no folder."""

import os
import time

import harness
from harness import ENVIRONMENT, TARGETS, fresh, run, verdict

tap = harness.Tap()
USE = f"{TARGETS}/use_play"


def size(path):
	return os.path.getsize(path) if os.path.exists(path) else -1


def stops_writing(name, command, options, status):
	folder = fresh("writer")
	out = os.path.join(folder, "out")
	policy = harness.write_policy(folder, paths={"execute": [f"{TARGETS}/*"], "read": [f"{folder}/**"], "write": [out]})
	code, _, stderr = run(folder, [word.replace("OUT", out) for word in command], policy, options)
	first = size(out)
	time.sleep(0.3)
	tap.equal(f"{name}: {status}", verdict(folder)["status"], status, code, stderr, verdict(folder))
	tap.ok(f"{name}: it wrote while the run lasted, and not afterwards", 0 < first == size(out), first, size(out))


def fork_bomb():
	"""Bounded by itself, so that its control is harmless: 200 processes that each wait."""
	folder = fresh("bomb")
	mark = f"{2000 + os.getpid() % 1000}.5"
	shell = f"i=0; while [ $i -lt 200 ]; do sleep {mark} & i=$((i+1)); done; echo all; {USE} sleep 60000"
	_, stdout, stderr = run(folder, ["/bin/sh", "-c", shell], options=["--wall", "8s", "--processes", "none"], seconds=60)
	tap.equal("200 processes at a timeout", (stdout, verdict(folder)["status"]), (b"all\n", "timeout"), stderr, verdict(folder))
	gone = harness.wait_for(lambda: not harness.processes_with(mark), 5)
	tap.ok("200 processes at a timeout: none is left", gone, harness.processes_with(mark))


stops_writing("a daemon when the command is done", [USE, "writer", "OUT"], (), "completed")
stops_writing("a daemon at a timeout", ["/bin/sh", "-c", f"{USE} writer OUT; exec sleep 30"], ("--wall", "900ms"), "timeout")
stops_writing("a daemon at a violation", ["/bin/sh", "-c", f"{USE} writer OUT; cat /etc/shadow; sleep 30"], (), "policy_blocked")
fork_bomb()
tap.equal("no workspace is left", os.listdir(ENVIRONMENT["TMPDIR"]), [])
tap.end()
