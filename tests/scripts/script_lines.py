"""Does the verdict name the line and the function of the user's own program that made a blocked call?

Every installed CPython from 3.7 on (Debian's, and those of pyenv), bash, perl and PHP run small programs in which the line
that will be blocked carries the mark HERE. Witnesses of their own for a whole stack are CPython's faulthandler and PHP's
debug_backtrace().
"""

import glob
import json
import os
import re
import shutil
import subprocess

from harness import BAILIFF, SCRATCH, Tap, fresh, native, run, verdict, write_policy

FORBIDDEN = os.path.join(SCRATCH, "forbidden")

# What comes before the operation, the operation with the mark HERE, and the function that makes it: by its qualified name,
# of which CPython knew only the last part until 3.11. The names F (the forbidden file) and P (the forbidden program) are
# defined in front.
PYTHON = {
	"open at the top level": ("open(F)  # HERE", None, "read"),
	"nested functions": ("""
def outer():
	def inner():
		return [
			1,
			open(F)]  # HERE
	inner()
outer()""", "outer.<locals>.inner", "read"),
	"lambda": ("go = (lambda:\n\topen(F))  # HERE\ngo()", "<lambda>", "read"),
	"generator": ("def each():\n\tyield 1\n\tyield open(F)  # HERE\nfor thing in each():\n\tpass", "each", "read"),
	"comprehension": ("def all_of():\n\treturn [name for name in [1]\n\t\tif open(F)]  # HERE\nall_of()",
		"all_of.<locals>.<listcomp>", "read"),
	"method": ("class Job:\n\tdef run(self):\n\t\topen(F)  # HERE\nJob().run()", "Job.run", "read"),
	"a class made often": ("""
class Job:
	def __init__(self, go):
		if go:
			open(F)  # HERE
for number in range(5000):
	Job(number == 4999)""", "Job.__init__", "read"),
	"80 decorators": ("""
def wrapped(function):
	def wrapper():
		return function()
	return wrapper
def job():
	open(F)  # HERE
for number in range(80):
	job = wrapped(job)
job()""", "job", "read"),
	"coroutine": ("""
import asyncio
async def inner():
	open(F)  # HERE
async def outer():
	await inner()
asyncio.get_event_loop_policy().new_event_loop().run_until_complete(outer())""", "inner", "read"),
	"callback from C": ("def key(thing):\n\topen(F)  # HERE\nsorted([1, 2], key=key)", "key", "read"),
	"names that are not ASCII": ("def größe_𐌰():\n\topen(F)  # HERE\ngröße_𐌰()", "größe_𐌰", "read"),
	"exception handler": ("def job():\n\ttry:\n\t\t1 / 0\n\texcept ZeroDivisionError:\n\t\topen(F)  # HERE\njob()", "job", "read"),
	"exec of text": ("def job():\n\texec(compile('\\n\\nopen(F)', '<made>', 'exec'))  # HERE\njob()", "job", "read"),
	"library in between": ("import tokenize\ndef job():\n\ttokenize.open(F)  # HERE\njob()", "job", "read"),
	"thread": ("import threading\ndef job():\n\topen(F)  # HERE\nt = threading.Thread(target=job)\nt.start()\nt.join()", "job", "read"),
	"fork child": ("import os\ndef job():\n\tif os.fork() == 0:\n\t\topen(F)  # HERE\n\tos.wait()\njob()", "job", "read"),
	"multiprocessing": ("""
import multiprocessing
def job(name):
	open(name)  # HERE
if __name__ == "__main__":
	process = multiprocessing.get_context("fork").Process(target=job, args=(F,))
	process.start()
	process.join()""", "job", "read"),
	"multiprocessing, spawned": ("""
import multiprocessing
def job(name):
	open(name)  # HERE
if __name__ == "__main__":
	process = multiprocessing.get_context("spawn").Process(target=job, args=(F,))
	process.start()
	process.join()""", "job", "read"),
	"pool of threads": ("""
import concurrent.futures
def job(name):
	open(name)  # HERE
with concurrent.futures.ThreadPoolExecutor(2) as pool:
	list(pool.map(job, [F]))""", "job", "read"),
	"UDP": ("""
import socket
def job():
	socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"1", ("127.0.0.1", 53))  # HERE
job()""", "job", "network"),
	"subprocess with a shell": ("import subprocess\ndef job():\n\tsubprocess.run('true', shell=True)  # HERE\njob()", "job", "execute"),
	"ctypes": ("import ctypes\ndef job():\n\tctypes.CDLL(None).open(F.encode(), 0)  # HERE\njob()", "job", "read"),
	"import": ("import sys\nsys.path.insert(0, F.rsplit('/', 1)[0])\ndef job():\n\timport forbidden_module  # HERE\njob()", "job", "read"),
	"socket": ("import socket\ndef job():\n\tsocket.socket().connect(('127.0.0.1', 9))  # HERE\njob()", "job", "network"),
	"urllib": ("import urllib.request\ndef job():\n\turllib.request.urlopen('http://127.0.0.1:9/')  # HERE\njob()", "job", "network"),
	"asyncio connect": ("""
import asyncio
async def job():
	await asyncio.open_connection('127.0.0.1', 9)  # HERE
asyncio.get_event_loop_policy().new_event_loop().run_until_complete(job())""", "job", "network"),
	"subprocess": ("import subprocess\ndef job():\n\tsubprocess.run([P])  # HERE\njob()", "job", "execute"),
	"system": ("import os\ndef job():\n\tos.system('true')  # HERE\njob()", "job", "execute"),
	"spawn": ("import os\ndef job():\n\tos.posix_spawn(P, [P], {})  # HERE\njob()", "job", "execute"),
	"exec": ("import os\ndef job():\n\tos.execv(P, [P])  # HERE\njob()", "job", "execute"),
}

# The whole stack at once, with what faulthandler says of it printed on the very line.
WITNESS = """
import asyncio, faulthandler, sys
def see():
	return faulthandler.dump_traceback(sys.stdout, all_threads=False), open(F)
def decorated(function):
	return lambda *rest: function(
		*rest)
class Thing:
	@decorated
	def method(self):
		return sorted([1, 2],
			key=lambda _: self.made())
	def made(self):
		return [x for x in
			self.each()]
	def each(self):
		for number in range(3):
			yield self.last() if number == 2 else 0
	@property
	def value(self):
		with open("/dev/null"):
			try:
				see()
			finally:
				pass
	def last(self):
		return max(1,
			2,
			self.value)
async def inner():
	if True:
		Thing().method()
async def outer():
	await asyncio.sleep(0)
	await inner()
asyncio.get_event_loop_policy().new_event_loop().run_until_complete(outer())
"""

# C code, twice, in the midst of the calls.
MIXED = """
import ctypes
ORDER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def sort(order):
	ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, order)
def inner(left, right):
	[open(F) for name in "x"]
	return 0
def made():
	yield 1
	sort(ORDER(inner))
class Job:
	def __init__(self):
		for x in made():
			pass
def outer(left, right):
	Job()
	return 0
def job():
	sort(ORDER(outer))
job()
"""

BASH = {
	"top level": ("true\ncat < $F # HERE", ""),
	"function": ("f() {\n\ttrue\n\tcat < $F # HERE\n}\nf", "f"),
	"function in a function": ("f() {\n\tcat < $F # HERE\n}\ng() {\n\ttrue\n\tf 1\n}\ng", "f"),
	"function called main": ("main() {\n\tcat < $F # HERE\n}\nmain", "main"),
	"subshell": ("f() {\n\t(\n\t\tcat < $F # HERE\n\t)\n}\nf", "f"),
	"pipeline": ("f() {\n\ttrue |\n\t\tcat $F - > /dev/null < $F # HERE\n}\nf", "f"),
	"loop": ("for x in 1 2; do\n\ttrue\n\techo $x >> $F # HERE\ndone", ""),
	"program": ("f() {\n\ttrue\n\t$P # HERE\n}\nf", "f"),
	"exec": ("true\nexec $P # HERE", ""),
	"connect": ("f() {\n\techo 1 > /dev/tcp/127.0.0.1/9 # HERE\n}\nf", "f"),
}

PERL = {
	"top level": ("my $x = 1;\nopen(my $f, '<', $F); # HERE", ""),
	"sub": ("sub f {\n\tmy $x = 1;\n\topen(my $f, '<', $F); # HERE\n}\nf();", "main::f"),
	"package": ("package Job;\nsub new { bless {}, shift }\nsub run {\n\topen(my $f, '<', $F); # HERE\n}\npackage main;\nJob->new->run;",
		"Job::run"),
	"eval block": ("sub f {\n\teval {\n\t\topen(my $f, '<', $F); # HERE\n\t};\n}\nf();", "main::f"),
	"anonymous sub": ("my $f = sub {\n\topen(my $f, '<', $F); # HERE\n};\n$f->();", "main::__ANON__"),
	"callback": ("sub order {\n\topen(my $f, '<', $F); # HERE\n\t0\n}\nmy @x = sort { order() } (1, 2);", "main::order"),
	"library": ("use IO::File;\nsub f {\n\tIO::File->new($F); # HERE\n}\nf();", "main::f"),
	"require": ("sub f {\n\trequire $F; # HERE\n}\nf();", "main::f"),
	"fork": ("sub f {\n\tif (!fork) {\n\t\topen(my $f, '<', $F); # HERE\n\t}\n\twait;\n}\nf();", "main::f"),
	"caller in a block of one": ("sub f {\n\tIO::File->new($F);\n}\nsub g {\n\tif ($_[0]) {\n\t\tIO::File->new($F); # HERE\n\t}\n}\n"
		"use IO::File;\ng(1);", "main::g"),
	"program": ("sub f {\n\tsystem($P, '1'); # HERE\n}\nf();", "main::f"),
	"connect": ("use IO::Socket::INET;\nsub f {\n\tIO::Socket::INET->new('127.0.0.1:9'); # HERE\n}\nf();", "main::f"),
}

PHP = {
	"top level": ("$x = 1;\nfopen($F, 'r'); // HERE", None, "read"),
	"function": ("function job($name) {\n\treturn strlen(\n\t\tfile_get_contents($name)); // HERE\n}\njob($F);", "job", "read"),
	"method": ("class Job {\n\tfunction run($name) {\n\t\tfile($name); // HERE\n\t}\n}\n(new Job)->run($F);", "Job::run", "read"),
	"static method": ("namespace Work;\nclass Job {\n\tstatic function run($name) {\n\t\treadfile($name); // HERE\n\t}\n}\nJob::run($F);",
		"Work\\Job::run", "read"),
	"inherited method": ("trait Reads {\n\tfunction run($name) {\n\t\tfopen($name, 'r'); // HERE\n\t}\n}\nclass Base { use Reads; }\n"
		"class Job extends Base {}\n(new Job)->run($F);", "Base::run", "read"),
	"method of a class without a name": ("$job = new class {\n\tfunction run($name) {\n\t\tfopen($name, 'r'); // HERE\n\t}\n};\n$job->run($F);",
		"class@anonymous::run", "read"),
	"method by __call": ("class Job {\n\tfunction __call($name, $rest) {\n\t\tfopen($rest[0], 'r'); // HERE\n\t}\n}\n(new Job)->run($F);",
		"Job::__call", "read"),
	"constructor": ("class Job {\n\tfunction __construct($name) {\n\t\tnew SplFileObject($name); // HERE\n\t}\n}\nnew Job($F);",
		"Job::__construct", "read"),
	"destructor": ("class Job {\n\tfunction __destruct() {\n\t\tfopen($GLOBALS['F'], 'r'); // HERE\n\t}\n}\n$job = new Job;\n$job = null;",
		"Job::__destruct", "read"),
	"destructor at the end": ("class Job {\n\tfunction __destruct() {\n\t\tfopen($GLOBALS['F'], 'r'); // HERE\n\t}\n}\n$job = new Job;",
		"Job::__destruct", "read"),
	"callback": ("function order($a, $b) {\n\tfopen($GLOBALS['F'], 'r'); // HERE\n\treturn 0;\n}\n$x = [1, 2];\nusort($x, 'order');", "order", "read"),
	"generator": ("function each($name) {\n\tyield 1;\n\tfopen($name, 'r'); // HERE\n\tyield 2;\n}\nforeach (each($F) as $x);", "each", "read"),
	"fiber": ("function job($name) {\n\tFiber::suspend();\n\tfopen($name, 'r'); // HERE\n}\n$fiber = new Fiber('job');\n$fiber->start($F);\n"
		"$fiber->resume();", "job", "read"),
	"exception handler": ("function job($name) {\n\ttry {\n\t\tintdiv(1, 0);\n\t} catch (Error $error) {\n\t\tfopen($name, 'r'); // HERE\n\t}\n}\njob($F);",
		"job", "read"),
	"finally": ("function job($name) {\n\ttry {\n\t\tintdiv(1, 0);\n\t} finally {\n\t\tfopen($name, 'r'); // HERE\n\t}\n}\njob($F);", "job", "read"),
	"exit function": ("function job($name) {\n\tfopen($name, 'r'); // HERE\n}\nregister_shutdown_function('job', $F);", "job", "read"),
	"names that are not ASCII": ("function größe_𐌰($name) {\n\tfopen($name, 'r'); // HERE\n}\ngröße_𐌰($F);", "größe_𐌰", "read"),
	"include": ("function job($name) {\n\tinclude $name; // HERE\n}\njob($F);", "job", "read"),
	"require_once": ("$x = 1;\nrequire_once $F; // HERE", None, "read"),
	"class loader": ("spl_autoload_register(function ($class) {\n\trequire $GLOBALS['F']; // HERE\n});\nnew Unknown;", "{closure}", "read"),
	"folder": ("function job($name) {\n\tscandir(dirname($name)); // HERE\n}\njob($F);", "job", "read"),
	"write": ("function job($name) {\n\tfile_put_contents($name, 'x'); // HERE\n}\njob($F);", "job", "write"),
	"unlink": ("function job($name) {\n\tunlink($name); // HERE\n}\njob($F);", "job", "write"),
	"mkdir": ("function job($name) {\n\tmkdir(\"$name.d\"); // HERE\n}\njob($F);", "job", "write"),
	"exec": ("function job() {\n\texec('true'); // HERE\n}\njob();", "job", "execute"),
	"system": ("function job() {\n\tsystem('true'); // HERE\n}\njob();", "job", "execute"),
	"backticks": ("function job() {\n\t$x = `true`; // HERE\n}\njob();", "job", "execute"),
	"proc_open": ("function job($program) {\n\tproc_open([$program], [], $pipes); // HERE\n}\njob($P);", "job", "execute"),
	"fork": ("function job($name) {\n\tif (pcntl_fork() === 0) {\n\t\tfopen($name, 'r'); // HERE\n\t}\n\tpcntl_wait($status);\n}\njob($F);", "job", "read"),
	"fsockopen": ("function job() {\n\tfsockopen('127.0.0.1', 9); // HERE\n}\njob();", "job", "network"),
	"stream": ("function job() {\n\tstream_socket_client('tcp://127.0.0.1:9'); // HERE\n}\njob();", "job", "network"),
	"URL": ("function job() {\n\tfile_get_contents('http://127.0.0.1:9/'); // HERE\n}\njob();", "job", "network"),
}

# What PHP says of the call that is blocked next, on the very line: for each function its name, and where it was called.
PHP_WITNESS = """
function see() {
	foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $call)
		echo json_encode([$call['file'] ?? null, $call['line'] ?? null, ($call['class'] ?? '') . (isset($call['class']) ? '::' : '') . $call['function']]), "\\n";
}
class Job {
	function each() {
		yield 1;
		yield from $this->most();
	}
	function most() {
		yield from
			self::last();
	}
	static function last() {
		usort($GLOBALS['list'],
			fn ($a, $b) =>
				see() . fopen($GLOBALS['F'], 'r'));
		yield 2;
	}
	function __get($name) {
		return call_user_func_array(function (...$rest) {
			foreach ($this->each() as $one);
		}, [1]);
	}
}
$list = [1, 2];
$fiber = new Fiber(function () {
	(new Job)->value;
});
$fiber->start();
"""


def pythons():
	"""(path, minor) of each CPython from 3.7 on that may be run here, one of each version and Debian's."""
	root = ""
	if shutil.which("pyenv"):
		root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False).stdout.strip()
	paths = ["/usr/bin/python3"] + (sorted(glob.glob(f"{root}/versions/3.*/bin/python3")) if root else [])
	found = []
	for path in filter(lambda path: os.access(path, os.X_OK), paths):
		code, stdout, _ = native([path, "-c", "import sys; print(sys.implementation.name, *sys.version_info[:2])"], SCRATCH)
		name, major, minor = (stdout.decode().split() + ["", "", ""])[:3] if code == 0 else ("", "", "")
		if name == "cpython" and major == "3" and int(minor) >= 7:
			found.append((os.path.realpath(path), int(minor)))
	return found


def policy_of(folder, program):
	"""Everything may be read and run, apart from what is forbidden; nothing is connected to."""
	return write_policy(folder, syscalls={"allow": ["memfd_create"]}, paths={"read": ["/**"], "execute": [program, "/usr/bin/**"],
		"deny": [f"{FORBIDDEN}/**", os.path.realpath("/bin/sh"), os.path.realpath("/bin/true")]})


def definitions(language):
	name, program = f"{FORBIDDEN}/forbidden_module.py", "/bin/true"
	return {"python": f"F, P = {name!r}, {program!r}", "bash": f"F={name} P={program}",
		"perl": f"my ($F, $P) = ('{name}', '{program}');", "php": f"$F = '{name}'; $P = '{program}';"}[language]


def write_program(folder, language, text):
	"""(path, the marked line's number)"""
	whole = f"{definitions(language)}\n{text}\n"
	if language == "php":
		# A namespace must be the first statement of its file.
		whole = f"<?php\n{text}\n".replace("$F", f"'{FORBIDDEN}/forbidden_module.py'") if "namespace" in text else f"<?php {whole}"
	path = os.path.join(folder, {"python": "jöb.py", "bash": "job.sh", "perl": "job.pl", "php": "jöb.php"}[language])
	with open(path, "w", encoding="utf-8") as file:
		file.write(whole)
	return path, next((at for at, line in enumerate(whole.splitlines(), 1) if "HERE" in line), None)


def own_frame(failure):
	return next((frame for frame in failure.get("script") or [] if frame["own_code"]), {})


def blocked(folder, command, program=None, **settings):
	"""(first failure, what the run printed). The readers have a few milliseconds of time on the clock, which a busy machine may
	take away: then, and only then, it is run again."""
	for _ in range(5):
		done = run(folder, command, policy_of(folder, program or command[0]), **settings)
		failure = verdict(folder)["first_failure"] or {}
		if "took too long" not in (failure.get("script_missing") or ""):
			break
		if settings.get("stdin"):
			settings["stdin"].seek(0)
	return failure, done


def check(tap, name, folder, command, expected, rule, **settings):
	"""`expected`: (file, line, function) of the innermost frame of the user's own code."""
	failure, (code, stdout, stderr) = blocked(folder, command, **settings)
	frame = own_frame(failure)
	actual = (frame.get("file"), frame.get("line"), frame.get("function"), failure.get("rule"))
	tap.equal(name, actual, (*expected, f"policy_blocked_{rule}"), f"exit {code}", f"script {failure.get('script')}",
		f"missing {failure.get('script_missing')}", f"operation {failure.get('operation')}", stdout[-500:], stderr[-500:])


def function_of(qualified, minor):
	if qualified and minor >= 12 and qualified.endswith(".<listcomp>"):
		qualified = qualified.rsplit(".<locals>", 1)[0]  # PEP 709: no function of its own any more
	return qualified.rsplit(".", 1)[-1] if qualified and minor < 11 else qualified


def python_programs(tap, python, minor):
	for name, (text, function, rule) in PYTHON.items():
		title = f"python 3.{minor}: {name}"
		if name == "spawn" and minor < 8:
			tap.skip(title, "os.posix_spawn came with 3.8 (optional)")
			continue
		if name == "ctypes" and native([python, "-c", "import ctypes"], SCRATCH)[0] != 0:
			tap.skip(title, "this build has no ctypes")
			continue
		folder = fresh("python")
		path, line = write_program(folder, "python", text)
		file, expected_line = ("<made>", 3) if name == "exec of text" else (path, line)
		function = None if name == "exec of text" else function
		check(tap, title, folder, [python, path], (file, expected_line, function_of(function, minor)), rule)


def python_ways(tap, python, minor):
	"""A program that is no file: -c, -m, standard input."""
	source = f"{definitions('python')}\ndef job():\n\topen(F)\njob()\n"
	folder = fresh("python")
	check(tap, f"python 3.{minor}: -c", folder, [python, "-c", source], ("<string>", 3, "job"), "read")
	with open(os.path.join(folder, "module.py"), "w", encoding="utf-8") as file:
		file.write(source)
	check(tap, f"python 3.{minor}: -m", folder, [python, "-B", "-m", "module"], (os.path.join(folder, "module.py"), 3, "job"), "read")
	with open(os.path.join(folder, "module.py"), "rb") as file:
		check(tap, f"python 3.{minor}: standard input", folder, [python, "-"], ("<stdin>", 3, "job"), "read", stdin=file)
	for name, words in (("a heredoc", f"{python} - one"), ("a heredoc without a dash", python)):
		script = f"{words} <<'END'\n{source}END\n"
		check(tap, f"python 3.{minor}: {name}", folder, ["/bin/bash", "-c", script], ("<stdin>", 3, "job"), "read", program=python)


def python_witness(tap, python, minor):
	folder = fresh("python")
	path, _ = write_program(folder, "python", WITNESS)
	failure, (_, stdout, stderr) = blocked(folder, [python, "-X", "utf8", path])
	witnessed = re.findall(r'File "(.*)", line (\d+) in (\S+)', stdout.decode(errors="replace"))
	frames = failure.get("script") or []
	seen = [(frame["file"], str(frame["line"]), (frame["function"] or "<module>").rsplit(".", 1)[-1]) for frame in frames]
	# faulthandler writes what is not ASCII as \xNN.
	plain = [(file.encode("ascii", "backslashreplace").decode(), line, function) for file, line, function in seen]
	tap.ok(f"python 3.{minor}: faulthandler sees the same {len(plain)} frames", plain == witnessed and len(plain) > 10,
		*(f"{left} {right}" for left, right in zip(plain, witnessed)), len(plain), len(witnessed), stderr[-500:])
	failure = whole_stack(folder, [python, "-X", "utf8", path])
	places = [frame.get("native", -1) for frame in failure["script"]]
	tap.ok(f"python 3.{minor}: each of them sits below the native frame that runs it", places == sorted(places) and
		sorted(set(places)) == evaluations_of(failure["stack"]), places, evaluations_of(failure["stack"]), failure["stack_missing"])


def whole_stack(folder, command, **settings):
	"""The first failure. Where a busy machine kept the unwinder from its end, it is run again."""
	for _ in range(20):
		failure = blocked(folder, command, **settings)[0]
		if "did not end within" not in (failure.get("stack_missing") or ""):
			break
	return failure


def evaluations_of(stack):
	"""Which native frames run frames of Python."""
	return [at for at, frame in enumerate(stack)
		if (frame["function"] or "").split(".")[0] == "_PyEval_EvalFrameDefault" and not frame.get("inlined")]


def python_mixed(tap, python, minor):
	"""Where Python frames sit among the native ones."""
	title = f"python 3.{minor}: frames among native ones"
	if native([python, "-c", "import ctypes"], SCRATCH)[0] != 0:
		tap.skip(title, "this build has no ctypes")
		return
	folder = fresh("python")
	path, _ = write_program(folder, "python", MIXED)
	failure = whole_stack(folder, [python, path])
	stack, script = failure.get("stack") or [], failure.get("script") or []
	detail = [failure.get("stack_missing"), *(f"{at} {frame['function']} {frame['module']}" for at, frame in enumerate(stack)), *script]
	places = [frame.get("native", -1) for frame in script]
	evaluations = evaluations_of(stack)
	if not tap.ok(f"{title}: each evaluation runs some", sorted(set(places)) == evaluations and places == sorted(places), places, *detail):
		return
	sorts = [at for at, frame in enumerate(stack) if (frame["function"] or "").startswith("qsort")]
	around = [frame["function"].rsplit(".", 1)[-1] for frame in script if frame["function"]]
	before = [sum(place < sort for place in places) for sort in sorts]
	tap.equal(f"{title}: C code between those that it calls and those that call it",
		[(around[count - 1], around[count]) for count in before], [("inner", "sort"), ("outer", "sort")], *detail)
	words = native([BAILIFF, "explain", os.path.join(folder, "verdict.json")], folder)[1].decode()
	told = re.findall(r"^ {13,15}\S*:\d+ in (\S+)|(qsort\w*)|^ +(_PyEval_EvalFrameDefault)", words[words.index("  stack "):], re.MULTILINE)
	expected = []
	for at, frame in enumerate(stack[:evaluations[-1] + 1] if evaluations else []):
		expected += ["qsort"] if at in sorts else ["evaluation"] if at in evaluations else []
		expected += [one["function"] for one in script if one["native"] == at and one["function"]]
	names = [one or ("qsort" if sort else "evaluation") for one, sort, _ in told]
	tap.equal(f"{title}: explain tells them in this order", names, expected, words)


def shell_programs(tap, language, program, programs):
	for name, (text, function) in programs.items():
		folder = fresh(language)
		path, line = write_program(folder, language, text)
		rule = {"connect": "network", "program": "execute", "exec": "execute", "loop": "write"}.get(name, "read")
		check(tap, f"{language}: {name}", folder, [program, path], (path, line, function or None), rule)


def bash_calls(tap):
	"""Callers across a sourced file; -c; standard input."""
	folder = fresh("bash")
	with open(os.path.join(folder, "library.sh"), "w", encoding="utf-8") as file:
		file.write("inner() {\n\ttrue\n\tcat < $F\n}\n")
	path, _ = write_program(folder, "bash", f". {folder}/library.sh\nouter() {{\n\tinner\n}}\n\nouter")
	frames = blocked(folder, ["/bin/bash", path])[0].get("script") or []
	tap.equal("bash: a sourced function and its callers", [(frame["function"], frame["file"], frame["line"]) for frame in frames],
		[("inner", f"{folder}/library.sh", 3), ("outer", path, 4), (None, path, 7)])
	source = f"{definitions('bash')}\ntrue\ncat < $F\n"
	check(tap, "bash: -c", folder, ["/bin/bash", "-c", source], ("-c", 3, None), "read")
	with open(os.path.join(folder, "input"), "w+", encoding="utf-8") as file:
		file.write(source)
		file.flush()
		file.seek(0)
		check(tap, "bash: standard input", folder, ["/bin/bash"], ("standard input", 3, None), "read", stdin=file)


def perl_calls(tap):
	folder = fresh("perl")
	path, _ = write_program(folder, "perl", "sub f {\n\topen(my $f, '<', $F);\n}\nif ($F) {\n\teval '\n\nf()';\n}\n")
	frames = blocked(folder, ["/usr/bin/perl", path])[0].get("script") or []
	tap.equal("perl: evaluated text and its callers", [(frame["function"], frame["file"], frame["line"]) for frame in frames],
		[("main::f", path, 3), (None, "(eval 1)", 3), (None, path, 6)])
	check(tap, "perl: -e", folder, ["/usr/bin/perl", "-e", f"{definitions('perl')}\nopen(my $f, '<', $F);"], ("-e", 2, None), "read")


def php_program():
	"""The command line's PHP, or None. One with threads is another program to its reader."""
	path = shutil.which("php")
	if not path:
		return None
	code, stdout, _ = native([path, "-r", "echo PHP_MAJOR_VERSION, ' ', (int) PHP_ZTS;"], SCRATCH)
	return os.path.realpath(path) if code == 0 and stdout.decode().startswith("8 0") else None


def php_is_from_8_4(php):
	return native([php, "-r", "exit(PHP_VERSION_ID >= 80400 ? 0 : 1);"], SCRATCH)[0] == 0


def php_programs(tap, php):
	for name, (text, function, rule) in PHP.items():
		if "pcntl" in text and native([php, "-r", "exit(function_exists('pcntl_fork') ? 0 : 1);"], SCRATCH)[0] != 0:
			tap.skip(f"php: {name}", "this build has no pcntl (optional)")
			continue
		folder = fresh("php")
		path, line = write_program(folder, "php", text)
		# From 8.4 on the name of a closure tells where it is.
		new = function == "{closure}" and php_is_from_8_4(php)
		check(tap, f"php: {name}", folder, [php, path], (path, line, f"{{closure:{path}:{line - 1}}}" if new else function), rule)


def php_ways(tap, php):
	"""Text that is no file; files that include each other; code that was compiled to that of the machine."""
	source = f"{definitions('php')}\nfunction job($name) {{\n\tfopen($name, 'r');\n}}\njob($F);\n"
	folder = fresh("php")
	check(tap, "php: -r", folder, [php, "-r", source], ("Command line code", 3, "job"), "read")
	with open(os.path.join(folder, "input"), "w+", encoding="utf-8") as file:
		file.write(f"<?php\n{source}")
		file.flush()
		file.seek(0)
		check(tap, "php: standard input", folder, [php], ("Standard input code", 4, "job"), "read", stdin=file)
	with open(os.path.join(folder, "library.php"), "w", encoding="utf-8") as file:
		file.write("<?php\nfunction inner($name) {\n\teval('\n\nfopen($name, \"r\");');\n}\nouter();\n")
	path, _ = write_program(folder, "php", f"function outer() {{\n\tinner($GLOBALS['F']);\n}}\n\nrequire '{folder}/library.php';")
	frames = blocked(folder, [php, path])[0].get("script") or []
	library = f"{folder}/library.php"
	tap.equal("php: evaluated text, an included file and their callers", [(frame["function"], frame["file"], frame["line"]) for frame in frames],
		[(None, f"{library}(3) : eval()'d code", 3), ("inner", library, 3), ("outer", path, 3), (None, library, 7), (None, path, 6)])
	path, _ = write_program(folder, "php", "class Kept {\n\tfunction __construct(public $depth) {}\n\tfunction __destruct() {\n\t\t"
		"$this->depth ? job($this->depth - 1) : fopen($GLOBALS['F'], 'r');\n\t}\n}\nfunction job($depth) {\n\tif ($depth)\n"
		"\t\tfails($depth);\n\telse\n\t\tfails($depth);\n}\nfunction fails($depth) {\n\t$kept = new Kept($depth);\n\tintdiv(1, 0);\n}\njob(1);")
	frames = blocked(folder, [php, path])[0].get("script") or []
	tap.equal("php: while exceptions are on their way, the innermost place that threw", [(frame["function"], frame["line"]) for frame in frames],
		# 8.4 keeps the place of every call that waits for a destructor, 8.2 that of the innermost alone.
		[("Kept::__destruct", 5), ("job", 12), ("Kept::__destruct", 5), ("job", 10 if php_is_from_8_4(php) else None), (None, 18)])
	os.makedirs(f"{folder}/vendor/other")
	with open(f"{folder}/vendor/other/library.php", "w", encoding="utf-8") as file:
		file.write("<?php\nfunction read($name, $depth) {\n\t$depth ? read($name, $depth - 1) : fopen($name, 'r');\n}\n")
	path, line = write_program(folder, "php", "require 'vendor/other/library.php';\nfunction job($name) {\n\tread($name, 50); // HERE\n}\njob($F);")
	check(tap, "php: the own line behind 51 calls of a library", folder, [php, path], (path, line, "job"), "read")


def php_compiled(tap, php):
	options = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=1255", "-d", "opcache.jit_buffer_size=16M"]
	if native([php, *options, "-r", "exit(opcache_get_status()['jit']['on'] ?? false ? 0 : 1);"], SCRATCH)[0] != 0:
		tap.skip("php: compiled code", "this build has no compiler to machine code (optional)")
		return
	folder = fresh("php")
	path, line = write_program(folder, "php", "function job($name, $go) {\n\tif ($go)\n\t\tfopen($name, 'r'); // HERE\n}\n"
		"for ($i = 0; $i < 5000; $i++)\n\tjob($F, $i === 4999);")
	check(tap, "php: compiled code", folder, [php, *options, "-d", f"opcache.lockfile_path={folder}", path], (path, line, "job"), "read",
		options=["--write", f"{folder}/**"])


def php_witness(tap, php):
	folder = fresh("php")
	path, _ = write_program(folder, "php", PHP_WITNESS)
	failure, (_, stdout, stderr) = blocked(folder, [php, path])
	calls = [json.loads(line) for line in stdout.decode().splitlines() if line.startswith("[")]
	# Functions that PHP is not written in have no frame of ours, and the calls that they make no place.
	inside = ("usort", "call_user_func_array", "Fiber::start", "see")
	names = [name for _, _, name in calls if name not in inside] + [None]
	places = [(file, line) for file, line, _ in calls if file]
	tap.equal("php: debug_backtrace sees the same frames",
		[((frame["file"], frame["line"]), frame["function"]) for frame in failure.get("script") or []], list(zip(places, names)), calls, stderr[-500:])


def main():
	tap = Tap()
	os.makedirs(FORBIDDEN, exist_ok=True)
	with open(f"{FORBIDDEN}/forbidden_module.py", "w", encoding="utf-8") as file:
		file.write("1\n")
	for python, minor in pythons():
		python_programs(tap, python, minor)
		python_ways(tap, python, minor)
		python_witness(tap, python, minor)
		python_mixed(tap, python, minor)
	if os.path.exists("/bin/bash"):
		shell_programs(tap, "bash", "/bin/bash", BASH)
		bash_calls(tap)
	if os.path.exists("/usr/bin/perl"):
		shell_programs(tap, "perl", "/usr/bin/perl", PERL)
		perl_calls(tap)
	php = php_program()
	if php:
		php_programs(tap, php)
		php_ways(tap, php)
		php_compiled(tap, php)
		php_witness(tap, php)
	else:
		tap.skip("php", "no PHP 8 without threads is installed")
	tap.end()


main()
