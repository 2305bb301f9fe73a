"""Does the verdict name the line and the function of a program in JavaScript that made a blocked call?

The node that is installed runs small programs in which the line that will be blocked carries the mark HERE. Error().stack,
printed on that very line, is a witness of its own for the whole stack.
"""

import os
import re
import shutil

from harness import BAILIFF, SCRATCH, Tap, fresh, native, run, verdict, write_policy

FORBIDDEN = os.path.join(SCRATCH, "forbidden-node")
FILE, PROGRAM = f"{FORBIDDEN}/module.js", "/bin/true"
KNOWN = ("10.2.", "11.3.", "12.4.")  # V8 in node 18, 20 and 22
DEFERRED = "deferred call, no user frame"
OPTIMIZED = "optimized code"

# The operation with the mark HERE, the function that makes it, and the rule. F and P are the forbidden file and program.
PROGRAMS = {
	"top level": ("let x = 1;\nfs.openSync(F); // HERE", None, "read"),
	"function": ("function job() {\n\treturn [\n\t\t1,\n\t\tfs.readFileSync(F)]; // HERE\n}\njob();", "job", "read"),
	"nested functions": ("function outer() {\n\tfunction inner() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n\tinner();\n}\nouter();", "inner", "read"),
	"arrow": ("const job = (name) =>\n\tfs.readFileSync(name); // HERE\njob(F);", "job", "read"),
	"function without a name": ("(function () {\n\tfs.readFileSync(F); // HERE\n})();", "<anonymous>", "read"),
	"exported function": ("exports.run = function () {\n\tfs.readFileSync(F); // HERE\n};\nexports.run();", "exports.run", "read"),
	"method": ("class Job {\n\trun() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n}\nnew Job().run();", "Job.run", "read"),
	"inherited method": ("class Base {\n\trun() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n}\nclass Job extends Base {}\nnew Job().run();", "Job.run", "read"),
	"private method": ("class Job {\n\t#read() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n\trun() {\n\t\tthis.#read();\n\t}\n}\nnew Job().run();",
		"Job.#read", "read"),
	"static method": ("class Job {\n\tstatic run() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n}\nJob.run();", "Job.run", "read"),
	"method of the old kind": ("function Job() {}\nJob.prototype.run = function run() {\n\tfs.readFileSync(F); // HERE\n};\nnew Job().run();",
		"Job.run", "read"),
	"constructor": ("class Job {\n\tconstructor() {\n\t\tfs.readFileSync(F); // HERE\n\t}\n}\nnew Job();", "Job", "read"),
	"property that is read": ("const job = {\n\tget value() {\n\t\treturn fs.readFileSync(F); // HERE\n\t},\n};\njob.value;", "get value", "read"),
	"generator": ("function* each() {\n\tyield 1;\n\tyield fs.readFileSync(F); // HERE\n}\nfor (const one of each());", "each", "read"),
	"callback": ("[2, 1].sort(function order() {\n\tfs.readFileSync(F); // HERE\n});", "order", "read"),
	"callback from C++": ("JSON.stringify({\n\ttoJSON() {\n\t\tfs.readFileSync(F); // HERE\n\t},\n});", "toJSON", "read"),
	"callback from a regular expression": ("function job() {\n\tfs.readFileSync(F); // HERE\n}\n'ab'.replace(/a(b)/, job);", "job", "read"),
	"proxy": ("const job = new Proxy({}, {\n\tget: function read() {\n\t\tfs.readFileSync(F); // HERE\n\t},\n});\njob.value;", "read", "read"),
	"timer": ("setTimeout(function job() {\n\tfs.readFileSync(F); // HERE\n}, 1);", None, "read"),
	"async function": ("async function job() {\n\tawait null;\n\tfs.readFileSync(F); // HERE\n}\njob();", "job", "read"),
	"promise": ("Promise.resolve(F).then(function job(name) {\n\tfs.readFileSync(name); // HERE\n});", "job", "read"),
	"at the end": ("process.on('exit', function job() {\n\tfs.readFileSync(F); // HERE\n});", None, "read"),
	"exception handler": ("function job() {\n\ttry {\n\t\tnull.x;\n\t} catch {\n\t\tfs.readFileSync(F); // HERE\n\t}\n}\njob();", "job", "read"),
	"names that are not ASCII": ("function größe_𐊀() {\n\t'𐌰€ü';\n\tfs.readFileSync(F); // HERE\n}\ngröße_𐊀();", "größe_𐊀", "read"),
	"long lines and other ends": ("'" + "x" * 9000 + "';\r\n'\u2028';\rfunction job() {\r\n\tfs.readFileSync(F); // HERE\r\n}\r\njob();", "job", "read"),
	"require": ("function job() {\n\trequire(F); // HERE\n}\njob();", "job", "read"),
	"folder": ("function job() {\n\tfs.readdirSync(require('path').dirname(F)); // HERE\n}\njob();", "job", "read"),
	"write": ("function job() {\n\tfs.writeFileSync(F, 'x'); // HERE\n}\njob();", "job", "write"),
	"unlink": ("function job() {\n\tfs.unlinkSync(F); // HERE\n}\njob();", "job", "write"),
	"mkdir": ("function job() {\n\tfs.mkdirSync(`${F}.d`); // HERE\n}\njob();", "job", "write"),
	"rename": ("function job() {\n\tfs.renameSync(F, `${F}.d`); // HERE\n}\njob();", "job", "write"),
	"copy": ("function job() {\n\tfs.copyFileSync(F, '/dev/null'); // HERE\n}\njob();", "job", "read"),
	"spawnSync": ("function job() {\n\trequire('child_process').spawnSync(P); // HERE\n}\njob();", "job", "execute"),
	"execSync": ("function job() {\n\trequire('child_process').execSync('true'); // HERE\n}\njob();", "job", "execute"),
	"execFileSync": ("function job() {\n\trequire('child_process').execFileSync(P, ['x']); // HERE\n}\njob();", "job", "execute"),
	"spawn": ("function job() {\n\trequire('child_process').spawn(P); // HERE\n}\njob();", "job", "execute"),
	"exec": ("function job() {\n\trequire('child_process').exec('true'); // HERE\n}\njob();", "job", "execute"),
	"worker": ("const worker = require('worker_threads');\nfunction job() {\n\tfs.readFileSync(F); // HERE\n}\n"
		"if (worker.isMainThread)\n\tnew worker.Worker(__filename);\nelse\n\tjob();", "job", "read"),
	"spawn in a worker": ("const worker = require('worker_threads');\nfunction job() {\n\trequire('child_process').spawnSync(P); // HERE\n}\n"
		"if (worker.isMainThread)\n\tnew worker.Worker(__filename);\nelse\n\tjob();", "job", "execute"),
	"many names in one function": ("function job() {\n" + "".join(f"\tlet name{number} = {number};\n" for number in range(90)) +
		"\tconst all = () => [" + ", ".join(f"name{number}" for number in range(90)) + "];\n\tfs.readFileSync(F, all()); // HERE\n}\njob();", "job", "read"),
}

# Nobody's line: node asks the kernel later, or in a thread of its own.
DEFERRED_PROGRAMS = {
	"connect": ("require('net').connect(9, '127.0.0.1');", "network"),
	"connect by name": ("require('http').get('http://localhost:9/');", "network"),
	"datagram": ("require('dgram').createSocket('udp4').bind(9, '127.0.0.1');", "bind"),
	"read": ("fs.readFile(F, () => {});", "read"),
	"read with a promise": ("fs.promises.readFile(F);", "read"),
}

WITNESS = """
class Base {
	constructor(depth) {
		this.depth = depth;
	}
	get value() {
		return [1,
			...this.each()];
	}
	*each() {
		yield 1;
		yield Base.last(
			this);
	}
	static last(job) {
		return JSON.stringify({
			toJSON: () =>
				'ab'.replace(/b/, () => job.see()) });
	}
	#deep() {
		console.log(new Error().stack), fs.readFileSync(F);
	}
	see() {
		const see = () => this.depth-- ? see() :
			this.#deep();
		try {
			null.x;
		} catch {
			see();
		} finally {
			1;
		}
	}
}
class Job extends Base {
	constructor(...rest) {
		super(...rest);
		this.value;
	}
}
const make = function () {
	return Reflect.construct(Job, [2]);
};
[1].map((one) => one &&
	make.call({}));
"""


def program(folder, text, name="jöb.js"):
	"""(path, the marked line's number, from 1, or None)"""
	head = "import fs from 'fs';" if name.endswith(".mjs") else "const fs = require('fs');"
	whole = f"{head} const F = {FILE!r}, P = {PROGRAM!r};\n{text}\n"
	path = os.path.join(folder, name)
	with open(path, "w", encoding="utf-8", newline="") as file:
		file.write(whole)
	lines = re.split("\r\n|[\n\r\u2028\u2029]", whole)
	return path, next((number for number, line in enumerate(lines, 1) if "HERE" in line), None)


def blocked(folder, command, **settings):
	"""(first failure, what the run printed, the summary). A busy machine may take the reader's time away: then, and only then, again."""
	policy = write_policy(folder, paths={"read": ["/**"], "execute": [command[0], "/usr/bin/**"],
		"deny": [f"{FORBIDDEN}/**", os.path.realpath("/bin/sh"), os.path.realpath(PROGRAM)]})
	for _ in range(5):
		done = run(folder, command, policy, seconds=60, **settings)
		found = verdict(folder)
		failure = found["first_failure"] or {}
		if "took too long" not in (failure.get("script_missing") or ""):
			break
		if settings.get("stdin"):
			settings["stdin"].seek(0)
	return failure, done, found.get("summary") or ""


def check(tap, name, folder, command, expected, rule, missing=None, **settings):
	"""`expected`: (file, line, function) of the innermost frame of the user's own code."""
	failure, (code, stdout, stderr), summary = blocked(folder, command, **settings)
	frame = next((frame for frame in failure.get("script") or [] if frame["own_code"]), {})
	actual = (frame.get("file"), frame.get("line"), frame.get("function"), failure.get("rule"))
	why = failure.get("script_missing") or ""
	tap.ok(f"node: {name}", actual == (*expected, f"policy_blocked_{rule}") and why.startswith(missing or "") and bool(why) == bool(missing),
		f"got      {actual!r}", f"expected {(*expected, rule)!r}", f"missing {why!r}", summary, f"exit {code}",
		f"script {failure.get('script')}", stdout[-500:], stderr[-500:])
	return failure, summary


def programs(tap, node):
	for name, (text, function, rule) in PROGRAMS.items():
		folder = fresh("node")
		path, line = program(folder, text)
		if function is None and "function job" in text:
			# The receiver decides whether its class is a part of the name, and node has changed that.
			failure, _, summary = blocked(folder, [node, path])
			tap.ok(f"node: {name}", f"{path}:{line} in " in summary, summary, failure.get("script_missing"))
			continue
		failure, summary = check(tap, name, folder, [node, path], (path, line, function), rule)
		own = next((frame for frame in failure.get("script") or [] if frame["own_code"]), {})
		where = f"{path}:{line}" + (f" in {function}" if function else "")
		# Where lines end in other ways than \\n, the text of one is not shown.
		shown = "HERE" in (own.get("source") or "") if name != "long lines and other ends" else own.get("source") is None
		tap.ok(f"node: {name}: summary and source", summary.endswith(where) and shown, summary, own)


def deferred(tap, node):
	for name, (text, rule) in DEFERRED_PROGRAMS.items():
		folder = fresh("node")
		path, _ = program(folder, text)
		_, summary = check(tap, f"deferred {name}", folder, [node, path], (None, None, None), rule, DEFERRED)
		tap.ok(f"node: deferred {name}: the summary names no line", summary.endswith(")"), summary)
		words = native([BAILIFF, "explain", f"{folder}/verdict.json"], folder)[1].decode()
		tap.ok(f"node: deferred {name}: explain tells why", DEFERRED in words, words)


def ways(tap, node):
	"""Modules of the new kind, text that is no file, packages, evaluated text."""
	text = "function job() {\n\tfs.readFileSync(F); // HERE\n}\njob();"
	folder = fresh("node")
	path, line = program(folder, text, "jöb %41.mjs")
	check(tap, "module", folder, [node, path], (path, line, "job"), "read")
	path, line = program(folder, "const x = await 1;\nexport const y = fs.readFileSync(F); // HERE", "top.mjs")
	check(tap, "top level of a module", folder, [node, path], (path, line, None), "read")
	source = f"const fs = require('fs');\nfunction job() {{\n\tfs.readFileSync('{FILE}');\n}}\njob();\n"
	check(tap, "-e", folder, [node, "-e", source], ("[eval]", 3, "job"), "read")
	with open(os.path.join(folder, "input"), "w+", encoding="utf-8") as file:
		file.write(source)
		file.flush()
		file.seek(0)
		check(tap, "standard input", folder, [node, "-"], ("[stdin]", 3, "job"), "read", stdin=file)
	os.makedirs(f"{folder}/node_modules/other")
	with open(f"{folder}/node_modules/other/index.js", "w", encoding="utf-8") as file:
		file.write("function read(name, depth) {\n\treturn depth ? read(name, depth - 1) : require('fs').readFileSync(name);\n}\nmodule.exports = read;\n")
	path, line = program(folder, "const read = require('other');\nfunction job() {\n\tread(F, 50); // HERE\n}\njob();", "own.js")
	check(tap, "the own line behind 51 calls of a package", folder, [node, path], (path, line, "job"), "read", "there are more frames")
	path, line = program(folder, "function job() {\n\teval('\\n\\nfs.readFileSync(F)'); // HERE\n}\njob();", "eval.js")
	failure, _ = check(tap, "evaluated text", folder, [node, path], ("<anonymous>", 3, None), "read")
	frames = [frame for frame in failure.get("script") or [] if frame["own_code"]]
	tap.equal("node: who evaluates", [(frame["file"], frame["line"], frame["function"]) for frame in frames[1:2]], [(path, line, "job")])
	path, line = program(folder, "const vm = require('vm');\nfunction job() {\n\tfs.readFileSync(F); // HERE\n}\nglobalThis.job = job;\n"
		"vm.runInThisContext('\\njob()', {filename: 'part.vm', lineOffset: 40});", "vm.js")
	failure, _ = check(tap, "called from text with a name", folder, [node, path], (path, line, "job"), "read")
	tap.ok("node: text that begins further down", ("part.vm", 42) in [(frame["file"], frame["line"]) for frame in failure.get("script") or []],
		failure.get("script"))


def compiled(tap, node):
	"""One bytecode after the other: exact. Optimized: the function, by its first line, and that is said."""
	text = """
function inner(name) {
	const length = name.length, many = [1, 2, 3].map((one) => one + length);
	for (const one of many)
		if (one > 1e9)
			throw new Error(`${one} of ${many}`);
	fs.closeSync(
		fs.openSync(name)); // HERE
	return many;
}
function job(name) {
	return [
		inner(name)];
}
"""
	folder = fresh("node")
	path, line = program(folder, f"{text}for (let count = 0; count < 3; count++)\n\tjob('/dev/null');\njob(F);", "baseline.js")
	failure, _ = check(tap, "compiled without optimization", folder, [node, "--always-sparkplug", path], (path, line, "inner"), "read")
	lines = [frame["line"] for frame in failure.get("script") or [] if frame["own_code"]]
	tap.equal("node: its callers, compiled too", lines, [line, line + 5, line + 9])
	optimize = "%PrepareFunctionForOptimization(job);\njob('/dev/null');\njob('/dev/null');\n%OptimizeFunctionOnNextCall(job);\njob('/dev/null');\njob(F);"
	path, line = program(folder, f"{text}{optimize}", "caller.js")
	failure, _ = check(tap, "called from optimized code", folder, [node, "--allow-natives-syntax", path], (path, line, "inner"), "read", OPTIMIZED)
	lines = [(frame["function"], frame["line"]) for frame in failure.get("script") or [] if frame["own_code"]]
	tap.equal("node: optimized code has the line that its function begins on", lines[1:2], [("job", line + 3)])
	path, line = program(folder, f"function job(name) {{ // HERE\n\tconst x = name.length;\n\tfs.closeSync(fs.openSync(name));\n\treturn x;\n}}\n{optimize}", "optimized.js")
	check(tap, "optimized code", folder, [node, "--allow-natives-syntax", path], (path, line, "job"), "read", OPTIMIZED)


def plain(name):
	"""As our frames have it: without the class where it is no more than Object, and without how it was called."""
	name = re.sub(r"^new | \[as .*\]$", "", name)
	return name.rsplit(".", 1)[-1]


def witness(tap, node):
	folder = fresh("node")
	path, _ = program(folder, WITNESS)
	failure, (_, stdout, stderr), _ = blocked(folder, [node, "--stack-trace-limit=100", path])
	said = [re.fullmatch(r"\s+at (?:(.*) \((.*):(\d+):\d+\)|(.*):(\d+):\d+)", line) for line in stdout.decode().splitlines()]
	said = [(found[2] or found[4], int(found[3] or found[5]), plain(found[1] or "<anonymous>")) for found in said if found]
	frames = failure.get("script") or []
	while frames and not frames[0]["own_code"]:
		frames.pop(0)
	seen = [(frame["file"], frame["line"], plain(frame["function"] or "<anonymous>")) for frame in frames]
	own = [frame for frame in said if frame[0] == path]
	tap.equal(f"node: Error().stack has the same {len(own)} own frames", [frame for frame in seen if frame[0] == path], own, stderr[-500:])
	tap.equal("node: and the same lines of node's own", [frame[:2] for frame in seen], [frame[:2] for frame in said], failure.get("script_missing"))
	tap.ok("node: these are no few", len(own) > 10 and len(said) > len(own) + 5, len(own), len(said))


def main():
	tap = Tap()
	os.makedirs(FORBIDDEN, exist_ok=True)
	with open(FILE, "w", encoding="utf-8") as file:
		file.write("1;\n")
	node = os.path.realpath(shutil.which("node") or "/usr/bin/node")
	code, stdout, _ = native([node, "-p", "process.versions.v8"], SCRATCH) if os.access(node, os.X_OK) else (1, b"", b"")
	if code == 0 and stdout.decode().startswith(KNOWN):
		programs(tap, node)
		deferred(tap, node)
		ways(tap, node)
		compiled(tap, node)
		witness(tap, node)
	else:
		tap.skip("node", f"no node of a known version is installed ({stdout.decode().strip() or 'none'})")
	tap.end()


main()
