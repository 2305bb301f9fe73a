#!/usr/bin/python3
"""Landlock behind the decisions: that it is on when the verdict says so, and that what a run may do is the same without it.
Prints TAP."""

import ctypes
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from commands import with_call_refused  # noqa: E402
from harness import BAILIFF, Tap, finish, fresh, run, start, verdict, write_policy  # noqa: E402

NEWEST_ABI = 7
CREATE_RULESET, RESTRICT_SELF, EPERM = 444, 446, 1
tap = Tap()


def doctor(**options):
	done = subprocess.run([BAILIFF, "doctor", "--json"], capture_output=True, text=True, check=False, **options)
	report = json.loads(done.stdout)
	return report["landlock_abi"], [layer for layer in report["layers"] if layer["name"] == "landlock"][0]


ABI, LAYER = doctor()
APPLIED = min(ABI, NEWEST_ABI)


def applied(folder):
	return verdict(folder)["envelope"]["engine"]["landlock"]


def notes(folder):
	return " ".join(note["text"] for note in verdict(folder)["notes"])


# ---- which ABI was applied ----

def check_modes():
	tap.equal("doctor finds by trying what auto will use", LAYER["available"], ABI > 0, LAYER)
	for mode, expected in (("off", 0), ("auto", APPLIED), ("require", APPLIED)):
		folder = fresh(mode)
		code, _, stderr = run(folder, ["/bin/true"], options=["--landlock", mode])
		if mode == "require" and not ABI:
			tap.equal("require fails where the kernel has none", (code, verdict(folder)["status"]), (125, None), stderr)
			continue
		tap.equal(f"{mode}: the verdict tells the ABI", (code, applied(folder)), (0, expected), stderr)
		tap.ok(f"{mode}: no note about what is as it should be", "Landlock" not in notes(folder), notes(folder))


def check_left_out():
	"""What rules it out: under auto a note, under require an error."""
	listing = {"read": ["/proc/*/environ"], "execute": []}
	everything = {"read": ["/**"], "write": ["/**"], "execute": ["/**"]}
	rows = (("under log", {}, ["--on-violation", "log"], "on_violation is log"),
		("files of other processes", {"paths": listing}, [], "files of other processes"),
		("a policy that allows everything", {"paths": everything}, [], "files of other processes"))
	for name, keys, options, reason in rows:
		folder = fresh("left-out")
		policy = write_policy(folder, **keys)
		code, _, _ = run(folder, ["/bin/true"], policy, [*options, "--landlock", "auto"])
		tap.equal(f"{name}: none is applied", (code, applied(folder)), (0, 0))
		tap.ok(f"{name}: a note says why", reason in notes(folder) if ABI else "Landlock" not in notes(folder), notes(folder))
		code, _, _ = run(folder, ["/bin/true"], policy, [*options, "--landlock", "require"])
		error = verdict(folder)["error"] or {}
		tap.equal(f"{name}: require fails", code, 125)
		tap.ok(f"{name}: and says why", (reason if ABI else "no Landlock") in error.get("message", ""), error)


def check_refused():
	"""A host that refuses one of the calls, as a container's profile may."""
	for number, name in ((CREATE_RULESET, "landlock_create_ruleset"), (RESTRICT_SELF, "landlock_restrict_self")):
		folder = fresh("refused")
		code, _, _ = run(folder, ["/bin/true"], options=["--landlock", "auto"], preexec_fn=with_call_refused(number, EPERM))
		tap.equal(f"{name} refused: the run completes without", (code, applied(folder)), (0, 0))
		code, _, _ = run(folder, ["/bin/true"], options=["--landlock", "require"], preexec_fn=with_call_refused(number, EPERM))
		tap.equal(f"{name} refused: require fails", (code, verdict(folder)["status"]), (125, None))
	_, layer = doctor(preexec_fn=with_call_refused(RESTRICT_SELF, EPERM))
	tap.equal("doctor finds by trying that it cannot be had", layer["available"], False, layer)
	if ABI:
		folder = fresh("refused")
		run(folder, ["/bin/true"], options=["--landlock", "auto"], preexec_fn=with_call_refused(RESTRICT_SELF, EPERM))
		tap.ok("an error is told in a note", "Landlock was not applied" in notes(folder), notes(folder))


# ---- that it is on ----

def without_rights():
	"""For preexec_fn: a process of root's that a target may look into has no more capabilities than the target."""
	libc = ctypes.CDLL(None)
	for capability in range(64):
		libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def check_evidence():
	"""Every member of a Landlock domain is kept from looking into processes outside it, whatever the ruleset holds; no
	decision is about that, since it is metadata. So the kernel itself tells whether the target is in a domain."""
	outside = subprocess.Popen(["/bin/sleep", "60"], preexec_fn=without_rights)
	link = f"/proc/{outside.pid}/exe"
	for mode, expected in (("off", os.path.realpath("/bin/sleep") + "\n"), ("auto", "" if ABI else os.path.realpath("/bin/sleep") + "\n")):
		folder = fresh("evidence")
		_, stdout, _ = run(folder, ["/bin/readlink", link], options=["--landlock", mode])
		tap.equal(f"{mode}: a link into another process", stdout.decode(), expected)
	outside.kill()
	outside.wait()


# ---- that nothing else changes ----

SERVER = """
import os, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b"x"); print("tcp", server.accept()[0].recv(1))
name = "\\0bailiff-%d" % os.getpid()
server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(name); print("abstract")
path = os.environ["TMPDIR"] + "/socket"
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(path); print("path")
"""

TERMINAL = """
import fcntl, os
master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
fcntl.ioctl(master, 0x40045431, b"\\0\\0\\0\\0")  # TIOCSPTLCK
slave = fcntl.ioctl(master, 0x5441, os.O_RDWR | os.O_NOCTTY)  # TIOCGPTPEER
os.write(slave, b"x"); print(os.read(master, 1))
"""

PRESENCE = """
import ctypes, errno, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
outside = int(sys.argv[1])
gone = os.spawnl(os.P_NOWAIT, "/bin/true", "true"); os.waitpid(gone, 0)
def result(value):
	return errno.errorcode[ctypes.get_errno()] if value < 0 else "there"
for call in (lambda: libc.kill(outside, 0), lambda: libc.kill(-os.getpgid(outside), 0), lambda: libc.kill(gone, 0),
		lambda: libc.tgkill(outside, outside, 0), lambda: libc.kill(os.getpid(), 0), lambda: libc.kill(0, 0),
		lambda: libc.syscall(424, os.pidfd_open(outside), 0, 0, 0)):
	print(result(call()))
"""

QUEUE = """
import ctypes
libc = ctypes.CDLL("librt.so.1", use_errno=True)
name = b"/bailiff-%d" % __import__("os").getpid()
queue = libc.mq_open(name, 0o102, 0o600, None)
print(queue >= 0, libc.mq_unlink(name))
"""

NAMES = """
import ctypes, os
os.chdir(os.environ["TMPDIR"])
os.makedirs("a/b"); os.makedirs("c")
fd = os.open("a", os.O_TMPFILE | os.O_WRONLY, 0o600)
os.write(fd, b"text"); ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"a/linked", 0x400)
os.rename("a/linked", "c/moved"); os.link("c/moved", "a/hard"); os.symlink("hard", "a/soft"); os.mkfifo("a/fifo")
os.truncate("c/moved", 2); open("a/hard", "r+").truncate(1)
os.rename("a", "c/a")
print(sorted(os.listdir("c/a")), open("c/a/soft").read())
"""

PYTHON = "/usr/bin/python3"
BUILD = "rm -rf build && mkdir build && cp /bin/true build/program && build/program && echo ran > build/log && cat build/log"
WORKSPACE = 'rm -rf "$TMPDIR" && mkdir "$TMPDIR" && echo again > "$TMPDIR/file" && cat "$TMPDIR/file"'

FLOWS = [  # name, command, keys of the policy, standard output
	("the workspace is removed and made again", ["/bin/sh", "-c", WORKSPACE], {}, "again\n"),
	("a listed folder is removed, made again, and a program in it executed", ["/bin/sh", "-c", BUILD],
		{"paths": {kind: ["${CWD}/build/**"] for kind in ("read", "write", "execute")}}, "ran\n"),
	("sockets of the run's own", [PYTHON, "-c", SERVER], {"network": {"bind": ["127.0.0.1:0", "unix:@bailiff-*"]}},
		"tcp b'x'\nabstract\npath\n"),
	("a terminal by its other end", [PYTHON, "-c", TERMINAL], {"paths": {"read": ["/dev/ptmx"], "write": ["/dev/ptmx"]}}, "b'x'\n"),
	("a message queue", [PYTHON, "-c", QUEUE], {"syscalls": {"allow": ["mq_open"]}}, "True 0\n"),
	("names are made, moved and linked", [PYTHON, "-c", NAMES], {}, "['b', 'fifo', 'hard', 'soft'] t\n"),
]


def check_flows():
	for name, command, keys, expected in FLOWS:
		for mode in ("off", "auto"):
			folder = fresh("flow")
			code, stdout, stderr = run(folder, command, write_policy(folder, **keys), ["--landlock", mode])
			tap.equal(f"{name}: {mode}", (code, stdout.decode(), verdict(folder)["violations"]["total"]), (0, expected, 0), stderr.decode())


def check_presence():
	outside = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
	expected = "there\nthere\nESRCH\nthere\nthere\nthere\nthere\n"
	for mode in ("off", "auto"):
		folder = fresh("presence")
		code, stdout, stderr = run(folder, [PYTHON, "-c", PRESENCE, str(outside.pid)], options=["--landlock", mode])
		tap.equal(f"whether somebody is there: {mode}", (code, stdout.decode()), (0, expected), stderr.decode())
	outside.kill()
	outside.wait()


def check_replaced():
	"""A listed file that somebody outside replaces by rename, and one that somebody makes, while the run goes on."""
	for mode in ("off", "auto"):
		folder = fresh("replaced")
		path, later = os.path.join(folder, "in.csv"), os.path.join(folder, "later")
		with open(path, "w", encoding="ascii") as file:
			file.write("old\n")
		policy = write_policy(folder, paths={"read": [path, later]})
		process = start(folder, ["/bin/sh", "-c", "cat in.csv; read go; cat in.csv later"], policy, ["--landlock", mode],
			stdin=subprocess.PIPE)
		first = process.stdout.readline()
		for name in (path, later):
			with open(name + ".new", "w", encoding="ascii") as file:
				file.write(f"new {os.path.basename(name)}\n")
			os.rename(name + ".new", name)
		process.stdin.write(b"\n")
		process.stdin.flush()
		code, rest, stderr = finish(process)
		tap.equal(f"a file replaced from outside: {mode}", (code, first + rest), (0, b"old\nnew in.csv\nnew later\n"), stderr.decode())


def main():
	for check in (check_modes, check_left_out, check_refused, check_evidence, check_flows, check_presence, check_replaced):
		check()
	tap.end()


if __name__ == "__main__":
	main()
