#!/usr/bin/python3
"""Where runs cannot be enforced, bailiff says why and no target code runs."""

import os
import shutil
import subprocess

import harness
from harness import BAILIFF, ENVIRONMENT, arguments, fresh

tap = harness.Tap()


def under_a_tracer():
	folder = fresh("traced")
	made = os.path.join(folder, "made")
	policy = harness.write_policy(folder, paths={"write": [made]})
	command = arguments(folder, ["/usr/bin/touch", made], policy)
	done = subprocess.run(["strace", "-f", "-o", "/dev/null", *command], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
		capture_output=True, timeout=60, check=False)
	tap.equal("under a tracer that follows children: exit 125", done.returncode, 125, done)
	tap.ok("under a tracer: the target has not run", not os.path.exists(made))
	found = harness.verdict(folder)
	tap.ok("under a tracer: the verdict or standard error says why", bool(found["error"]) or b"ptrace" in done.stderr, found, done.stderr)
	done = subprocess.run(["strace", "-f", "-o", "/dev/null", BAILIFF, "doctor"], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
		capture_output=True, timeout=60, check=False)
	tap.equal("under a tracer: doctor says that nothing can be enforced", done.returncode, 1, done)


def few_descriptors():
	folder = fresh("descriptors")
	command = " ".join(f"'{word}'" for word in arguments(folder, ["/bin/echo", "ran"]))
	done = subprocess.run(["/bin/sh", "-c", f"ulimit -n 64; exec {command}"], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
		capture_output=True, timeout=30, check=False)
	tap.equal("with few descriptors a run completes", (done.returncode, done.stdout), (0, b"ran\n"), done.stderr)


if shutil.which("strace"):
	under_a_tracer()
else:
	tap.skip("under a tracer", "strace is not installed")
few_descriptors()
tap.end()
