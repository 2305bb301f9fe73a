#!/usr/bin/python3
"""The hosts of policies/examples/tool-call, in Python, C and shell: each outcome, and what a program does to deceive them."""

import importlib.util
import os
import re
import signal
import socket
import subprocess
import threading

import harness
from harness import BAILIFF, ENVIRONMENT, fresh

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "policies", "examples", "tool-call")
FORGED = '{"schema":"bailiff.verdict/1","bailiff":"0.1.0","status":"completed","rule":null,"summary":"","error":null}'
MEGABYTES = 1 << 20
tap = harness.Tap()

# name: (program, first line, exit status, result)
PROGRAMS = {
	"it completes": (None, "completed -", 0, b"15.12\n"),
	"it leaves no result": ("print('no')", "completed -", 0, None),
	"it fails": ("open('result', 'w').write('half'); raise SystemExit(3)", "runtime_error runtime_error_exit", 1, b"half"),
	"it is killed": ("import os; os.abort()", "runtime_error runtime_error_signal", 1, None),
	"it pretends to have been blocked": (f"import sys; print({FORGED!r}, file=sys.stderr); print({FORGED!r}); sys.exit(122)",
		"runtime_error runtime_error_exit", 1, None),
	"it pretends to have completed": (f"import os; os.write(2, b'''\\n{FORGED}\\n'''); os.write(1, b'''{FORGED}\\n'''); "
		"open('/etc/shadow')", "policy_blocked policy_blocked_read", 1, None),
	"it takes too long": ("while True: pass", "timeout timeout_cpu", 1, None),
	"it prints too much": ("open('result', 'w').write('early'); print('x' * 100000)", "resource_limit resource_limit_output", 1, b"early"),
	"it wants too much memory": ("bytearray(1 << 30)", "resource_limit resource_limit_memory", 1, None),
	"it leaves too much": (f"open('result', 'w').write('x' * {2 * MEGABYTES})", "resource_limit resource_limit_artifact", 1, None),
	"it leaves a link": ("import os; os.symlink('/etc/passwd', 'result')", "completed -", 0, None),
	"it calls out": ("import socket; socket.create_connection(('192.0.2.1', 80))", "policy_blocked policy_blocked_network", 1, None),
	"it prints what is not UTF-8": ("import os; os.write(1, b'a\\xff\\0'); open('result', 'wb').write(b'\\xff\\0')", "completed -", 0, b"\xff\0"),
}


def write(path, text):
	with open(path, "w", encoding="utf-8") as file:
		file.write(text)
	return path


def read(path):
	if not os.path.exists(path):
		return None
	with open(path, "rb") as file:
		return file.read()


def hosts(folder):
	"""{name: what is executed}"""
	program = os.path.join(folder, "call_tool")
	built = subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, f"{EXAMPLE}/call_tool.c", "-lcjson"],
		capture_output=True, text=True, check=False)
	tap.equal("the host in C is built without a warning", (built.returncode, built.stderr), (0, ""))
	return {"C": [program], "shell": ["/bin/sh", f"{EXAMPLE}/call_tool.sh"], "Python": ["/usr/bin/python3", f"{EXAMPLE}/sandbox.py"]}


def call(host, *arguments, bailiff=BAILIFF):
	"""(exit status, first line, other lines, standard error)"""
	environment = {**ENVIRONMENT, "BAILIFF": bailiff, "PYTHONDONTWRITEBYTECODE": "1"}
	done = subprocess.run([*host, *arguments], cwd=harness.SCRATCH, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
		text=True, errors="replace", timeout=120, check=False)
	lines = done.stdout.splitlines() or [""]
	return done.returncode, lines[0], lines[1:], done.stderr


def outcomes(name, host, folder):
	policy = write(f"{folder}/policy.json", '{"extends": "%s/tool-call.json", "limits": {"cpu": "1s"}}' % EXAMPLE)
	for what, (text, first, code, result) in PROGRAMS.items():
		program = write(f"{folder}/program", text) if text else f"{EXAMPLE}/program.py"
		saved = f"{folder}/result"
		if os.path.exists(saved):
			os.unlink(saved)
		ended, line, others, stderr = call(host, policy, program, f"{EXAMPLE}/input", saved)
		told = f"result {len(result)} bytes" if result is not None else "no result"
		tap.equal(f"{name}, {what}", (ended, line, read(saved)), (code, first, result), others, stderr)
		tap.ok(f"{name}, {what}: the result is told", any(other.startswith(told) for other in others), others, stderr)


def errors(name, host, folder):
	"""No outcome of the program's: exit status 2, a reason, and no result."""
	given = (f"{EXAMPLE}/tool-call.json", f"{EXAMPLE}/program.py", f"{EXAMPLE}/input", f"{folder}/none")
	bad = write(f"{folder}/bad.json", '{"extends": "python", "limit": {}}')
	for what, arguments, bailiff, words in (
			("a policy with a mistake", (bad, *given[1:]), BAILIFF, "limit"),
			("no such input", (*given[:2], f"{folder}/nothing", given[3]), BAILIFF, "nothing"),
			("no bailiff", given, f"{folder}/no-bailiff", "no-bailiff")):
		ended, line, others, stderr = call(host, *arguments, bailiff=bailiff)
		tap.equal(f"{name}, {what}: an error, not an outcome", (ended, line, others, read(given[3])), (2, "error", [], None), stderr)
		tap.ok(f"{name}, {what}: the reason is said", words in stderr, stderr)


def stub(folder, text, code):
	"""A bailiff of a kind that there is not: it writes this in place of a verdict."""
	path = write(f"{folder}/stub", f"""#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in -o) to="$2" ;; esac; shift; done
case "${{to:-}}" in fd:3) exec >&3 ;; ?*) exec >"$to" ;; esac
cat <<'END'
{text}
END
exit {code}
""")
	os.chmod(path, 0o755)
	return path


def strange_verdicts(name, host, folder):
	given = (f"{EXAMPLE}/tool-call.json", f"{EXAMPLE}/program.py", f"{EXAMPLE}/input", f"{folder}/none")
	for what, text in (
			("half a verdict", '{"schema":"bailiff.verdict/1","bailiff":"0.1.0","sta'),
			("nothing", ""),
			("an unknown status", FORGED.replace('"completed"', '"half_completed"')),
			("an unknown schema", FORGED.replace("verdict/1", "verdict/2")),
			("an error", FORGED.replace('"status":"completed"', '"status":null').replace('"error":null', '"error":{"message":"m"}'))):
		ended, line, others, stderr = call(host, *given, bailiff=stub(folder, text, 0))
		tap.equal(f"{name}, {what} with exit status 0: an error", (ended, line, others), (2, "error", []), stderr)


def module():
	os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
	specification = importlib.util.spec_from_file_location("sandbox", f"{EXAMPLE}/sandbox.py")
	loaded = importlib.util.module_from_spec(specification)
	specification.loader.exec_module(loaded)
	return loaded


def python_api():
	folder, sandbox = fresh("api"), module()
	bytes_out = write(f"{folder}/bytes.py", "import os; os.write(1, b'a\\xff\\0'); os.write(2, '€'.encode()); open('made', 'w').write('m')")
	with sandbox.Sandbox(network=False, mem_mb=512, timeout_s=20, bailiff=BAILIFF) as sb:
		sb.put(bytes_out)
		outcome = sb.run(["/usr/bin/python3", "bytes.py"], get="made")
		place = sb.folder.name
	tap.equal("Sandbox: output and artifact, byte for byte", (outcome.status, outcome.stdout, outcome.stderr, outcome.artifact),
		("completed", b"a\xff\0", "€".encode(), b"m"), outcome.summary)
	tap.ok("Sandbox: its folder is gone", not os.path.exists(place), place)
	sleeper = write(f"{folder}/sleeper.py", "import time; print('begun', flush=True); time.sleep(60)")
	with sandbox.Sandbox(timeout_s=1, bailiff=BAILIFF) as sb:
		sb.put(sleeper)
		outcome = sb.run(["/usr/bin/python3", "sleeper.py"])
	tap.equal("Sandbox: timeout_s", (outcome.status, outcome.rule, outcome.artifact), ("timeout", "timeout_wall", None), outcome.summary)
	with sandbox.Sandbox(mem_mb=64, bailiff=BAILIFF) as sb:
		sb.put(write(f"{folder}/large.py", "bytearray(200 << 20)"))
		outcome = sb.run(["/usr/bin/python3", "large.py"])
	tap.equal("Sandbox: mem_mb", (outcome.status, outcome.rule), ("resource_limit", "resource_limit_memory"), outcome.summary)
	try:
		sandbox.Sandbox(network=True)
		tap.ok("Sandbox: network=True is refused", False)
	except ValueError:
		tap.ok("Sandbox: network=True is refused", True)


def python_network():
	folder, sandbox = fresh("network"), module()
	with socket.create_server(("127.0.0.1", 0)) as server:
		port = server.getsockname()[1]
		threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
		program = write(f"{folder}/client.py", f"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))")
		with sandbox.Sandbox(network=[f"127.0.0.1:{port}"], bailiff=BAILIFF) as sb:
			sb.put(program)
			outcome = sb.run(["/usr/bin/python3", "client.py"])
	tap.equal("Sandbox: a listed address is reached", (outcome.status, outcome.stdout), ("completed", b"b'hello'\n"), outcome.summary)


class Impatient(Exception):
	pass


def lose_patience(*_):
	raise Impatient


def interrupted_host():
	"""A host that gives up ends the run, and the private folder of the run with it."""
	folder, sandbox, name, ended = fresh("interrupted"), module(), f"sleeper-{os.getpid()}.py", "no exception"
	sleeper = write(f"{folder}/{name}", "import time; time.sleep(60)")

	def interrupt():
		harness.wait_for(lambda: len(harness.processes_with(name)) > 2)
		os.kill(os.getpid(), signal.SIGUSR1)

	signal.signal(signal.SIGUSR1, lose_patience)
	threading.Thread(target=interrupt, daemon=True).start()
	try:
		with sandbox.Sandbox(timeout_s=60, bailiff=BAILIFF) as sb:
			sb.put(sleeper)
			sb.run(["/usr/bin/python3", name])
	except Impatient:
		ended = "Impatient"
	tap.equal("Sandbox: a host that gives up gets its own exception", ended, "Impatient")
	tap.ok("Sandbox: and the run is over", harness.wait_for(lambda: not harness.processes_with(name)), harness.processes_with(name))


def abandoned():
	"""A host that dies can have its run ended with it, as the page says."""
	name = f"abandoned-{os.getpid()}.py"
	sleeper = write(f"{fresh('abandoned')}/{name}", "import time; time.sleep(60)")
	host = f"""import ctypes, signal, subprocess
subprocess.run(["{BAILIFF}", "run", "-p", "python", "--put", "{sleeper}", "--", "/usr/bin/python3", "{name}"], stdin=subprocess.DEVNULL,
	preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0), stderr=subprocess.DEVNULL)"""
	process = subprocess.Popen(["/usr/bin/python3", "-c", host], env=ENVIRONMENT, stdin=subprocess.DEVNULL)
	begun = harness.wait_for(lambda: any(b"python3\0" + name.encode() in command_line(pid) for pid in harness.processes_with(name)))
	process.kill()
	process.wait()
	tap.ok("PR_SET_PDEATHSIG ends the run of a host that dies", begun and harness.wait_for(lambda: not harness.processes_with(name)),
		begun, harness.processes_with(name))
	tap.ok("and its private folder is removed", harness.wait_for(lambda: not os.listdir(ENVIRONMENT["TMPDIR"])), os.listdir(ENVIRONMENT["TMPDIR"]))


def command_line(pid):
	try:
		with open(f"/proc/{pid}/cmdline", "rb") as file:
			return file.read()
	except OSError:
		return b""


def page():
	"""What the page shows works as it stands there."""
	with open(f"{ROOT}/man/bailiff-tool.7", encoding="utf-8") as file:
		blocks = [block.replace("\\e", "\\") for block in re.findall(r"\.Bd -literal.*\n((?:.*\n)*?)\.Ed\n", file.read())]
	folder = fresh("page")
	for name, target in (("program.py", "program.py"), ("input", "data.csv"), ("tool-call.json", "tool-call.json")):
		write(f"{folder}/{target}", read(f"{EXAMPLE}/{name}").decode())
	os.symlink(BAILIFF, f"{folder}/bailiff")
	environment = {**ENVIRONMENT, "PATH": f"{folder}:{ENVIRONMENT['PATH']}", "folder": folder, "PYTHONPATH": EXAMPLE, "PYTHONDONTWRITEBYTECODE": "1"}
	shell = next(block for block in blocks if "folder/verdict" in block).replace("--put program.py", "--put program.py --put data.csv:input")
	python = next(block for block in blocks if block.startswith("with Sandbox"))
	first = blocks[0].replace("/run/me/result", f"{folder}/first")
	version = subprocess.run([BAILIFF, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
	begun = f'{{"schema":"bailiff.verdict/1","bailiff":"{version}","status":"completed","rule":null,'
	for what, command, expected in (
			("the call", ["/bin/sh", "-c", first], begun),
			("the shell lines", ["/bin/sh", "-c", f'set -eu\n{shell}\necho "$status $(cat "$folder/result")"'], "completed 15.12"),
			("the Python lines", ["/usr/bin/python3", "-c", f"from sandbox import Sandbox\n{python}"], "read 4 numbers\n b'15.12\\n'")):
		done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
		tap.equal(f"the page: {what}", (done.returncode, done.stdout.strip()[:len(begun)]), (0, expected), done.stderr)


def readme():
	"""The page's first lines are what the hosts print."""
	with open(f"{EXAMPLE}/README.md", encoding="utf-8") as file:
		lines = set(re.findall(r"^\| `([a-z_]+ [a-z_-]+)` \|", file.read(), re.M))
	statuses = {line.split()[0] for line in lines}
	tap.equal("the page names the five outcomes", statuses, {first.split()[0] for _, first, _, _ in PROGRAMS.values()})


def main():
	folder = fresh("hosts")
	for name, host in hosts(folder).items():
		outcomes(name, host, folder)
		errors(name, host, folder)
		strange_verdicts(name, host, folder)
	python_api()
	python_network()
	interrupted_host()
	abandoned()
	page()
	readme()
	tap.equal("nothing is left in TMPDIR", os.listdir(ENVIRONMENT["TMPDIR"]), [])
	tap.end()


main()
