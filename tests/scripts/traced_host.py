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


NEEDED = {  # calls that bailiff makes in its own work; a container's profile may refuse any of them
	5: "fstat", 8: "lseek", 14: "rt_sigprocmask", 16: "ioctl", 17: "pread64", 33: "dup2", 39: "getpid", 44: "sendto", 45: "recvfrom",
	46: "sendmsg", 47: "recvmsg", 53: "socketpair", 56: "clone", 62: "kill", 72: "fcntl", 77: "ftruncate", 80: "chdir", 83: "mkdir",
	89: "readlink", 101: "ptrace", 112: "setsid", 126: "capset", 157: "prctl", 186: "gettid", 203: "sched_setaffinity",
	212: "lookup_dcookie", 217: "getdents64", 234: "tgkill", 247: "waitid", 257: "openat", 262: "newfstatat", 263: "unlinkat",
	264: "renameat", 267: "readlinkat", 272: "unshare", 289: "signalfd4", 292: "dup3", 293: "pipe2", 302: "prlimit64",
	310: "process_vm_readv", 311: "process_vm_writev", 317: "seccomp", 318: "getrandom", 319: "memfd_create", 332: "statx",
	434: "pidfd_open", 436: "close_range", 437: "openat2", 444: "landlock_create_ruleset", 446: "landlock_restrict_self",
}


def each_call_refused():
	"""Whatever the host refuses to bailiff, what the policy refuses does not happen: an error is never an allow."""
	folder = fresh("refused")
	secret = os.path.join(folder, "secret")
	with open(secret, "w", encoding="ascii") as file:
		file.write("SECRET\n")
	command = ["/bin/sh", "-c", f"/bin/cat {secret}; echo went on"]
	code, stdout, stderr = harness.run(folder, command, harness.write_policy(folder, paths={"read": [secret]}))
	tap.equal("nothing refused, and listed", (code, stdout), (0, b"SECRET\nwent on\n"), stderr)
	policy = harness.write_policy(folder, limits={"wall": "10s"})
	for number, name in NEEDED.items():
		code, stdout, stderr = harness.run(folder, command, policy, preexec_fn=harness.with_call_refused(number, 1), seconds=60)
		tap.ok(f"{name} refused: fails closed", code in (122, 125, 127) and stdout == b"", code, stdout, stderr)


if shutil.which("strace"):
	under_a_tracer()
else:
	tap.skip("under a tracer", "strace is not installed")
few_descriptors()
each_call_refused()
tap.end()
