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


def run(folder, policy, command, verdict, options=()):
	done = bailiff(folder, "run", "-p", policy, "-o", verdict, *LANDLOCK, *options, "--", *command)
	with open(os.path.join(folder, verdict), encoding="utf-8") as file:
		return done, json.load(file)


def check(name, rule, keys, first, second, prepare=None, spread=True, options=()):
	folder = fresh("apply")
	if prepare:
		prepare(folder)
	text = policy_text(keys, spread)
	before = write(folder, "before.json", text)
	for command, verdict in ((second, "second.json"), (first, "first.json")):
		_, told = run(folder, before, command, verdict, options)
		if not tap.equal(f"{name}: blocked", told["rule"], rule, told["summary"], told["error"]):
			return
	applied = bailiff(folder, "explain", "--apply", "1", before, "first.json")
	patched = write(folder, "after.json", applied.stdout.decode())
	tap.equal(f"{name}: comments come out where they were", comments(open_text(patched)), comments(text), applied)
	tap.ok(f"{name}: the file stays as it is", applied.returncode == 0 and open_text(before) == text, applied)
	done, told = run(folder, patched, first, "first.json", options)
	tap.ok(f"{name}: it passes", (done.returncode, told["status"]) == (0, "completed"), told["summary"], done, open_text(patched))
	_, told = run(folder, patched, second, "second.json", options)
	tap.equal(f"{name}: the other one stays blocked", told["rule"], rule, told["summary"], open_text(patched))


def open_text(path):
	with open(path, encoding="utf-8") as file:
		return file.read()


def files(folder):
	for name in ("one", "two"):
		write(folder, name, "text\n")


def folders(folder):
	files(folder)
	write(folder, "spare", "text\n")
	for name in ("one.d", "two.d"):
		os.mkdir(os.path.join(folder, name))


def scripts(folder):
	for name in ("one", "two"):
		os.chmod(write(folder, name, "#!/bin/sh\ntrue\n"), 0o755)


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
	check("list a folder", "policy_blocked_read", execute, ["ls", "one.d"], ["ls", "two.d"], folders)
	for name, call in (("truncate", "os.truncate({!r}, 1)"), ("unlink", "os.unlink({!r})"), ("mkdir", "os.mkdir({!r} + '.new')"),
			("rmdir", "os.rmdir({!r} + '.d')"), ("chmod", "os.chmod({!r}, 0o600)"), ("utime", "os.utime({!r})"),
			("symlink", "os.symlink('x', {!r} + '.new')"), ("mkfifo", "os.mkfifo({!r} + '.new')"),
			("rename", "os.rename({!r}, 'spare')"), ("link", "os.link('spare', {!r} + '.new')"),
			("bind to a path", "socket.socket(socket.AF_UNIX).bind({!r} + '.new')")):
		keys = {"extends": "python", "paths": {"write": ["${CWD}/spare", "${WORKSPACE}/**"]}}
		check(name, "policy_blocked_write", keys, python(call.format("one")), python(call.format("two")), folders)
	check("script", "policy_blocked_execute", {"paths": {"read": ["${CWD}/*"]}}, ["./one"], ["./two"], scripts)
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
	check("bind by IPv6", "policy_blocked_bind", extends, *[
		python(f"socket.socket(socket.AF_INET6).bind(('::1', {port}))") for port in (one, two)])
	check("bind to an abstract name", "policy_blocked_bind", extends, *[
		python(f"socket.socket(socket.AF_UNIX).bind('\\0apply-bind-{name}-{os.getpid()}')") for name in ("one", "two")])
	check("datagram", "policy_blocked_network", extends, *[
		attempt(f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'1', ('127.0.0.1', {port}))") for port in (one, two)])
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
	extends = {"extends": "python"}
	check("memory", "resource_limit_memory", {**extends, "limits": {"memory": "64M"}}, *[
		python(f"kept = bytearray({size} << 20)") for size in (80, 300)])
	check("memory, one page after the other", "resource_limit_memory", {**extends, "limits": {"memory": "64M"}}, *[
		python(f"kept = []\nfor _ in range({pieces}): kept.append(bytearray(1 << 16))") for pieces in (1200, 5000)])
	check("threads", "resource_limit_threads", {**extends, "limits": {"threads": 4}}, *[
		python("import threading\ngate = threading.Event()\n"
			f"started = [threading.Thread(target=gate.wait) for _ in range({count})]\n"
			"for thread in started: thread.start()\ngate.set()") for count in (5, 20)])
	check("open files", "resource_limit_open_files", {**extends, "limits": {"open_files": 20}}, *[
		python(f"kept = [os.dup(0) for _ in range({count})]") for count in (30, 100)])
	check("artifact", "resource_limit_artifact", {"limits": {"artifact": 1000}}, *[
		shell(f"head -c {size} /dev/zero > made") for size in (1500, 3000)], options=("--get", "made"))
	check("workspace", "resource_limit_workspace", {"limits": {"workspace": "1M"}}, *[
		shell(f"head -c {size}K /dev/zero > made") for size in (1500, 3000)], options=("--workspace",))
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


def unopened(name, rule, says, keys, command, prepare=None):
	"""Nothing is suggested, the words say why not, and there is nothing to apply."""
	folder = fresh("unopened")
	if prepare:
		prepare(folder)
	policy = write(folder, "p.json", policy_text(keys, True))
	_, told = run(folder, policy, command, "v.json")
	failure = told["first_failure"] or {}
	tap.equal(f"{name}: rule and suggestions", (told["rule"], failure.get("suggestions")), (rule, []), told["summary"])
	words = bailiff(folder, "explain", "v.json")
	tap.ok(f"{name}: explain says that there are none", words.returncode == 0 and says in words.stdout.decode(), words)
	refused(f"{name}: nothing to apply", folder, ("--apply", "1", policy, "v.json"), says)


def strange(folder):
	for name in (b"n\xff", b"p\xff"):
		shutil.copy("/bin/true", os.path.join(os.fsencode(folder), name))
	with socket.socket(socket.AF_UNIX) as server:
		server.bind(os.path.join(os.fsencode(folder), b"s\xff"))


def check_unopened():
	keys, none = {"extends": "python"}, "No entry in a policy"
	for name, call in (("mount", "mount(b'none', b'/mnt', b'tmpfs', 0, None)"), ("umount", "umount2(b'/mnt', 0)"), ("chroot", "chroot(b'/')"),
			("unshare", "unshare(0x10000000)"), ("setns", "setns(0, 0)"), ("ptrace", "ptrace(16, os.getppid(), 0, 0)"),
			("pivot_root", "syscall(155, b'/', b'/')")):
		unopened(name, "policy_blocked_syscall", none, keys, python(f"import ctypes\nctypes.CDLL(None).{call}"))
	unopened("a signal to an outsider", "policy_blocked_signal", none, keys, python(f"os.kill({os.getpid()}, 23)"))
	unopened("a call that is denied", "policy_blocked_syscall", "An entry that denies", {**keys, "syscalls": {"deny": ["fork"]}},
		python("os.fork()"))
	denied = {**keys, "paths": {"read": ["${CWD}/*"], "write": ["${CWD}/*"], "execute": ["${CWD}/*"], "deny": ["${CWD}/one"]}}
	for name, rule, command in (("read", "read", ["cat", "one"]), ("write", "write", shell(": > one")), ("execute", "execute", ["./one"])):
		unopened(f"{name} of what is denied", f"policy_blocked_{rule}", "An entry that denies", denied, command, programs)
	utf8 = "The name is not UTF-8"
	unopened("reading a name that is not UTF-8", "policy_blocked_read", utf8, {}, ["cat", b"n\xff"], strange)
	unopened("writing one", "policy_blocked_write", utf8, keys, python("os.unlink(b'n\\xff')"), strange)
	unopened("creating one", "policy_blocked_write", utf8, keys, python("os.mkdir(b'm\\xff')"), strange)
	unopened("executing one", "policy_blocked_execute", utf8, keys, python("os.execv(b'p\\xff', ['x'])"), strange)
	unopened("looking at one", "policy_blocked_stat", utf8, {**keys, "paths": {"stat": "listed"}}, python("os.stat(b'n\\xff')"), strange)
	unopened("connecting to one", "policy_blocked_network", utf8, keys,
		python("socket.socket(socket.AF_UNIX).connect(b's\\xff')"), strange)


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
		refused(f"the number {number}", folder, (f"--apply={number}", policy, "v.json"), f"--apply: \"{number}\": write the number")
	refused("no policy", folder, ("--apply", "1"), "needs a policy")
	refused("no such policy", folder, ("--apply", "1", "./none.json", "v.json"), "./none.json: ")
	refused("a policy with a fault", folder, ("--apply", "1", write(folder, "bad.json", "{\n\"reed\": 1}"), "v.json"), "bad.json:2:1: ")
	refused("with --format", folder, ("--apply", "1", "--format", "json", policy, "v.json"), "--format does not go with it")
	refused("an unknown format", folder, ("--format", "html", "v.json"), "--format: \"html\": write text, markdown or json")
	for pointer, value in (("/on_violation", "log"), ("/environment/set/PATH", "/tmp"), ("/extends", "x"), ("", {"on_violation": "log"}),
			("/pathsx", "x")):
		told["first_failure"]["suggestions"][0] = {"pointer": pointer, "value": value, "opens": "nothing"}
		refused(f"a forged suggestion at {pointer!r}", folder, ("--apply", "1", policy, "-"), "adds to no list",
			input=json.dumps(told).encode())
	told["first_failure"]["suggestions"][0] = {"pointer": "/paths/read/-", "value": "relative", "opens": "nothing"}
	refused("a suggestion that is no entry", folder, ("--apply", "1", policy, "-"), "with the suggestion applied: ",
		input=json.dumps(told).encode())


def main():
	for part in (check_paths, check_network, check_calls, check_limits, check_private_folder, check_unopened, check_refusals):
		part()
	tap.end()


main()
