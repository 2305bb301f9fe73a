#!/usr/bin/python3
"""bailiff run --replay: what a verdict holds is enough to run it again, and whatever is not as it was is told before anything runs."""

import json
import os
import subprocess

import harness
from harness import BAILIFF, ENVIRONMENT, LANDLOCK, TARGETS, fresh, run, verdict

tap = harness.Tap()
PYTHON = "/usr/bin/python3"


def write(folder, name, content):
	path = os.path.join(folder, name)
	with open(path, "w", encoding="utf-8") as file:
		file.write(content)
	return path


def replay(folder, *options, recorded=None, away=True, env=None, stdin=subprocess.DEVNULL):
	"""From another folder, so that nothing depends on where the caller stands. (exit, lines of bailiff, standard output, new verdict)"""
	place = fresh("away") if away else folder
	path = os.path.join(place, "again.json")
	arguments = [BAILIFF, "run", "--replay", recorded or os.path.join(folder, "verdict.json"), "-o", path, *LANDLOCK, *options]
	settings = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
	done = subprocess.run(arguments, cwd=place, env=env or ENVIRONMENT, capture_output=True, timeout=60, check=False, **settings)
	lines = [line for line in done.stderr.decode().splitlines() if line.startswith("bailiff: ")]
	try:
		with open(path, encoding="utf-8") as file:
			new = json.load(file)
	except OSError:
		new = None
	return done.returncode, lines, done.stdout, new


def without_place(found, folder):
	"""An envelope as far as two runs have it in common."""
	text = json.dumps({key: value for key, value in found["envelope"].items() if key not in ("replay", "settings")})
	return json.loads(text.replace(f"{folder}/policy.json", "policy.json"))


def job(name, text="print(open('in.csv').read(), end='')\n", policy=None, options=()):
	folder = fresh(name)
	write(folder, "in.csv", "a,1\n")
	write(folder, "job.py", text)
	policy = policy or {"extends": "python", "paths": {"read": ["${CWD}/*.csv"]}, "environment": {"set": {"MODE": "fast"}}}
	write(folder, "policy.json", json.dumps(policy, indent=2))
	run(folder, [PYTHON, "job.py"], "policy.json", options)
	return folder


def same():
	"""A relative policy, patterns of the command line relative to where it was given, limits, a variable: all of it comes back."""
	for name, text, status, rule, code in (
		("completed", "print(open('in.csv').read(), end='')\n", "completed", None, 0),
		("blocked", "open('/etc/shadow')\n", "policy_blocked", "policy_blocked_read", 122),
		("failed", "raise SystemExit(3)\n", "runtime_error", "runtime_error_exit", 3),
		("too slow", "while True: pass\n", "timeout", "timeout_cpu", 124),
	):
		folder = job(name, text, options=["--read", "*.csv", "--wall", "50s", "--cpu", "1s", "--processes", "7", "--on-violation", "deny"])
		first = verdict(folder)
		tap.equal(f"{name}: recorded", (first["status"], first["rule"]), (status, rule))
		if name == "blocked":
			tap.equal("blocked: with deny the program fails", first["exit"]["code"], 1)
		found = replay(folder)
		words = ", ".join(filter(None, (status, rule)))
		tap.equal(f"{name}: the same again", found[:2], (122 if name == "blocked" else code, [f"bailiff: replay: the same status and rule: {words}"]))
		tap.equal(f"{name}: says so in its verdict", found[3]["envelope"]["replay"], {"status": status, "rule": rule, "same": True, "differences": 0})
		tap.equal(f"{name}: the same envelope", without_place(found[3], folder), without_place(first, folder))
		if name == "blocked":
			position = found[3]["first_failure"]["policy"]
			tap.equal("blocked: the same place in the policy", (position["pointer"], position["line"]),
				(first["first_failure"]["policy"]["pointer"], first["first_failure"]["policy"]["line"]))
	tap.equal("of a replay: can be replayed", replay(folder, recorded=write(fresh("twice"), "v.json", json.dumps(found[3])))[0], 124)


def sha(line):
	"""The two hashes of a line, which differ."""
	words = line.split()
	hashes = [word for word in words if len(word) == 64]
	return " ".join("SHA" if word in hashes else word for word in words), len(set(hashes))


def differences():
	for name, content in (("in.csv", "b,2\n"), ("job.py", "print(1)\n")):
		folder = job(f"changed {name}")
		path = write(folder, name, content)
		code, lines, stdout, new = replay(folder)
		tap.equal(f"{name} is changed: refused, nothing runs", (code, stdout, new), (125, b"", None))
		tap.equal(f"{name} is changed: says which, and what it was", [sha(line) for line in lines], [
			(f"bailiff: {path}: its sha256 is SHA where SHA was recorded", 2),
			("bailiff: --replay: not run: 1 of what was recorded is not the same; --allow-changes runs it all the same", 0)])
		code, lines, stdout, new = replay(folder, "--allow-changes")
		tap.equal(f"{name} is changed, --allow-changes: it runs", (code, new["envelope"]["replay"]["differences"], new["envelope"]["replay"]["same"]),
			(0, 1, True))
		tap.equal(f"{name} is changed, --allow-changes: still told", len(lines), 2, lines)
	folder = job("gone")
	os.unlink(os.path.join(folder, "in.csv"))
	code, lines, _, new = replay(folder)
	tap.equal("an input is gone: refused", (code, new), (125, None))
	tap.ok("an input is gone: says so", "No such file or directory where a file of sha256" in lines[0], lines)
	folder = job("another result", "import os; raise SystemExit(os.path.getsize('in.csv'))\n", {"extends": "python", "paths": {"read": ["${CWD}/*.csv"]}})
	write(folder, "in.csv", "longer\n")
	code, lines, _, new = replay(folder)
	tap.equal("what was only looked at is no input", (code, lines), (7, ["bailiff: replay: the same status and rule: runtime_error, runtime_error_exit"]))


def another_end():
	folder = job("another end", "open('/etc/shadow' if len(open('in.csv').read()) == 4 else 'in.csv')\n")
	write(folder, "in.csv", "b,2,3\n")
	code, lines, _, new = replay(folder, "--allow-changes")
	tap.equal("another end: the line", (code, lines[-1]), (0, "bailiff: replay: completed where policy_blocked, policy_blocked_read was recorded"), lines)
	tap.equal("another end: the verdict", new["envelope"]["replay"]["same"], False)


def policies():
	folder = job("policy")
	path = os.path.join(folder, "policy.json")
	with open(path, encoding="utf-8") as file:
		text = file.read()
	write(folder, "policy.json", text.replace("fast", "slow"))
	for options in ((), ("--allow-changes",)):
		code, lines, _, new = replay(folder, *options)
		tap.equal(f"the policy is changed: refused {options}", (code, new, lines[-1]),
			(125, None, "bailiff: --replay: not run: the policy is not the one that was recorded"))
		tap.equal(f"the policy is changed: says which {options}", sha(lines[0]), (f"bailiff: {path}: its sha256 is SHA where SHA was recorded", 2))
	os.unlink(path)
	code, lines, _, new = replay(folder)
	tap.equal("the policy is gone: refused", (code, new, lines), (125, None, [f"bailiff: {path}: cannot open the policy: No such file or directory"]))


def recorded_otherwise(name, change, expected, *options):
	"""The verdict itself is changed: as if the host or bailiff were."""
	folder = job(name)
	found = verdict(folder)
	change(found)
	path = write(folder, "changed.json", json.dumps(found))
	code, lines, _, _ = replay(folder, *options, recorded=path)
	tap.equal(name, (code, [sha(line)[0] for line in lines]), expected)


def edited_verdicts():
	refused = "bailiff: --replay: not run: 1 of what was recorded is not the same; --allow-changes runs it all the same"
	other_policy = "bailiff: --replay: not run: the policy is not the one that was recorded"
	alike = "bailiff: replay: the same status and rule: completed"
	program = os.path.realpath(PYTHON)

	def set_in(*keys, value):
		def change(found):
			for key in keys[:-1]:
				found = found[key]
			found[keys[-1]] = value
		return change
	recorded_otherwise("another program", set_in("envelope", "programs", 0, "sha256", value="0" * 64),
		(125, [f"bailiff: {program}: its sha256 is SHA where SHA was recorded", refused]))
	recorded_otherwise("another program of the run's own", lambda found: found["envelope"]["programs"][0].update(sha256="0" * 64, made_in_run=True),
		(0, [alike]))
	recorded_otherwise("a file without a hash", lambda found: found["envelope"]["inputs"][1].update(sha256=None, not_hashed="it is larger than 64M", path="/x"),
		(0, ["bailiff: /x: is not checked: it is larger than 64M", alike]))
	recorded_otherwise("another shipped policy", set_in("envelope", "policy", 0, "sha256", value="0" * 64),
		(125, ["bailiff: policy:default: its sha256 is SHA where SHA was recorded", other_policy]), "--allow-changes")
	recorded_otherwise("another limit", set_in("envelope", "limits", "wall", value="29s"),
		(125, ["bailiff: limits: wall is 30s where 29s was recorded", other_policy]), "--allow-changes")
	recorded_otherwise("a variable that is new", lambda found: found["envelope"]["environment"].pop(),
		(125, ["bailiff: environment: MODE is set where it was not", refused]))
	recorded_otherwise("another kernel", set_in("envelope", "host", "kernel", value="1.0"),
		(0, [f"bailiff: kernel: {os.uname().release} where 1.0 was recorded", alike]))
	recorded_otherwise("another version", lambda found: found.update(bailiff="0.0.1"),
		(0, [f"bailiff: version: {VERSION} where 0.0.1 was recorded", alike]))
	recorded_otherwise("more inputs", set_in("envelope", "inputs_more", value=3),
		(0, ["bailiff: inputs: 3 more were not listed and are not checked", alike]))
	recorded_otherwise("no settings", set_in("envelope", "settings", value=None),
		(125, ["bailiff: --replay: the verdict does not say where its command line was given"]))
	recorded_otherwise("no command", set_in("envelope", "command", value=[]), (125, ["bailiff: --replay: the verdict has no command"]))
	recorded_otherwise("a command of numbers", set_in("envelope", "command", value=[1]), (125, ["bailiff: --replay: its command is not made of words"]))
	recorded_otherwise("a name that leads out of the workspace", lambda found: found["envelope"]["inputs"][1].update(
		path="${WORKSPACE}/../x", copied_from="in.csv"), (125, ["bailiff: --replay: --put: ../x: a name in the workspace has no slash"]))
	recorded_otherwise("no policy", set_in("envelope", "policy", value=[]), (125, ["bailiff: --replay: the verdict names no policy"]))
	recorded_otherwise("an unknown override", set_in("envelope", "overrides", value=[{"pointer": "/a\nb", "value": "1"}]),
		(125, ["bailiff: --replay: this version does not know the override /a\\x0ab"]))
	recorded_otherwise("a name that cannot be had", set_in("envelope", "cwd_base64", value="/w=="),
		(125, ["bailiff: --replay: a name in its command line is not UTF-8"]))
	recorded_otherwise("a name for a terminal", lambda found: found["envelope"]["inputs"][1].update(path="/\033[31mx\n"),
		(125, [f"bailiff: /\\x1b[31mx\\x0a: No such file or directory where a file of sha256 SHA was recorded", refused]))


def environment():
	policy = {"extends": "python", "paths": {"read": ["${CWD}/*.csv"]}, "environment": {"pass": ["WORD"]}}
	folder = fresh("environment")
	write(folder, "in.csv", "a,1\n")
	write(folder, "job.py", "import os; print(os.environ['WORD'], os.environ['TOKEN'])\n")
	write(folder, "policy.json", json.dumps(policy))
	with_word = dict(ENVIRONMENT, WORD="passed-on")
	code, stdout, stderr = run(folder, [PYTHON, "job.py"], "policy.json", ["--env", "TOKEN=secret"], env=with_word)
	tap.equal("environment: recorded", (code, stdout), (0, b"passed-on secret\n"), stderr)
	with open(os.path.join(folder, "verdict.json"), encoding="utf-8") as file:
		text = file.read()
	tap.ok("environment: no value in the verdict", "secret" not in text and "passed-on" not in text)
	code, lines, _, _ = replay(folder)
	tap.equal("environment: what is missing", (code, lines[:2]), (125, ["bailiff: environment: WORD is not set where it was; --env WORD=VALUE sets it",
		"bailiff: environment: TOKEN is not set where it was; --env TOKEN=VALUE sets it"]), lines)
	code, lines, stdout, _ = replay(folder, "--env", "TOKEN=other", env=dict(ENVIRONMENT, WORD="second"))
	tap.equal("environment: values of now", (code, stdout), (0, b"second other\n"), lines)
	tap.equal("environment: and that is told", lines[:2], [f"bailiff: environment: {name} has the value that it has now: which it had is not recorded"
		for name in ("WORD", "TOKEN")])
	code, _, stdout, _ = replay(folder, env=dict(ENVIRONMENT, WORD="second", TOKEN="mine"))
	tap.equal("environment: or the caller's own", (code, stdout), (0, b"second mine\n"))


def workspace():
	folder = fresh("workspace")
	source = write(folder, "data", "in\n")
	code, _, stderr = run(folder, ["/bin/sh", "-c", "cat in; echo out > made"], options=["--put", "data:in", "--get", "made"])
	tap.equal("workspace: recorded", code, 0, stderr)
	os.unlink(os.path.join(folder, "made"))
	code, lines, stdout, new = replay(folder)
	tap.equal("workspace: a new one, with the file", (code, stdout, lines), (0, b"in\n", ["bailiff: replay: the same status and rule: completed"]))
	tap.equal("workspace: nothing is copied out", (new["artifacts"], os.path.exists(os.path.join(folder, "made"))), ([], False))
	code, _, _, new = replay(folder, "--get", "made:here", away=False)
	tap.equal("workspace: but with --get, from where the caller stands", (code, os.path.exists(os.path.join(folder, "here"))), (0, True))
	write(folder, "data", "other\n")
	code, lines, stdout, _ = replay(folder)
	tap.equal("workspace: another file", (code, stdout, sha(lines[0])), (125, b"", (f"bailiff: {source}: its sha256 is SHA where SHA was recorded", 2)))
	tap.ok("workspace: none is left", not [name for name in os.listdir(ENVIRONMENT["TMPDIR"]) if name.startswith("bailiff-")])


def streams():
	folder = fresh("streams")
	write(folder, "data", "in\n")
	write(folder, "text", "print(1)\n")
	run(folder, ["/bin/cat"], options=["--stdin", "data"])
	tap.equal("--stdin: comes back", replay(folder)[:3], (0, ["bailiff: replay: the same status and rule: completed"], b"in\n"))
	tap.equal("--stdin: is not another one", replay(folder, "--stdin", "/dev/null")[:2],
		(125, ["bailiff: --replay: --stdin does not go with it: the verdict says what it was"]))
	run(folder, ["/bin/cat"], options=["--capture"])
	tap.equal("--capture: standard input is empty", replay(folder, stdin=b"something\n")[:3], (0, ["bailiff: replay: the same status and rule: completed"], b""))
	with open(os.path.join(folder, "text"), "rb") as file:
		run(folder, ["/usr/bin/python3"], "python", stdin=file)
	code, lines, _, _ = replay(folder)
	tap.equal("a program on standard input: is refused without it", (code, sha(lines[0])[0]),
		(125, "bailiff: the text of the program: is not there where one of sha256 SHA was recorded"), lines)
	with open(os.path.join(folder, "text"), "rb") as file:
		code, lines, _, _ = replay(folder, stdin=file)
	tap.equal("a program on standard input: with it, it runs", (code, lines), (0, ["bailiff: replay: the same status and rule: completed"]))
	code, lines, _, _ = replay(folder, "--stdin", os.path.join(folder, "text"))
	tap.equal("a program on standard input: or by --stdin", (code, lines), (0, ["bailiff: replay: the same status and rule: completed"]))
	read, write_end = os.pipe()
	run(folder, ["/bin/true"], options=["--fd", str(read)], pass_fds=[read])
	code, lines, _, _ = replay(folder)
	tap.equal("--fd: has to be given again", (code, lines[0]), (125, f"bailiff: descriptors: {read} was kept open; --fd {read} keeps one"))
	os.close(read)
	os.close(write_end)


def refusals():
	folder = job("refusals")
	for options, text in (
		(["-p", "python"], "--policy does not go with it: the verdict says what it was"),
		(["--wall", "1s"], "an option that changes the policy does not go with it: the verdict says what it was"),
		(["--env", "WORD"], "--env without a value does not go with it: the verdict says what it was"),
		(["--cwd", "/"], "--cwd does not go with it: the verdict says what it was"),
		(["--put", "x"], "--put does not go with it: the verdict says what it was"),
		(["--get", "x"], "the run was not in a workspace of its own"),
		(["--", "true"], "the command is that of the verdict; it takes none"),
	):
		code, lines, _, new = replay(folder, *options)
		tap.equal(f"refused: {' '.join(options)}", (code, new, lines), (125, None, [f"bailiff: --replay: {text}"]))
	code, lines, _, _ = replay(folder, recorded=write(folder, "not.json", "{\n"))
	tap.equal("refused: what is no verdict", (code, lines), (125, [f"bailiff: {folder}/not.json:2:1: no verdict: "
		"a key in double quotes belongs here, but the text ends here"]))


def two_readings():
	"""What another reader of JSON understands in another way is neither run nor explained."""
	folder = job("two-readings")
	text = json.dumps(verdict(folder))
	command = '"command": ["'
	for name, old, new, at, what in (
		("a second command", command, '"command": ["echo", "first"], ' + command, None, 'duplicate key "command"; it stands on line 1 already'),
		("a second command, its key escaped", command, '"c\\u006fmmand": ["echo", "first"], ' + command,
			None, 'duplicate key "command"; it stands on line 1 already'),
		("a second status", '"status": ', '"status": "timeout", "status": ', None, 'duplicate key "status"; it stands on line 1 already'),
		("a second envelope", '"envelope": ', '"envelope": {}, "envelope": ', None, 'duplicate key "envelope"; it stands on line 1 already'),
		("a command cut short", command, command + "/bin/echo\\u0000", '"/bin/echo\\u0000', "this string holds a zero byte, written \\u0000"),
		("a key cut short", '"command": ', '"command\\u0000x": [], "command": ', "\\u0000", "a zero byte, written \\u0000"),
	):
		changed = text.replace(old, new, 1)
		fault = changed.index(at) if at else changed.index(new) + len(new) - len(old)
		path = write(folder, "changed.json", changed)
		expected = (125, [f"bailiff: {path}:1:{fault + 1}: no verdict: {what}"])
		code, lines, out, new_verdict = replay(folder, recorded=path)
		tap.equal(f"not run: {name}", ((code, lines), out, new_verdict), (expected, b"", None))
		for words in (["explain"], ["explain", "--apply", "1", os.path.join(folder, "policy.json")], ["check"]):
			done = subprocess.run([BAILIFF, *words, path], capture_output=True, text=True, timeout=60, check=False)
			tap.equal(f"{' '.join(words[:2])}: {name}", ((done.returncode, done.stderr.splitlines()), done.stdout), (expected, ""))


def goldens():
	"""Every kind of verdict that is written is read."""
	folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
	names = sorted(name for name in os.listdir(folder) if name.startswith("verdict_"))
	tap.ok("there are verdicts to read", len(names) > 10)
	for name in names:
		done = subprocess.run([BAILIFF, "explain", os.path.join(folder, name)], capture_output=True, text=True, timeout=60, check=False)
		tap.equal(f"read: {name}", (done.returncode, done.stderr, done.stdout != ""), (0, "", True))


VERSION = subprocess.run([BAILIFF, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
same()
differences()
another_end()
policies()
edited_verdicts()
environment()
workspace()
streams()
refusals()
two_readings()
goldens()
tap.end()
