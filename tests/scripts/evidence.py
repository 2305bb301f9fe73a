#!/usr/bin/python3
"""What the envelope says of files: each program and each input with the hash of what the run had, or why there is none."""

import hashlib
import os
import re
import shutil
import signal
import subprocess

import harness
from harness import BAILIFF, ENVIRONMENT, SCRATCH, TARGETS, finish, fresh, run, start, verdict, write_policy

tap = harness.Tap()
CHANGED_BEFORE, CHANGED, GONE = "it was made or changed after the run began", "it was changed since", "it is gone since"


def sha256(path):
	with open(path, "rb") as file:
		return hashlib.sha256(file.read()).hexdigest()


def write(path, content="content\n"):
	with open(path, "w", encoding="utf-8") as file:
		file.write(content)
	return path


def envelope(folder):
	return verdict(folder).get("envelope", {})


def wide(folder, **keys):
	"""Reads and writes its own folder."""
	return write_policy(folder, paths={"read": [f"{folder}/**"], "write": [f"{folder}/**"], "execute": [f"{TARGETS}/*", f"{folder}/*"]}, **keys)


def inputs(name, shell, prepare=None, options=(), **popen):
	"""The inputs of a shell line, by name within its folder."""
	folder = fresh(name)
	if prepare:
		prepare(folder)
	code, _, stderr = run(folder, ["/bin/sh", "-c", shell], wide(folder), options, **popen)
	tap.equal(f"{name}: the run is completed", code, 0, stderr)
	found = envelope(folder)
	return {os.path.relpath(item["path"], folder): item for item in found["inputs"] if item["path"].startswith(folder)}, found, folder


def programs():
	folder = fresh("programs")
	script = write(os.path.join(folder, "script"), f"#!/bin/sh\n{TARGETS}/package_note\n{TARGETS}/package_note\n")
	os.chmod(script, 0o755)
	code, _, stderr = run(folder, [script], wide(folder))
	tap.equal("programs: the run is completed", code, 0, stderr)
	found = envelope(folder)["programs"]
	note, shell = f"{TARGETS}/package_note", os.path.realpath("/bin/sh")
	paths = [item["path"] for item in found]
	tap.equal("programs: script, interpreter, loader, child, each once", [path for path in paths if "ld-" not in os.path.basename(path)],
		[script, shell, note])
	tap.equal("programs: one loader", len(paths), 4, paths)
	tap.equal("programs: the hashes", [item["sha256"] for item in found], [sha256(path) for path in paths])
	tap.equal("programs: nothing is without a hash", [item["not_hashed"] for item in found], [None] * 4)
	tap.equal("programs: none was made in the run", [item["made_in_run"] for item in found], [False] * 4)
	told = subprocess.run(["readelf", "-n", note], capture_output=True, text=True, check=False).stdout
	item = found[paths.index(note)]
	tap.equal("programs: the build id", item["build_id"], re.search(r"Build ID: (\w+)", told).group(1))
	tap.equal("programs: the version of its package", item["version"], "1:2.3-4")
	tap.equal("programs: a script has neither", (found[0]["build_id"], found[0]["version"]), (None, None))


def made_programs():
	folder = fresh("made")
	shutil.copy(f"{TARGETS}/package_note", os.path.join(folder, "original"))
	shell = "cp original made && ./made && cp original gone && ./gone && rm gone"
	code, _, stderr = run(folder, ["/bin/sh", "-c", shell], wide(folder))
	tap.equal("made programs: the run is completed", code, 0, stderr)
	found = {os.path.basename(item["path"]): item for item in envelope(folder)["programs"]}
	tap.equal("made programs: it is said", (found["made"]["made_in_run"], found["gone"]["made_in_run"]), (True, True))
	tap.equal("made programs: one that is gone has no hash", (found["gone"]["sha256"], found["gone"]["not_hashed"]), (None, GONE))
	tap.equal("made programs: one that is there has", found["made"]["sha256"], sha256(os.path.join(folder, "original")))


def states():
	"""Before, while and after: a hash is of what the run could read, or it is none."""
	def prepare(folder):
		for name in ("plain", "late", "early", "gone", "both", "unread", "target"):
			write(os.path.join(folder, name), f"{name}\n")
		os.symlink("target", os.path.join(folder, "link"))
		os.mkfifo(os.path.join(folder, "fifo"))
	# The sleep sets the files apart from the opens by more than a tick of the file system's clock (1 to 10 ms): what is opened
	# for writing in the tick in which it was made cannot be told from what was changed.
	shell = """sleep 0.1; cat plain plain link; exec 3<> both; cat late; echo > late; echo >> early; cat early; cat gone; rm gone
		echo > unread; cat unread; echo > made; cat made; exec 4<> fifo; ls; cat /etc/passwd"""
	found, whole, folder = inputs("states", shell, prepare)
	tap.equal("states: what was read and was there before", sorted(found), ["both", "early", "gone", "late", "plain", "target"])
	tap.equal("states: unchanged ones have their hash", {name: found[name]["sha256"] for name in ("plain", "target", "both")},
		{name: sha256(os.path.join(folder, name)) for name in ("plain", "target", "both")})
	tap.equal("states: the others say why not", {name: found[name]["not_hashed"] for name in ("early", "gone", "late")},
		{"early": CHANGED_BEFORE, "gone": GONE, "late": CHANGED})
	tap.equal("states: and have none", [found[name]["sha256"] for name in ("early", "gone", "late")], [None] * 3)
	tap.equal("states: the size is that of the open", (found["late"]["bytes"], found["plain"]["bytes"]), (5, 6))
	tap.equal("states: nothing is left out", whole["inputs_more"], 0)


def replaced():
	"""The same name, size and content, but another file; and the same file under a second name."""
	def prepare(folder):
		write(os.path.join(folder, "file"), "12345\n")
		write(os.path.join(folder, "twice"), "twice\n")
		os.link(os.path.join(folder, "twice"), os.path.join(folder, "other"))
	found, _, folder = inputs("replaced", "cat file; cp -p file new; mv new file; cat twice other", prepare)
	tap.equal("replaced: the file is not the one that was read", found["file"]["not_hashed"], CHANGED)
	tap.equal("replaced: two names of one file", [found["twice"]["sha256"], found["other"]["sha256"]], [sha256(os.path.join(folder, "twice"))] * 2)


def bounds():
	def prepare(folder):
		with open(os.path.join(folder, "large"), "wb") as file:
			file.truncate((64 << 20) + 1)
		for name in ("a", "b", "c", "d", "e"):
			with open(os.path.join(folder, name), "wb") as file:
				file.truncate(60 << 20)
		os.mkdir(os.path.join(folder, "many"))
		for number in range(600):
			write(os.path.join(folder, "many", f"{number:03}"), "x")
	shell = "for name in large a b c d e many/*; do exec 3< $name; done"
	found, whole, _ = inputs("bounds", shell, prepare, options=["--wall", "60s"])
	tap.equal("bounds: a file that is too large", found["large"]["not_hashed"], "it is larger than 64M")
	tap.equal("bounds: too much in all", [found[name]["not_hashed"] for name in "abcde"], [None] * 4 + ["more than 256M in all are not hashed"])
	tap.equal("bounds: as many as are listed", (len(whole["inputs"]), whole["inputs_more"]), (512, 606 - 512))


def closed_at_once():
	"""By another thread, before it can be looked at: what cannot be listed is counted."""
	names = [f"f{number}" for number in range(100)]
	found, whole, _ = inputs("closed_at_once", f"{TARGETS}/close_race {' '.join(names)}",
		lambda folder: [write(os.path.join(folder, name)) for name in names])
	tap.equal("closed at once: each is listed or counted", len(found) + whole["inputs_more"], len(names), sorted(found))


def odd_names():
	folder = fresh("odd")
	name = os.fsencode(folder) + b"/caf\xff"
	with open(name, "w", encoding="utf-8") as file:
		file.write("odd\n")
	code, _, stderr = run(folder, ["/bin/sh", "-c", "cat caf*"], wide(folder))
	tap.equal("odd names: the run is completed", code, 0, stderr)
	item = envelope(folder)["inputs"][0]
	tap.equal("odd names: hashed, with the exact name beside it", (item["sha256"], "path_base64" in item), (sha256(name), True))


def copied_in():
	folder = fresh("copied")
	write(os.path.join(folder, "data"), "in\n")
	code, _, stderr = run(folder, ["/bin/sh", "-c", "cat in; echo > in; echo > made; cat made"], options=["--put", "data:in"])
	tap.equal("--put: the run is completed", code, 0, stderr)
	expected = {"path": "${WORKSPACE}/in", "bytes": 3, "sha256": sha256(os.path.join(folder, "data")), "not_hashed": None, "copied_from": "data"}
	tap.equal("--put: is the input, and nothing that was made in the folder", envelope(folder)["inputs"], [expected])


def standard_input():
	def prepare(folder):
		write(os.path.join(folder, "data"), "in\n")
	found, _, _ = inputs("stdin", "cat; cat data", prepare, options=["--stdin", "data"])
	tap.equal("--stdin: is an input, once", [item["sha256"] for item in found.values()], [hashlib.sha256(b"in\n").hexdigest()])


def interrupted():
	folder = fresh("interrupted")
	process = start(folder, ["/bin/sh", "-c", "echo ready; exec sleep 60"], options=["--wall", "60s"])
	process.stdout.readline()
	process.send_signal(signal.SIGTERM)
	finish(process)
	tap.equal("interrupted: nothing is hashed", {item["not_hashed"] for item in envelope(folder)["programs"]}, {"the run was interrupted"})


def is_alive(pid):
	"""One that is dead and not reaped by whoever inherited it is dead."""
	try:
		with open(f"/proc/{pid}/stat", encoding="ascii") as file:
			return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
	except OSError:
		return False


def stuck():
	"""What hashes is a process of its own: stopped, as by a file system that does not answer, it costs the hashes alone."""
	folder = fresh("stuck")
	for name in ("a", "b", "c", "d"):
		with open(os.path.join(folder, name), "wb") as file:
			file.truncate(60 << 20)
	for _ in range(5):
		process = start(folder, ["/bin/sh", "-c", "exec 3< a 4< b 5< c 6< d; echo ready"], wide(folder))
		tracer = harness.children_of(process.pid)
		process.stdout.readline()
		tracer = tracer or harness.children_of(process.pid)
		helper = []
		harness.wait_for(lambda: process.poll() is not None or helper or helper.extend(set(harness.children_of(process.pid)) - set(tracer[:1])))
		if helper and process.poll() is None:
			os.kill(helper[0], signal.SIGSTOP)
		code, _, stderr = finish(process)
		reasons = {item["not_hashed"] for item in envelope(folder)["inputs"]}
		if reasons != {None}:
			break
	tap.equal("stuck: the run is completed", code, 0, stderr)
	tap.ok("stuck: the verdict says what could not be hashed", "it could not be read in time" in reasons, reasons)
	tap.ok("stuck: the process that hashes is gone", harness.wait_for(lambda: not is_alive(helper[0])), helper)


def closed():
	"""A change of the mode alone is a change: its ctime tells no more than that something is different."""
	def prepare(folder):
		write(os.path.join(folder, "closed"))
		os.chmod(os.path.join(folder, "closed"), 0o600)
	found, _, _ = inputs("closed", "exec 3< closed; chmod 0 closed", prepare)
	tap.equal("closed: chmod is a change", found["closed"]["not_hashed"], CHANGED)


# ---- the program's own text -------------------------------------------------------------------------------------------------


def source(name, command, options=(), policy=None, prepare=None, code=0, **popen):
	folder = fresh(name)
	if prepare:
		prepare(folder)
	found = run(folder, command, policy or wide(folder), options, **popen)
	tap.equal(f"{name}: exit", found[0], code, found[2])
	return envelope(folder)["source"], folder


def told(text, /, **keys):
	whole = {"path": None, "argument": None, "bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest(), "not_hashed": None}
	whole.update(keys)
	return whole


def script(text):
	def prepare(folder):
		os.chmod(write(os.path.join(folder, "job"), text), 0o755)
	return prepare


def sources():
	text = "echo a\n"
	found, folder = source("a script", ["/bin/sh", "job", "other"], prepare=script(text))
	tap.equal("a script: its text", found, told(text, path=f"{folder}/job"))
	found, folder = source("--show-source", ["/bin/sh", "job"], ["--show-source"], prepare=script(text))
	tap.equal("--show-source: with the text", found, told(text, path=f"{folder}/job", text=text))
	found, folder = source("--script", ["/bin/cat", "/dev/null"], ["--script", "job"], prepare=script(text))
	tap.equal("--script: says what it is", found, told(text, path=f"{folder}/job"))
	line = "#!/bin/sh\necho b\n"
	found, folder = source("#!", ["./job", "policy.json"], prepare=script(line))
	tap.equal("#!: the command itself", found, told(line, path=f"{folder}/job"))
	found, _ = source("-c", ["/bin/sh", "-c", text, "policy.json"])
	tap.equal("-c: the argument", found, told(text, argument=2))
	found, _ = source("-ec", ["/bin/sh", "-ec", text])
	tap.equal("-ec: options in one word", found, told(text, argument=2))
	found, _ = source("-e", ["/bin/sh", "-e", "job"], prepare=script(text))
	tap.equal("-e of a shell takes no text", found, None)
	found, _ = source("perl -e", ["/usr/bin/perl", "-e", "print 1"])
	tap.equal("perl -e: the argument", found, told("print 1", argument=2))
	found, _ = source("no interpreter", ["/bin/echo", "a"])
	tap.equal("no interpreter: none", found, None)
	large = "#" * (1 << 20) + "\n"
	found, folder = source("a large script", ["/bin/sh", "job"], prepare=script(large))
	tap.equal("a large script: why not", found, told(large, path=f"{folder}/job", sha256=None, not_hashed="it is larger than 1M"))
	found, _ = source("bytes", ["/bin/sh", "-c", b"echo \xff"], ["--show-source"])
	tap.equal("bytes that are no text", (found.get("text"), found.get("text_base64")), (None, "ZWNobyD/"))


def piped_source():
	folder = fresh("piped")
	text = "echo from a pipe\n"
	arguments = harness.arguments(folder, ["/bin/sh"], wide(folder))
	read, write_end = os.pipe()
	os.write(write_end, text.encode())
	os.close(write_end)
	done = subprocess.run(arguments, cwd=folder, env=ENVIRONMENT, stdin=read, capture_output=True, timeout=30, check=False)
	os.close(read)
	tap.equal("a here-document: still reaches the program", (done.returncode, done.stdout), (0, b"from a pipe\n"), done.stderr)
	tap.equal("a here-document: is the source", envelope(folder)["source"], told(text))
	with open(write(os.path.join(folder, "text"), text), "rb") as file:
		done = subprocess.run(arguments, cwd=folder, env=ENVIRONMENT, stdin=file, capture_output=True, timeout=30, check=False)
	tap.equal("a file on standard input: reaches the program", (done.returncode, done.stdout), (0, b"from a pipe\n"), done.stderr)
	tap.equal("a file on standard input: is the source", envelope(folder)["source"], told(text))


def open_pipe():
	"""Somebody may still write: what lies there is not all."""
	folder = fresh("open-pipe")
	read, write_end = os.pipe()
	process = start(folder, ["/bin/sh"], wide(folder), stdin=read)
	os.close(read)
	os.write(write_end, b"echo a\n")
	first = process.stdout.readline()
	os.close(write_end)
	code, _, stderr = finish(process)
	tap.equal("a pipe that is written to: reaches the program", (code, first), (0, b"a\n"), stderr)
	tap.equal("a pipe that is written to: what lies there is not all", envelope(folder)["source"], None)


def explained():
	folder = fresh("explained")
	text = "import sys\ndef read(name):\n\treturn open(name)\nread('/etc/shadow' if len(sys.argv) else '')\n"
	write(os.path.join(folder, "job.py"), text)
	run(folder, ["/usr/bin/python3", "job.py"], "python", ["--show-source", "--read", "job.py", "--deny", "/etc/shadow"])
	words = subprocess.run([BAILIFF, "explain", os.path.join(folder, "verdict.json")], capture_output=True, text=True, check=False).stdout
	shown = words.splitlines()[-4:]
	tap.equal("explain: the code beside its result", shown, ["  1      import sys", "  2      def read(name):",
		"  3    >     return open(name)", "  4    > read('/etc/shadow' if len(sys.argv) else '')"], words)
	tap.ok("explain: whose code it is", f"The text of the program ({len(text)} bytes, sha256 {hashlib.sha256(text.encode()).hexdigest()}):" in words, words)
	text = "echo a\nexit\n\0echo b\n"
	write(os.path.join(folder, "job.sh"), text)
	run(folder, ["/bin/sh", "job.sh"], wide(folder), ["--show-source"])
	words = subprocess.run([BAILIFF, "explain", os.path.join(folder, "verdict.json")], capture_output=True, text=True, check=False).stdout
	tap.equal("the text is in the verdict with its zero byte", envelope(folder)["source"].get("text"), text)
	tap.equal("explain: code behind a zero byte is said to be there", words.splitlines()[-3:], ["  1      echo a", "  2      exit", "  ..."], words)


programs()
made_programs()
states()
replaced()
bounds()
closed_at_once()
odd_names()
copied_in()
standard_input()
interrupted()
stuck()
closed()
sources()
piped_source()
open_pipe()
explained()
tap.ok("nothing is left", not [name for name in os.listdir(ENVIRONMENT["TMPDIR"]) if name.startswith("bailiff-")], os.listdir(SCRATCH))
tap.end()
