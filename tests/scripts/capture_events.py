#!/usr/bin/python3
"""--capture and --events where something is too large, full, slow, gone or killed: what is there is whole and exact."""

import base64
import json
import os
import random
import resource
import select
import signal
import subprocess
import threading

import harness
from harness import BAILIFF, ENVIRONMENT, finish, fresh, run, start, verdict, wait_for

CAPTURE_MOST = 16 << 20
MEMORY_MOST = 400 << 20 # of bailiff itself: each byte may become six in JSON, in more than one copy
LINE_MOST = 4096
KILLS = 40
tap = harness.Tap()
SHELL = "/bin/sh", "-c"
WIDE = {"limits": {"memory": "1G", "cpu": "60s", "wall": "60s"}}


def events_in(data):
	"""(events, problems) of JSON Lines; behind the last newline there may be what a kill cut off."""
	events, problems = [], []
	for line in data.split(b"\n")[:-1]:
		try:
			event = json.loads(line)
			events.append(event)
			missing = {"when_ms", "pid", "tid", "syscall", "access", "target", "decision", "rule", "answered"} - set(event)
			problems += [(line[:200], missing)] if missing or len(line) >= LINE_MOST else []
		except ValueError as error:
			problems.append((line[:200], str(error)))
	return events, problems


def read_file(path):
	with open(path, "rb") as file:
		return file.read()


# ---- --capture -------------------------------------------------------------------------------------------------------------


def captured(folder, output, options=()):
	"""Runs a program that writes `output` to standard error; what the verdict has of it."""
	with open(os.path.join(folder, "output"), "wb") as file:
		file.write(output)
	policy = harness.write_policy(folder, paths={"read": [f"{folder}/output"]})
	code, _, stderr = run(folder, [*SHELL, "cat output >&2"], policy, ["--capture", *options])
	found = verdict(folder)
	return code, (found.get("output") or {}).get("stderr", {"verdict": found, "said": stderr})


def cut_characters():
	"""Every cut through characters of each length: the text in front of the cut, and the bytes exactly."""
	folder, wrong = fresh("cut"), []
	for text in ("aé€𝄞z", "\u0800", "\ud7ff", "\U00010000", "\U0010ffff"):
		whole = text.encode()
		for length in range(1, len(whole)):
			code, stream = captured(folder, whole, ["--output", str(length)])
			exact = whole[:length]
			expected = {"bytes": len(whole), "relayed": length, "truncated": True, "text": exact.decode(errors="ignore")}
			if exact.decode(errors="ignore").encode() != exact:
				expected["base64"] = base64.b64encode(exact).decode()
			if (code, stream) != (123, expected):
				wrong.append((text, length, code, stream))
	tap.equal("--capture: a limit that cuts a character leaves the text before it, and the bytes", wrong, [])


def no_characters():
	"""What is no beginning of a character is not text that was cut."""
	folder, wrong = fresh("bytes"), []
	for output in (b"a\xff", b"a\xc0", b"a\xe2(", b"a\xed\xa0", b"a\xf5", b"a\xf4\x90", b"a\xe0\x80", b"\x80", b"a\xffb"):
		code, stream = captured(folder, output)
		expected = {"bytes": len(output), "relayed": len(output), "truncated": False, "base64": base64.b64encode(output).decode()}
		if (code, stream) != (0, expected):
			wrong.append((output, code, stream))
	tap.equal("--capture: what is not UTF-8 is given as base64 alone", wrong, [])


def ended_in_a_character():
	folder = fresh("ended")
	code, _, stderr = run(folder, [*SHELL, "printf 'a\\342\\202'; kill -9 $$"], options=["--capture"])
	stream = verdict(folder)["output"]["stdout"]
	tap.equal("--capture: a program that ends within a character", (code, stream.get("text"), stream.get("base64")),
		(137, "a", base64.b64encode(b"a\xe2\x82").decode()), stderr)


def flood():
	"""Whatever is printed, and without a limit on it, bailiff keeps a part and counts the rest."""
	folder, printed = fresh("flood"), 200 << 20
	policy = harness.write_policy(folder, **WIDE)
	process = start(folder, [*SHELL, f"head -c {printed} /dev/zero; echo more >&2"], policy, ["--capture", "--output", "none"])
	_, stderr = process.stdout.read(), process.stderr.read()
	_, status, usage = os.wait4(process.pid, 0)
	process.returncode = os.waitstatus_to_exitcode(status)
	found = verdict(folder)
	stream = found["output"]["stdout"] if "output" in found else {}
	text = stream.pop("text", "")
	tap.equal("--capture of a flood: the run is completed", process.returncode, 0, stderr, found["status"], found["error"])
	tap.equal("--capture of a flood: counted", stream, {"bytes": printed, "relayed": CAPTURE_MOST, "truncated": True})
	tap.ok("--capture of a flood: its beginning is kept", text == "\0" * CAPTURE_MOST, len(text))
	tap.ok("--capture of a flood: a note says so", any("--capture keeps" in note["text"] for note in found["notes"]), found["notes"])
	tap.ok("--capture of a flood: bailiff's own memory stays bounded", usage.ru_maxrss * 1024 < MEMORY_MOST, usage.ru_maxrss)


def reader_of_the_verdict_goes_away():
	folder = fresh("gone")
	reading, writing = os.pipe()
	process = subprocess.Popen([BAILIFF, "run", "--capture", "-o", f"fd:{writing}", "--", "/bin/echo", "out"], cwd=folder,
		env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[writing])
	os.close(reading)
	os.close(writing)
	code, stdout, stderr = finish(process)
	lines = stderr.splitlines()
	tap.equal("-o fd:N without a reader: exit 125", (code, stdout), (125, b""), stderr)
	tap.ok("-o fd:N without a reader: the verdict is not lost, and the reason is said",
		len(lines) == 2 and json.loads(lines[0])["output"]["stdout"]["text"] == "out\n" and b"Broken pipe" in lines[1], stderr)


def verdict_that_nobody_reads():
	"""It does not fit into the pipe: a signal ends bailiff all the same, and the run is over by then."""
	for name, options in (("-o fd:N", ["--capture"]), ("standard error", [])):
		folder = fresh("unread")
		reading, writing = os.pipe()
		prefix = "" if options else "head -c 65500 /dev/zero >&2; "
		options = [*options, "-o", f"fd:{writing}"] if options else options
		process = subprocess.Popen([BAILIFF, "run", *options, "--", *SHELL, f"{prefix}head -c 100000 /dev/zero"], cwd=folder,
			env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing, pass_fds=[writing])
		# The workspace goes before the verdict is written.
		wait_for(lambda: not select.select([], [writing], [], 0)[1])
		wait_for(lambda: not os.listdir(ENVIRONMENT["TMPDIR"]))
		process.send_signal(signal.SIGTERM)
		code = finish(process)[0]
		os.close(reading)
		os.close(writing)
		tap.equal(f"a verdict that nobody reads on {name}: SIGTERM ends bailiff", code, -signal.SIGTERM)


# ---- --events: who reads ---------------------------------------------------------------------------------------------------


def start_with_pipe(folder, command, options=(), full=False):
	"""(process, our end of the pipe that gets the events); waits until the pipe takes no more where `full`."""
	reading, writing = os.pipe()
	process = start(folder, command, None, ["--events", f"fd:{writing}", *options], pass_fds=[writing])
	if full:
		wait_for(lambda: not select.select([], [writing], [], 0)[1])
	os.close(writing)
	return process, reading


def read_all(fd):
	with os.fdopen(fd, "rb") as file:
		return file.read()


def lost_events(found):
	return [note["text"] for note in found["notes"] if "events are missing" in note["text"]]


def reader_goes_away():
	folder = fresh("reader")
	process, reading = start_with_pipe(folder, [*SHELL, "/bin/true; /bin/true; echo ended"])
	os.close(reading)
	code, stdout, stderr = finish(process)
	found = verdict(folder)
	tap.equal("--events: a reader that goes away is no fault of the run", (code, stdout, found["status"]), (0, b"ended\n", "completed"),
		stderr)
	tap.ok("--events: a reader that goes away: a note says what is missing",
		len(lost_events(found)) == 1 and "went away" in lost_events(found)[0], found["notes"])


def nobody_reads(name, options, ended_by, expected):
	"""The pipe fills and the run waits: limits and signals hold all the same, and what was written is whole."""
	folder = fresh("full")
	process, reading = start_with_pipe(folder, [*SHELL, "while :; do : < /etc/passwd; done"], ["--cpu", "none", *options], True)
	if ended_by:
		process.send_signal(ended_by)
	code, _, stderr = finish(process, 60)
	found = verdict(folder)
	events, problems = events_in(read_all(reading))
	tap.equal(f"--events that nobody reads, {name}: it ends", (code, found["rule"], found["exit"].get("interrupted")), expected, stderr)
	tap.ok(f"--events that nobody reads, {name}: what was written is whole", len(events) > 50 and not problems, len(events), problems[:3])
	tap.ok(f"--events that nobody reads, {name}: a note says what is missing",
		len(lost_events(found)) == 1 and "nobody read" in lost_events(found)[0], found["notes"])
	tap.ok(f"--events that nobody reads, {name}: the tracer has ended the tree itself",
		not any("did not answer" in note["text"] for note in found["notes"]), found["notes"])


def slow_reader():
	"""Every line arrives when the reader takes its time, and nothing is noted."""
	folder = fresh("slow")
	process, reading = start_with_pipe(folder, [*SHELL, "i=0; while [ $i -lt 1500 ]; do : < /etc/passwd; i=$((i+1)); done"], full=True)
	data = []
	reader = threading.Thread(target=lambda: data.append(read_all(reading)))
	reader.start()
	code, _, stderr = finish(process, 60)
	reader.join()
	events, problems = events_in(data[0])
	opens = [event for event in events if event["target"] == "/etc/passwd"]
	tap.equal("--events: a slow reader gets every line", (code, len(opens), problems, lost_events(verdict(folder))), (0, 1500, [], []), stderr)


def fifo():
	folder = fresh("fifo")
	path = os.path.join(folder, "events")
	os.mkfifo(path)
	process = start(folder, ["/bin/true"], options=["--events", "events"])
	data = read_file(path)
	code, _, stderr = finish(process)
	events, problems = events_in(data)
	tap.ok("--events to a FIFO whose reader comes later", code == 0 and events and not problems, code, stderr, data)
	code, stdout, stderr = run(folder, ["/bin/echo", "ran"], options=["--events", "events"])
	tap.equal("--events to a FIFO without a reader: exit 125, and nothing ran", (code, stdout), (125, b""), stderr)


# ---- --events: what is in them ---------------------------------------------------------------------------------------------


def nasty_names():
	"""Names of every kind: each line is valid JSON, is no longer than a pipe takes whole, and forges none."""
	folder = fresh("names")
	names = [b"new\nline", b'quo"te\\', b"\xff\xfe", "é€𝄞".encode(), b"\x01" * 250, b"\x7f\x1b[31m", b'","decision":"allowed"}\n{"']
	deep = b"/".join([b"\x02" * 250] * 15)
	policy = harness.write_policy(folder, paths={"read": [f"{folder}/**"]})
	for name in names[:-1]:
		with open(os.path.join(folder.encode(), name), "w", encoding="ascii"):
			pass
	code, _, stderr = run(folder, ["/bin/cat", "--", *names, deep], policy, ["--events", "events"])
	events, problems = events_in(read_file(os.path.join(folder, "events")))
	tap.equal("--events: names of every kind make valid lines", (problems, code), ([], 1), stderr)
	targets = [event["target"] for event in events]
	shown = [f"{folder}/{name.decode(errors='replace')}" for name in names]
	tap.equal("--events: and each has its line", [name for name in shown if name not in targets], [], targets[-12:])
	cut = [event for event in events if event.get("target_truncated")]
	tap.ok("--events: a name that would make the line too long is cut, and marked",
		len(cut) == 1 and f"{folder}/{deep.decode()}".startswith(cut[0]["target"]) and len(cut[0]["target"]) > 500, cut, targets[-2:])


# ---- --events: full, and killed --------------------------------------------------------------------------------------------


def full(name, folder, end, expected, path, **popen):
	"""A file that takes no more: whole lines, a note, and an exit status that does not say that all went well."""
	shell = f"i=0; while [ $i -lt 600 ]; do : < /etc/passwd; i=$((i+1)); done; exit {end}"
	with open(path, "r+b", buffering=0) as file:
		at = file.seek(0, os.SEEK_END)
		code, _, stderr = run(folder, [*SHELL, shell], options=["--events", f"fd:{file.fileno()}"], pass_fds=[file.fileno()], **popen)
		file.seek(at)
		data = file.read()
	events, problems = events_in(data)
	tap.ok(f"{name}: whole lines and nothing else", len(events) > 20 and not problems and data.endswith(b"\n"), len(events),
		problems[:2], data[-300:])
	found = verdict(folder)
	stage = (found["error"] or {}).get("stage")
	tap.equal(f"{name}: exit status and verdict", (code, found["status"], stage, len(lost_events(found))), (*expected, 1),
		stderr, found["notes"])


def too_large():
	"""The caller's own limit on the size of files, a little above what the file has already."""
	def limited():
		resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))

	for end, expected in ((0, (125, None, "events")), (3, (3, "runtime_error", None))):
		folder = fresh("limit")
		path = os.path.join(folder, "events")
		with open(path, "wb") as file:
			file.truncate((4 << 20) - 20001)
		full(f"--events to a file at the caller's limit, exit {end}", folder, end, expected, path, preexec_fn=limited)


def device_without_room():
	folder = fresh("device")
	code, stdout, stderr = run(folder, [*SHELL, "echo ran"], options=["--events", "/dev/full"])
	found = verdict(folder)
	tap.equal("--events to /dev/full: exit status and verdict", (code, stdout, found["status"], (found["error"] or {}).get("stage")),
		(125, b"ran\n", None, "events"), stderr)


def dispositions():
	"""What bailiff ignores for itself, SIGPIPE and SIGXFSZ among it, the target does not inherit."""
	folder, command = fresh("signals"), ["/bin/grep", "SigIgn", "/proc/self/status"]
	expected = harness.native(command, folder)
	tap.equal("the target ignores no other signals than without bailiff", run(folder, command)[:2], expected[:2])


def killed():
	"""SIGKILL to bailiff or to its tracer at any moment; to a file and to a pipe."""
	dice, problems, counts = random.Random(), [], []
	for attempt in range(KILLS):
		folder = fresh("killed")
		process, reading = start_with_pipe(folder, [*SHELL, "while :; do : < /etc/passwd; done"]) if attempt % 2 else \
			(start(folder, [*SHELL, "while :; do : < /etc/passwd; done"], options=["--events", "events"]), None)
		data = []
		reader = threading.Thread(target=lambda end=reading, into=data: into.append(read_all(end) if end else b""))
		reader.start()
		path = os.path.join(folder, "events")
		if not reading:
			wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
		parts = harness.children_of(process.pid) or [process.pid]
		threading.Event().wait(dice.uniform(0, 0.03))
		os.kill(parts[0] if attempt % 4 < 2 else process.pid, signal.SIGKILL)
		finish(process)
		reader.join()
		events, wrong = events_in(data[0] if reading else read_file(path))
		counts.append(len(events))
		problems += wrong
		if reading and data[0] and not data[0].endswith(b"\n"):
			problems.append((attempt, "half a line in a pipe", data[0][-200:]))
	tap.equal(f"--events of {KILLS} runs, killed: every line is whole", problems[:3], [])
	tap.ok(f"--events of {KILLS} runs, killed: there were some", sum(counts) > KILLS, counts)


cut_characters()
no_characters()
ended_in_a_character()
flood()
reader_of_the_verdict_goes_away()
verdict_that_nobody_reads()
reader_goes_away()
nobody_reads("wall limit", ["--wall", "4s"], None, (124, "timeout_wall", None))
nobody_reads("SIGTERM", ["--wall", "60s"], signal.SIGTERM, (-signal.SIGTERM, "runtime_error_signal", "SIGTERM"))
slow_reader()
fifo()
nasty_names()
too_large()
device_without_room()
dispositions()
killed()
tap.end()
