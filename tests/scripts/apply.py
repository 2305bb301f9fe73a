#!/usr/bin/python3
"""`explain --apply 1` opens exactly what was blocked, for every kind of rule that a policy can open. Prints TAP.

Each case has two commands that the same rule blocks: with the first suggestion for the first one in the policy, that one
passes and the other one is blocked as before."""

import json
import os
import re
import shutil
import socket
import subprocess

import harness
from harness import BAILIFF, ENVIRONMENT, LANDLOCK, fresh

tap = harness.Tap()
PYTHON = "/usr/bin/python3"


def bailiff(folder, *words, **settings):
	return subprocess.run([BAILIFF, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=60, check=False,
		**(settings or {"stdin": subprocess.DEVNULL}))


def write(folder, name, text):
	path = os.path.join(folder, name)
	with open(path, "w", encoding="utf-8") as file:
		file.write(text)
	return path


def policy_text(keys, spread):
	"""The same policy on one line, or with a comment on every line."""
	if not spread:
		return "/* kept */ " + json.dumps({"extends": "default", **keys}) + "\n"
	lines = json.dumps({"extends": "default", **keys}, indent="\t").splitlines()
	return "".join(f"{line} // kept {number}\n" for number, line in enumerate(lines))


def comments(text):
	return re.findall(r"kept(?: \d+)?", text)


def run(folder, policy, command, verdict):
	done = bailiff(folder, "run", "-p", policy, "-o", verdict, *LANDLOCK, "--", *command)
	with open(os.path.join(folder, verdict), encoding="utf-8") as file:
		return done, json.load(file)


def check(name, rule, keys, first, second, prepare=None, spread=True):
	folder = fresh("apply")
	if prepare:
		prepare(folder)
	text = policy_text(keys, spread)
	before = write(folder, "before.json", text)
	for command, verdict in ((second, "second.json"), (first, "first.json")):
		_, told = run(folder, before, command, verdict)
		if not tap.equal(f"{name}: blocked", told["rule"], rule, told["summary"], told["error"]):
			return
	applied = bailiff(folder, "explain", "--apply", "1", before, "first.json")
	patched = write(folder, "after.json", applied.stdout.decode())
	tap.equal(f"{name}: comments come out where they were", comments(open_text(patched)), comments(text), applied)
	tap.ok(f"{name}: the file stays as it is", applied.returncode == 0 and open_text(before) == text, applied)
	done, told = run(folder, patched, first, "first.json")
	tap.ok(f"{name}: it passes", (done.returncode, told["status"]) == (0, "completed"), told["summary"], done, open_text(patched))
	_, told = run(folder, patched, second, "second.json")
	tap.equal(f"{name}: the other one stays blocked", told["rule"], rule, told["summary"], open_text(patched))


def open_text(path):
	with open(path, encoding="utf-8") as file:
		return file.read()


def files(folder):
	for name in ("one", "two"):
		write(folder, name, "text\n")


def programs(folder):
	for name in ("one", "two"):
		shutil.copy("/bin/true", os.path.join(folder, name))


def sockets(folder):
	for name in ("one", "two"):
		with socket.socket(socket.AF_UNIX) as server:
			server.bind(os.path.join(folder, name))


def shell(text):
	return ["sh", "-c", text]


def python(text):
	return [PYTHON, "-c", f"import os, socket, time\n{text}"]


def attempt(call):
	"""Once the policy allows it, nobody answers: that is not its matter."""
	return python(f"try: {call}\nexcept ConnectionRefusedError: pass")


def free_ports():
	with socket.socket() as one, socket.socket() as two:
		for each in (one, two):
			each.bind(("127.0.0.1", 0))
		return one.getsockname()[1], two.getsockname()[1]


def check_paths():
	execute = {"paths": {"execute": ["/usr/bin/cat"], "read": []}}
	check("read", "policy_blocked_read", execute, ["cat", "one"], ["cat", "two"], files)
	check("read, on one line", "policy_blocked_read", execute, ["cat", "one"], ["cat", "two"], files, spread=False)
	check("read, no paths in the policy", "policy_blocked_read", {}, ["cat", "one"], ["cat", "two"], files)
	check("write", "policy_blocked_write", {"paths": {"write": ["/dev/full"]}}, shell(": > one"), shell(": > two"))
	check("write, no list", "policy_blocked_write", {"paths": {}}, shell(": > one"), shell(": > two"), files)
	check("execute", "policy_blocked_execute", {}, ["./one"], ["./two"], programs)
	for keys in ({}, {"paths": {}}, {"paths": {"read": ["/dev/full"]}}, {"paths": {"read": [], "write": []}}):
		told = run_both(keys)
		check(f"read and write under {json.dumps(keys)}", told, keys, shell(": <> one"), shell(": <> two"), files)
	check("stat", "policy_blocked_stat", {"paths": {"stat": "listed"}}, shell("test -e one"), shell("test -e two"), files)


def run_both(keys):
	"""Which of the two lists is missed first is another test's matter."""
	folder = fresh("both")
	files(folder)
	return run(folder, write(folder, "p.json", policy_text(keys, True)), shell(": <> one"), "v.json")[1]["rule"]


def check_network():
	extends = {"extends": "python"}
	one, two = free_ports()
	for name, keys in (("", extends), (", beside another", {**extends, "network": {"connect": ["192.0.2.1:1"], "bind": ["192.0.2.1:1"]}})):
		check(f"connect{name}", "policy_blocked_network", keys, *[
			attempt(f"socket.socket().connect(('127.0.0.1', {port}))") for port in (one, two)])
		check(f"bind{name}", "policy_blocked_bind", keys, *[python(f"socket.socket().bind(('127.0.0.1', {port}))") for port in (one, two)])
	check("connect by IPv6", "policy_blocked_network", extends, *[
		attempt(f"socket.socket(socket.AF_INET6).connect(('::1', {port}))") for port in (one, two)])
	check("connect to a path", "policy_blocked_network", extends, *[
		attempt(f"socket.socket(socket.AF_UNIX).connect('{name}')") for name in ("one", "two")], sockets)
	check("connect to an abstract name", "policy_blocked_network", extends, *[
		attempt(f"socket.socket(socket.AF_UNIX).connect('\\0apply-{name}-{os.getpid()}')") for name in ("one", "two")])


def check_calls():
	queue = "import ctypes\nctypes.CDLL(None).msgget(0x7a11, 0)"
	for keys in ({"extends": "python"}, {"extends": "python", "syscalls": {"allow": ["semget"]}}):
		check(f"system call under {json.dumps(keys)}", "policy_blocked_syscall", keys, python("os.memfd_create('x')"), python(queue))


def check_limits():
	check("output", "resource_limit_output", {"limits": {"output": 100}}, shell("printf %0150d 1"), shell("printf %0250d 1"))
	check("wall", "timeout_wall", {"limits": {"wall": "1s"}}, ["sleep", "1.3"], ["sleep", "5"])
	check("cpu", "timeout_cpu", {"extends": "python", "limits": {"cpu": "500ms"}}, *[
		python(f"while time.process_time() < {seconds}: pass") for seconds in (0.7, 3)])
	check("processes", "resource_limit_processes", {"limits": {"processes": 2}}, *[
		shell("sleep 0.3 & " * count + "wait") for count in (2, 6)])
	check("file size", "resource_limit_file_size", {"paths": {"write": ["${CWD}/made"]}, "limits": {"file_size": 1000}}, *[
		shell(f"head -c {size} /dev/zero > made") for size in (1500, 3000)])


def check_private_folder():
	"""What the run calls by a name of its own comes back with its variable: in the next run it is another folder."""
	bare = {"paths": {"execute": ["/usr/bin/*", "/bin/*"], "read": ["/usr/**", "/lib/**", "/lib64/**", "/etc/ld.so.*"],
		"write": ["${WORKSPACE}/other"]}}
	folder = fresh("private")
	before = write(folder, "before.json", json.dumps(bare))
	run(folder, before, shell(": > \"$HOME/made\""), "v.json")
	applied = bailiff(folder, "explain", "--apply", "1", before, "v.json")
	tap.ok("a private name comes back with its variable", b'["${WORKSPACE}/other", "${WORKSPACE}/made"]' in applied.stdout, applied)
	after = write(folder, "after.json", applied.stdout.decode())
	done, told = run(folder, after, shell(": > \"$HOME/made\""), "v.json")
	tap.equal("and opens it in the next run", done.returncode, 0, told["summary"])


def refused(name, folder, words, message, **settings):
	done = bailiff(folder, "explain", *words, **settings)
	tap.ok(name, (done.returncode, done.stdout, done.stderr.decode().count("\n")) == (125, b"", 1) and
		message in done.stderr.decode(), done)


def check_refusals():
	folder = fresh("refusals")
	files(folder)
	policy = write(folder, "p.json", policy_text({}, True))
	with open(os.path.join(os.fsencode(folder), b"n\xff"), "wb"):
		pass
	run(folder, policy, ["cat", b"n\xff"], "name.json")
	run(folder, policy, ["unshare", "-U", "true"], "never.json")
	run(folder, policy, ["true"], "fine.json")
	_, told = run(folder, policy, ["cat", "one"], "v.json")
	refused("a name that is not UTF-8", folder, ("--apply", "1", policy, "name.json"), "The name is not UTF-8")
	refused("what nothing opens", folder, ("--apply", "1", policy, "never.json"), "No entry in a policy")
	refused("no failure", folder, ("--apply", "1", policy, "fine.json"), "has no failure")
	refused("a number too high", folder, ("--apply", "3", policy, "v.json"), "the verdict has 2 suggestions")
	for number in ("0", "-1", "x", "1x", "99999999999999999999"):
		refused(f"the number {number}", folder, (f"--apply={number}", policy, "v.json"), "--apply takes")
	refused("no policy", folder, ("--apply", "1"), "needs a policy")
	refused("no such policy", folder, ("--apply", "1", "./none.json", "v.json"), "./none.json: ")
	refused("a policy with a fault", folder, ("--apply", "1", write(folder, "bad.json", "{\n\"reed\": 1}"), "v.json"), "bad.json:2:1: ")
	refused("with --format", folder, ("--apply", "1", "--format", "json", policy, "v.json"), "--format does not go with it")
	refused("an unknown format", folder, ("--format", "html", "v.json"), "--format takes text, markdown or json")
	for pointer, value in (("/on_violation", "log"), ("/environment/set/PATH", "/tmp"), ("/extends", "x"), ("", {"on_violation": "log"}),
			("/pathsx", "x")):
		told["first_failure"]["suggestions"][0] = {"pointer": pointer, "value": value, "opens": "nothing"}
		refused(f"a forged suggestion at {pointer!r}", folder, ("--apply", "1", policy, "-"), "adds to no list",
			input=json.dumps(told).encode())
	told["first_failure"]["suggestions"][0] = {"pointer": "/paths/read/-", "value": "relative", "opens": "nothing"}
	refused("a suggestion that is no entry", folder, ("--apply", "1", policy, "-"), "with the suggestion applied: ",
		input=json.dumps(told).encode())


def main():
	for part in (check_paths, check_network, check_calls, check_limits, check_private_folder, check_refusals):
		part()
	tap.end()


main()
