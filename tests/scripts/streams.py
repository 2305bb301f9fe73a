#!/usr/bin/python3
"""How the target's output travels: live, in order, whole, and ending when its reader goes away."""

import fcntl
import os
import pty
import subprocess
import time

import harness
from harness import BAILIFF, ENVIRONMENT, TARGETS, finish, fresh, run, start, verdict

tap = harness.Tap()
USE = f"{TARGETS}/use_play"


def live():
	folder = fresh("live")
	process = start(folder, [USE, "say_then_sleep", "early", "1500"])
	begin = time.monotonic()
	first = os.read(process.stdout.fileno(), 100)
	waited = time.monotonic() - begin
	tap.ok("output is relayed while the target runs", first == b"early" and waited < 1.2, first, waited)
	tap.equal("and the run completes", finish(process)[0], 0)


def reader_goes_away():
	folder = fresh("reader")
	process = start(folder, [USE, "flood", "0", "1"], options=["--wall", "15s", "--output", "none"])
	os.read(process.stdout.fileno(), 10)
	process.stdout.close()
	process.stdout = None
	code, _, stderr = finish(process)
	found = verdict(folder)
	tap.equal("a reader that goes away is the target's own SIGPIPE", (code, found["status"], found["exit"].get("signal")),
		(141, "runtime_error", "SIGPIPE"), stderr, found)


def reader_is_slow():
	folder = fresh("slow")
	process = start(folder, ["/bin/sh", "-c", "seq 1 40000"])
	data = b""
	while True:
		block = os.read(process.stdout.fileno(), 8192)
		if not block:
			break
		data += block
		time.sleep(0.01)
	code = finish(process)[0]
	tap.equal("a slow reader gets every byte", (code, data == b"".join(b"%d\n" % i for i in range(1, 40001))), (0, True), len(data))


def reader_does_not_wait():
	"""The pipe is full and not blocking: bailiff must neither lose bytes nor spin nor take it for an error."""
	folder = fresh("full")
	reading, writing = os.pipe()
	fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | os.O_NONBLOCK)
	process = start(folder, ["/bin/sh", "-c", "seq 1 40000"], stdout=writing)
	os.close(writing)
	time.sleep(0.5)
	data = b""
	while block := os.read(reading, 65536):
		data += block
	os.close(reading)
	tap.equal("a descriptor that does not block gets every byte", (finish(process)[0], len(data)), (0, 228894))


def device_is_full():
	"""Output that is lost is no success, and neither a rule nor a failure of the program's own is hidden by it."""
	for name, command, options, code, status, failed in (
			("a program that ends well", "echo x", [], 125, None, True),
			("one that fails", "echo x; exit 7", [], 7, "runtime_error", False),
			("one that is blocked before", "echo x; cat /etc/shadow", [], 122, "policy_blocked", False),
			("one that says too much", "seq 1 40000", ["--output", "1K"], 123, "resource_limit", False),
			("one that goes on writing", "while :; do echo x; done", ["--output", "none"], 125, None, True)):
		folder = fresh("full-device")
		with open("/dev/full", "wb") as device:
			process = start(folder, ["/bin/sh", "-c", command], stdout=device, options=options)
			ended = finish(process)
		found = verdict(folder)
		tap.equal(f"a full device, {name}: exit status and status", (ended[0], found["status"]), (code, status), ended, found)
		tap.equal(f"a full device, {name}: the error", [(found["error"] or {}).get(key) for key in ("stage", "errno")],
			["output", "ENOSPC"] if failed else [None, None], found)
	tap.equal("a full device: the target that goes on got its SIGPIPE", found["exit"]["signal"], "SIGPIPE", found)


def device_is_full_for(stream, expected, shell, **places):
	folder = fresh("full-stream")
	with open("/dev/full", "wb") as device:
		ended = finish(start(folder, ["/bin/sh", "-c", shell], **{key: device for key in places}))
	found = verdict(folder)
	tap.equal(f"a full device for {stream}: exit 125", ended[0], 125, found)
	tap.equal(f"a full device for {stream}: what is lost", found["error"]["message"],
		f"cannot write {expected} bytes are lost: No space left on device", found)
	tap.ok(f"a full device for {stream}: a note says so once",
		[note["count"] for note in found["notes"] if "are lost: No space" in note["text"]] == [1], found["notes"])


def two_pipes():
	folder = fresh("two")
	code, stdout, stderr = run(folder, ["/bin/sh", "-c", "seq 1 5000; seq 5001 10000 >&2"])
	tap.equal("two streams stay two", (code, stdout[-6:], stderr[:5]), (0, b"\n5000\n", b"5001\n"))


def one_file():
	folder = fresh("one")
	shell = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"
	expected = b"".join(b"out %d\nerr %d\n" % (i, i) for i in range(1, 10))
	code, stdout, _ = run(folder, ["/bin/sh", "-c", shell], stderr=subprocess.STDOUT)
	tap.equal("both streams in one pipe keep their order", (code, stdout), (0, expected))
	tap.equal("and the verdict says that it was one", verdict(folder).get("output", {}).get("one_stream"), True, verdict(folder))


def on_a_terminal(*options):
	"""(exit status, what standard error said) of a run that is blocked at a file with a nasty name."""
	folder = fresh("terminal")
	name = "secret\x1b]0;title\x07"
	with open(os.path.join(folder, name), "w", encoding="utf-8"):
		pass
	master, slave = pty.openpty()
	process = subprocess.Popen([BAILIFF, "run", *options, "--", "/bin/cat", name], cwd=folder, env=dict(ENVIRONMENT, TERM="dumb"),
		stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, start_new_session=True)
	os.close(slave)
	text = b""
	try:
		while block := os.read(master, 4096):
			text += block
	except OSError:
		pass
	os.close(master)
	return process.wait(), text


def terminal():
	"""On a terminal the verdict is in words unless --json is given; a name cannot move the cursor in either."""
	code, text = on_a_terminal()
	tap.equal("a blocked run on a terminal: exit 122", code, 122, text)
	tap.ok("the verdict is in words there", b"policy_blocked_read" in text and b'"schema"' not in text, text)
	tap.ok("no control sequence of the target's reaches the terminal", b"\x1b]" not in text and b"\x07" not in text, text)
	code, text = on_a_terminal("--json")
	tap.ok("--json: the last line is the verdict", text.rstrip().splitlines()[-1].startswith(b'{"schema":"bailiff.verdict/1"'), text)
	tap.ok("--json: no control sequence reaches the terminal", b"\x1b]" not in text and b"\x07" not in text, text)


live()
reader_goes_away()
reader_is_slow()
reader_does_not_wait()
device_is_full()
device_is_full_for("standard output", "standard output, 6", "printf 123456; echo 1 >&2", stdout=True)
device_is_full_for("standard error", "standard error, 2", "echo 1 >&2; printf 123456", stderr=True)
device_is_full_for("both", "standard output and error, 3", "printf 123", stdout=True, stderr=True)
two_pipes()
one_file()
terminal()
tap.end()
