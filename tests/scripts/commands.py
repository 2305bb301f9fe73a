#!/usr/bin/python3
"""check, explain, policy and doctor: what a case cannot express (terminals, full disks, hosts that refuse). Prints TAP."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys

from harness import with_call_refused

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
BAILIFF, SCRATCH = os.environ["B"], os.path.realpath(os.environ["S"])
results = []


def ok(passed, name, detail=""):
	results.append(bool(passed))
	print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}", flush=True)
	for line in str(detail).splitlines() if not passed else ():
		print(f"#   {line}", flush=True)


def same(name, actual, expected):
	ok(actual == expected, name, f"actual:   {actual!r}\nexpected: {expected!r}")


def run(*arguments, **options):
	options = {"cwd": SCRATCH, "capture_output": True, "text": True, "timeout": 60, "check": False, "stdin": subprocess.DEVNULL, **options}
	if "input" in options:
		del options["stdin"]
	return subprocess.run([BAILIFF, *arguments], **options)


def write(name, text):
	path = os.path.join(SCRATCH, name)
	os.makedirs(os.path.dirname(path), exist_ok=True)
	with open(path, "w", encoding="utf-8") as file:
		file.write(text)
	return path


def golden(name):
	with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
		return file.read()


POLICY = """{
  "paths": {
    "read": ["/data/*.csv",
             "${CWD}/open/**"],
    "write": ["${CWD}/out.csv"],
    "execute": ["/bin/ls"],
    "deny": ["${CWD}/open/denied",
             "${CWD}/lin?"],
    "hide": ["${CWD}/open/hidden"]
  },
  "network": {"connect": ["tcp:192.0.2.1:443",
                          "unix:${CWD}/app.sock"],
              "bind": ["127.0.0.1:8000-8010"]},
  "syscalls": {"allow": ["memfd_create"],
               "deny": ["fork"]}
}
"""

# Request -> what stands behind "blocked", None where it is allowed.
QUESTIONS = [
	("read:/data/a.csv", None),
	("read:/data/../data/./a.csv", None),
	("read:/data/a/b.csv", "policy_blocked_read p.json:3"),
	("read:open/file", None),
	("read:./open//file", None),
	("read:open/not/there/yet", None),
	("read:open/../secret", "policy_blocked_read p.json:3"),
	("write:open/file", "policy_blocked_write p.json:5"),
	("write:out.csv", None),
	("execute:/bin/ls", None),
	("execute:/bin/cat", "policy_blocked_execute p.json:6"),
	("read:open/denied", "policy_blocked_read p.json:7"),
	("read:open/to-denied", "policy_blocked_read p.json:7"),
	("read:open/to-secret", "policy_blocked_read p.json:3"),
	("read:open/to-file", None),
	("read:link", "policy_blocked_read p.json:8"),
	("read:open/hidden", "policy_blocked_read p.json:9"),
	("read:open/loop", "error"),
	("stat:open/file", None),
	("stat:/root", None),
	("connect:tcp:192.0.2.1:443", None),
	("connect:udp:192.0.2.1:443", "policy_blocked_network p.json:11"),
	("connect:192.0.2.1:443", "policy_blocked_network p.json:11"),
	("connect:tcp:192.0.2.1:444", "policy_blocked_network p.json:11"),
	("connect:tcp:[::ffff:192.0.2.1]:443", None),
	("connect:unix:app.sock", "error"),
	(f"connect:unix:{SCRATCH}/app.sock", None),
	(f"connect:unix:{SCRATCH}/to-app.sock", None),
	(f"connect:unix:{SCRATCH}/other.sock", "policy_blocked_network p.json:11"),
	("bind:127.0.0.1:8005", None),
	("bind:127.0.0.1:8011", "policy_blocked_bind p.json:13"),
	(f"bind:unix:{SCRATCH}/new.sock", "policy_blocked_write p.json:5"),
	("syscall:getpid", None),
	("syscall:memfd_create", None),
	("syscall:shmget", "policy_blocked_syscall p.json:14"),
	("syscall:fork", "policy_blocked_syscall p.json:15"),
	("syscall:mount", "policy_blocked_syscall p.json:14"),
	("syscall:io_uring_setup", "policy_blocked_syscall p.json:14"),
]


def prepare():
	write("p.json", POLICY)
	for name in ("open/file", "open/denied", "open/hidden", "secret"):
		write(name, "x")
	for name, target in (("open/to-denied", "denied"), ("open/to-secret", "../secret"), ("open/to-file", "file"), ("link", "open/file"),
			("open/loop", "loop"), ("to-app.sock", "app.sock")):
		os.symlink(target, os.path.join(SCRATCH, name))


def check_questions():
	for request, expected in QUESTIONS:
		done = run("check", "-p", "p.json", request)
		if expected == "error":
			ok(done.returncode == 125 and done.stderr.startswith("bailiff: ") and not done.stdout, f"check {request} is an error",
				f"{done.returncode} {done.stdout}{done.stderr}")
			continue
		line = f"blocked {expected.replace('p.json', './p.json' if './p.json' in done.stdout else 'p.json')}\n" if expected else "allowed\n"
		same(f"check {request}", (done.stdout, done.returncode), (line, 122 if expected else 0))


def check_nearest():
	"""--explain adds lines below blocked ones, and changes no other."""
	requests = ("read:/data/a/b.csv", "read:/data/a.csv", "write:/data/a.csv", "execute:/bin/cat", "connect:tcp:192.0.2.1:80", "bind:127.0.0.1:7999")
	plain, explained = run("check", "-p", "p.json", *requests), run("check", "-p", "p.json", "--explain", *requests)
	lines = explained.stdout.splitlines()
	same("--explain keeps the lines and the exit status", ([line for line in lines if line[0] != " "], explained.returncode),
		(plain.stdout.splitlines(), 122))
	for above, line in (("read p.json:3", "nearest /data/*.csv (p.json:3): "), ("write p.json:5", "nearest /data/*.csv (p.json:3): allows read, not write"),
			("execute p.json:6", "nearest /bin/ls (p.json:6): component "), ("network p.json:11", "nearest tcp:192.0.2.1:443 (p.json:11): port 80 is not 443"),
			("bind p.json:13", "nearest 127.0.0.1:8000-8010 (p.json:13): port 7999 is not ")):
		at = lines.index(f"blocked policy_blocked_{above}")
		below = lines[at + 1:at + 1 + next((i for i, text in enumerate(lines[at + 1:]) if text[0] != " "), len(lines))]
		ok(any(text.startswith(f"  {line}") for text in below), f"{above}: {line}", explained.stdout)
	same("nothing below what is allowed", run("check", "-p", "p.json", "--explain", "read:/data/a.csv").stdout, "allowed\n")
	done = run("check", "--explain", "--connect", "93.184.216.34:80", os.path.join(GOLDEN, "verdict_connect_killed.json"))
	ok("\n  nearest 93.184.216.34:80 (command line:4): port 443 is not 80\n" in done.stdout, "a recorded violation is explained as well", done.stdout)


def check_several():
	done = run("check", "-p", "p.json", "read:open/file", "read:secret", "write:out.csv")
	lines = [line.split()[0] for line in done.stdout.splitlines()]
	same("one line per request, in order, and one blocked decides", (lines, done.returncode), (["allowed", "blocked", "allowed"], 122))
	done = run("check", "-p", "p.json", "--read", "secret", "read:secret")
	same("an option adds to the policy", (done.stdout, done.returncode), ("allowed\n", 0))
	done = run("check", "-p", "p.json", "--deny", "/data/**", "read:/data/a.csv")
	same("a position on the command line is the word's number", done.stdout, "blocked policy_blocked_read command line:5\n")
	done = run("check", "read:/etc/hostname", "raed:/x")
	same("what was found before a mistake is still told", (done.stdout, done.returncode), ("allowed\n", 125))
	ok("did you mean \"read\"" in done.stderr, "and the mistake is told with what is near", done.stderr)
	for mistake in ("/etc", "read:", "read", "syscall:moutn", "connect:192.0.2.1", "connect:nowhere", "--script=none"):
		done = run("check", mistake)
		ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1, f"check {mistake} is an error of one line", done.stderr)


def check_replay():
	path = os.path.join(GOLDEN, "verdict_denied_and_went_on.json")
	done = run("check", "-p", "p.json", path)
	same("a verdict is asked again, one line per violation", (done.stdout, done.returncode),
		("blocked policy_blocked_read p.json:3\nblocked policy_blocked_network p.json:11\n", 122))
	done = run("check", "--read", "/home/secret", "--connect", "93.184.216.34:443", path)
	same("what the policy opens now is allowed", (done.stdout, done.returncode), ("allowed\nallowed\n", 0))
	done = run("check", "--read", "/home/secret", "-", input=golden("verdict_denied_and_went_on.json"))
	same("from standard input", (done.stdout.splitlines()[0], done.returncode), ("allowed", 122))
	done = run("check", os.path.join(GOLDEN, "verdict_refused_call.json"))
	ok(done.stdout.startswith("blocked policy_blocked_syscall ") and done.returncode == 122, "a refused call stays refused", done.stdout)
	done = run("check", "--read", "/**", os.path.join(GOLDEN, "verdict_strange_name.json"))
	ok(done.returncode == 122, "a name that is not UTF-8 is not taken for the one that is shown", done.stdout)
	done = run("check", os.path.join(GOLDEN, "verdict_wall_limit.json"))
	same("a limit is no question", (done.stdout, done.returncode), ("", 0))
	verdict = json.loads(golden("verdict_connect_killed.json"))
	verdict["violations"]["recorded"][0]["operation"]["flags"] = "tcp"
	done = run("check", "--connect", "tcp:93.184.216.34:443", "-", input=json.dumps(verdict))
	same("a connection is asked with its transport", done.stdout, "allowed\n")
	verdict["violations"]["recorded"][0].update({"rule": "policy_blocked_syscall", "operation": {"syscall": "clone"}})
	done = run("check", "-", input=json.dumps(verdict))
	ok(done.returncode == 122, "a call that was refused for its arguments stays refused", done.stdout)


def check_explain():
	for name in ("connect_killed", "exit_code", "strange_name"):
		path = os.path.join(GOLDEN, f"verdict_{name}.json")
		same(f"explain tells {name}", run("explain", path).stdout, golden(f"explain_{name}.txt"))
	same("from standard input", run("explain", input=golden("verdict_completed.json")).stdout, golden("explain_completed.txt"))
	for text, message in (("", "standard input:1:1: no verdict: a value belongs here"), ("{\n 7}", "standard input:2:2: no verdict: a key"),
			("[]", "standard input:1:1: this is JSON, but no verdict")):
		done = run("explain", input=text)
		ok(done.returncode == 125 and done.stderr.startswith(f"bailiff: {message}") and not done.stdout, f"explain refuses {text!r}", done.stderr)
	done = run("explain", write("bad.json", '{"schema": "bailiff.verdict/1",}'))
	ok(re.match(r"bailiff: \S*bad\.json:1:\d+: ", done.stderr), "a fault is told with file, line and column", done.stderr)
	with open("/dev/zero", "rb") as zero:
		done = run("explain", stdin=zero)
	same("input without end is given up", (done.returncode, done.stderr), (125, "bailiff: standard input: more than 64 MiB is no verdict\n"))


def words_of(plain):
	"""The lines of an explanation without what only lays them out."""
	return [re.sub(r" +", " ", line).strip() for line in plain.splitlines() if line.strip()]


def check_formats():
	for name in sorted(name for name in os.listdir(GOLDEN) if name.startswith("verdict_")):
		path = os.path.join(GOLDEN, name)
		plain = run("explain", path).stdout
		same(f"--format text is the default: {name}", run("explain", "--format", "text", path).stdout, plain)
		markdown = run("explain", "--format=markdown", path).stdout
		bare = re.sub(r"^```(text)?$|\*\*|`", "", markdown, flags=re.M)
		same(f"Markdown says the same: {name}", words_of(bare), words_of(plain))
		told = json.loads(run("explain", "--format", "json", path).stdout)
		texts = [told["summary"]] + [sentence["text"] for sentence in told["sentences"]]
		ok(len(texts) == len(words_of(plain)) and all(line.endswith(re.sub(r" +", " ", text)) for line, text in zip(words_of(plain), texts)),
			f"JSON says the same: {name}", f"{told}\n{plain}")
		verdict = json.loads(golden(name))
		same(f"with status and rule: {name}", (told["status"], told["rule"]), (verdict["status"], verdict["rule"]))
	told = json.loads(run("explain", "--format", "json", os.path.join(GOLDEN, "verdict_connect_killed.json")).stdout)
	same("a sentence has its label", {"label": "answered", "text": "killed after 0.31s"} in told["sentences"], True)
	check_foreign_markup()


def check_foreign_markup():
	"""A name that would be a mention, a link or the end of the code around it."""
	verdict = json.loads(golden("verdict_connect_killed.json"))
	verdict["summary"] = "blocked: reading /tmp/`<b>``@all[x](http://192.0.2.1/)` is not listed"
	verdict["first_failure"]["operation"]["target"] = "```\n# heading ````"
	markdown = run("explain", "--format", "markdown", "-", input=json.dumps(verdict)).stdout
	ok(markdown.startswith("**blocked:** ```reading /tmp/`<b>``@all[x](http://192.0.2.1/)` is not listed```\n"), "code outlasts backticks", markdown)
	ok("\nobject     ```\\x0a# heading ````\n" in markdown, "a name stays on its line", markdown)
	same("every block has the longer fence", re.findall(r"^`{3,}\w*$", markdown, re.M), ["`````text", "`````"] * 3)


def on_terminal(*arguments, **environment):
	"""What bailiff writes to a terminal."""
	master, slave = pty.openpty()
	environment = {**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, **environment}
	with subprocess.Popen([BAILIFF, *arguments], stdin=subprocess.DEVNULL, stdout=slave, env=environment):
		os.close(slave)
		output = bytearray()
		try:
			while True:
				output += os.read(master, 65536)
		except OSError:  # EIO: nobody has the terminal open any more
			os.close(master)
	return output.decode().replace("\r\n", "\n")


def check_colour():
	path = os.path.join(GOLDEN, "verdict_connect_killed.json")
	plain = golden("explain_connect_killed.txt")
	coloured = on_terminal("explain", path, TERM="xterm")
	ok("\033[1;31mblocked\033[0m: " in coloured, "colour on a terminal", repr(coloured[:80]))
	same("and the same words below it", re.sub(r"\033\[[0-9;]*m", "", coloured), plain)
	same("none where NO_COLOR is set", on_terminal("explain", path, TERM="xterm", NO_COLOR="1"), plain)
	same("none on a dumb terminal", on_terminal("explain", path, TERM="dumb"), plain)
	ok("\033[31m" not in on_terminal("explain", os.path.join(GOLDEN, "verdict_strange_name.json"), TERM="dumb"),
		"a name brings no colour of its own")


def check_policy():
	names = [line.split()[0] for line in run("policy", "list").stdout.splitlines()]
	ok("default" in names and len(names) == len(set(names)) > 1, "policy list names the shipped policies", names)
	for line in run("policy", "list").stdout.splitlines():
		ok(len(line.split()) > 2, f"policy list describes {line.split()[0]}", line)
	for name in names:
		source = subprocess.run([BAILIFF, "policy", "show", "--source", name], capture_output=True, check=False)
		with open(os.path.join(ROOT, "policies", f"{name}.json"), "rb") as file:
			same(f"policy show --source {name} is the file itself", source.stdout, file.read())
		merged = run("policy", "show", name)
		try:
			same(f"policy show {name} is JSON that names its policy", json.loads(merged.stdout).get("name"), name)
		except ValueError as error:
			ok(False, f"policy show {name} is JSON", f"{error}\n{merged.stdout}{merged.stderr}")
	same("policy validate", (run("policy", "validate", "p.json").stdout, run("policy", "validate", "p.json").returncode), ("p.json: valid\n", 0))
	write("invalid.json", '{"paths": {"red": []}}')
	done = run("policy", "validate", "p.json", "invalid.json")
	same("one invalid file of several", (done.returncode, done.stdout), (1, "p.json: valid\n"))
	ok(re.match(r'bailiff: invalid\.json:1:12: .*"read"', done.stderr), "is told with its place and the nearest key", done.stderr)
	write("python", '{"name": "mine"}')
	same("what is validated is a file, whatever its name", run("policy", "validate", "python").stdout, "python: valid\n")
	os.mkfifo(os.path.join(SCRATCH, "fifo.json"))
	for name in ("none.json", "open", "fifo.json"):
		done = run("policy", "validate", name)
		same(f"policy validate {name}: what cannot be read is no invalid policy", done.returncode, 125)
	for arguments in ((), ("lisst",), ("list", "x"), ("show",), ("show", "a", "b"), ("validate",), ("list", "--source"), ("show", "--source", "x")):
		done = run("policy", *arguments)
		ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1 and not done.stdout, f"policy {' '.join(arguments)} is an error", done)


def check_full_output():
	"""Standard output that cannot be written is an error, not silence."""
	for arguments in (("--help",), ("--version",), ("help", "run"), ("policy", "list"), ("policy", "show", "default"), ("doctor",),
			("explain", os.path.join(GOLDEN, "verdict_completed.json")), ("check", "read:/etc/hostname")):
		with open("/dev/full", "w", encoding="utf-8") as full:
			done = run(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
		same(f"bailiff {' '.join(arguments[:2])} onto a full device", (done.returncode, done.stderr),
			(125, "bailiff: standard output: No space left on device\n"))


REFUSALS = [  # number, layer, required
	(101, "ptrace", True), (101, "seccomp-trace", True), (310, "process_vm_readv", True), (317, "user notification", True),
	(437, "openat2", True), (319, "sealed page", True), (436, "close_range", True), (438, "pidfd_getfd", False), (444, "landlock", False), (446, "landlock", False),
]


def check_run_without(number, name):
	"""The call that is refused may be needed first while COMMAND is looked at: that is not COMMAND's fault."""
	path, made = os.path.join(SCRATCH, "without.json"), os.path.join(SCRATCH, "without-made")
	done = run("run", "-o", path, "--write", made, "--", "/bin/touch", made, preexec_fn=with_call_refused(number, 1))
	with open(path, encoding="utf-8") as file:
		error = json.load(file)["error"]
	same(f"run with {name} refused: exit, stage", (done.returncode, error["stage"]), (125, "host"))
	ok("this host refuses what bailiff needs: " in error["message"] and f"{name} (" in error["message"], f"and the reason: {name}", error)
	same(f"and no other one: {name}", "ptrace (" in error["message"], number == 101)
	ok(not os.path.exists(made), f"and nothing has run: {name}")


def check_doctor():
	report = json.loads(run("doctor", "--json").stdout)
	done = run("doctor")
	same("doctor's two forms agree", done.returncode == 0, report["enforceable"])
	for layer in report["layers"]:
		ok(layer["name"] in done.stdout and layer["detail"] in done.stdout, f"doctor tells of {layer['name']}", done.stdout)
	same("enforceable is what the required layers say", report["enforceable"],
		all(layer["available"] for layer in report["layers"] if layer["required"]))
	for number, name, required in REFUSALS:
		done = run("doctor", "--json", preexec_fn=with_call_refused(number, 1))
		layer = [layer for layer in json.loads(done.stdout)["layers"] if layer["name"] == name][0]
		same(f"doctor finds that {name} is refused", (layer["available"], layer["required"], done.returncode), (False, required, int(required)))
		if required:
			ok("EPERM" in layer["detail"], f"and with which errno: {name}", layer["detail"])
			check_run_without(number, name)
	done = run("run", "--wall", "3s", "--", "/bin/true", preexec_fn=with_call_refused(16, 1))
	same("ioctl refused: bailiff's own failure, not the program's time", done.returncode, 125)
	if shutil.which("strace"):
		done = subprocess.run(["strace", "-f", "-o", "/dev/null", BAILIFF, "doctor"], capture_output=True, text=True, check=False)
		ok(done.returncode == 1 and re.search(r"no +untraced +process \d+ traces bailiff", done.stdout), "doctor finds its own tracer", done.stdout)
	else:
		print("# skipped: strace is not installed", flush=True)


def completions(*words):
	"""What bash offers for the last of the words."""
	script = """
		source "$1"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_bailiff 2> /dev/null
		printf '%s\\n' "${COMPREPLY[@]}"
	"""
	path = os.path.join(ROOT, "man", "bailiff.bash-completion")
	done = subprocess.run(["bash", "-c", script, "bash", path, BAILIFF, *words], cwd=SCRATCH, capture_output=True, text=True, check=False)
	return [line for line in done.stdout.split("\n") if line]


def check_completion():
	same("completion: commands", completions("ch"), ["check"])
	ok({"run", "check", "explain", "policy", "doctor", "help"} <= set(completions("")), "completion: all commands", completions(""))
	same("completion: an option", completions("run", "--on-v"), ["--on-violation"])
	options = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", run("help", "run").stdout, re.MULTILINE))
	same("completion: every option of run that help tells", set(completions("run", "--")), options)
	same("completion: an option of doctor", completions("doctor", "--at"), ["--attack"])
	same("completion: another option of doctor", completions("doctor", "--c"), ["--clean"])
	same("completion: values", completions("run", "--on-violation", "d"), ["deny"])
	same("completion: further values", completions("run", "--landlock", "r"), ["require"])
	same("completion: shipped policies, and nothing else", completions("run", "-p", "git-r"), ["git-read"])
	ok("check_me.json" in completions("explain", write("check_me.json", "{}") and "check_m"), "completion: verdicts", completions("explain", "check_m"))
	write("two words.json", "{}")
	same("completion: formats", completions("explain", "--format", "m"), ["markdown"])
	ok("python" in completions("explain", "--apply", "1", "py"), "completion: the policy of --apply", completions("explain", "--apply", "1", "py"))
	same("completion: a name with a blank", completions("explain", "two"), ["two words.json"])
	ok("cat" in completions("run", "-p", "default", "ca"), "completion: commands to run", completions("run", "-p", "default", "ca")[:9])


def main():
	prepare()
	for check in (check_questions, check_nearest, check_several, check_replay, check_explain, check_formats, check_colour, check_policy, check_full_output, check_doctor,
			check_completion):
		check()
	print(f"1..{len(results)}")
	return 0 if results and all(results) else 1


if __name__ == "__main__":
	sys.exit(main())
