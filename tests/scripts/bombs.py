#!/usr/bin/python3
"""Programs that multiply: stopped at the clone that is one too many, named, and swept whatever session they are in. And what
a run uses is its own: not what the one who started bailiff had used before."""

import os
import subprocess
import sys

import harness
from harness import ENVIRONMENT, fresh, run, verdict

tap = harness.Tap()
MARK = f"bailiff-bomb-{os.getpid()}"
# Each is endless by itself and has MARK in every command line. There is no control without bailiff: it would not end.
BOMBS = [
	("a fork bomb", "processes", ["/usr/bin/perl", "-e", "fork while 1", MARK]),
	("a fork bomb of a shell", "processes", ["/bin/sh", "-c", "f() { f | f & }; f; sleep 60", MARK]),
	("a bomb of sessions", "processes", ["/usr/bin/perl", "-e", "use POSIX; while (1) { my $p = fork; POSIX::setsid() if defined $p && !$p }", MARK]),
	("a bomb of daemons", "processes", ["/usr/bin/perl", "-e",
		"use POSIX; while (1) { my $p = fork; if (!$p) { POSIX::setsid(); sleep 60 unless fork; exit } waitpid $p, 0 }", MARK]),
	("a parent of sleepers", "processes", ["/usr/bin/perl", "-e", "while (1) { my $p = fork; if (defined $p && !$p) { sleep 60; exit } }", MARK]),
	("a bomb that ignores every signal", "processes", ["/usr/bin/perl", "-e", "$SIG{$_} = 'IGNORE' for grep !/NUM|RT/, keys %SIG; fork while 1", MARK]),
	("a bomb of threads", "threads", ["/usr/bin/python3", "-c",
		"import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", MARK]),
	("a bomb of processes with threads", "threads", ["/usr/bin/python3", "-c",
		"import os, threading, time\nfor i in range(6): os.fork()\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()", MARK]),
]


def explodes(name, limit, command):
	folder = fresh("bomb")
	options = ["--read", f"{folder}/", "--processes", "256", "--threads", "600" if limit == "processes" else "256", "--memory", "4G", "--wall", "none",
		"--cpu", "none"]
	code, _, stderr = run(folder, command, "python", options, seconds=120)
	found = verdict(folder)
	tap.equal(f"{name}: limits.{limit} is named", (code, found["status"], found["rule"]), (123, "resource_limit", f"resource_limit_{limit}"), stderr, found)
	if found.get("usage"):
		target = found["first_failure"]["operation"]["target"]
		tap.ok(f"{name}: the 257th is the one that is not made", found["usage"][limit]["peak"] <= 256 and target.startswith(f"257 {limit} at once"),
			found["usage"], target)
	tap.equal(f"{name}: nobody is left", harness.processes_with(MARK), [])


def exactly():
	"""A tree that doubles seven times at once, where children are often seen before their parents tell of them."""
	# Each says that it is there and waits for the end of the second pipe, which the first process closes when it has heard all.
	doubling = """my $main = $$; pipe(R, W); pipe(G, H); my @k;
		for (1..7) { my $p = fork; die unless defined $p; @k = () unless $p; push @k, $p if $p }
		if ($$ == $main) { my $n = 0; my $x; $n += sysread R, $x, 200 while $n < 127; close H } else { close H; syswrite W, 'x'; sysread G, my $x, 1 }
		waitpid $_, 0 for @k; exit 0"""
	for most, expected in [(128, ("completed", None, 128))] * 6 + [(127, ("resource_limit", "resource_limit_processes"))]:
		folder = fresh("exactly")
		run(folder, ["/usr/bin/perl", "-e", doubling, MARK], "default", ["--processes", str(most), "--memory", "none"], seconds=60)
		found = verdict(folder)
		got = (found["status"], found["rule"], found["usage"]["processes"]["peak"])
		tap.equal(f"128 processes at once, {most} allowed", got[:len(expected)], expected, found["summary"])


def peak_of(before):
	"""peak_memory_bytes of /bin/true, started by a process that has used `before` bytes."""
	folder = fresh("peak")
	starter = f"import subprocess, sys; x = b'x' * {before}; del x; y = b'y' * {before}; sys.exit(subprocess.call(sys.argv[1:]))"
	command = harness.arguments(folder, ["/bin/true"], "default")
	done = subprocess.run([sys.executable, "-c", starter, *command], env=ENVIRONMENT, cwd=folder, capture_output=True, check=False)
	tap.equal(f"/bin/true, started by a process with {before >> 20} MiB", (done.returncode, verdict(folder)["status"]), (0, "completed"), done.stderr)
	return verdict(folder)["usage"]["peak_memory_bytes"]


for bomb in BOMBS:
	explodes(*bomb)
exactly()
small, large = peak_of(1 << 20), peak_of(200 << 20)
tap.ok("the peak is the run's own, whoever started bailiff", 0 < large < small + (8 << 20) < 64 << 20, small, large)
tap.equal("no workspace is left", os.listdir(ENVIRONMENT["TMPDIR"]), [])
tap.end()
