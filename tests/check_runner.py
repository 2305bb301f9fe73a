#!/usr/bin/python3
"""Does the case runner notice? A stand-in for bailiff writes a given verdict; every wrong expectation must then fail."""

import copy
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import run  # noqa: E402
from runner.case import Case, Failure, agrees, look_up  # noqa: E402
from runner.cases import Tools  # noqa: E402
from runner.report import Report  # noqa: E402

STAND_IN = """#!/bin/sh
# bailiff run -p POLICY -o VERDICT OPTION... -- COMMAND...
while [ "$1" != -- ]; do
	[ "$1" != -o ] || out="$2"
	shift
done
echo relayed
echo complaint >&2
[ -z "$LITTER" ] || touch "$TMPDIR/litter"
[ -z "$LEAVE" ] || (cd "$S" && exec sleep 30 >/dev/null 2>&1 </dev/null) &
[ -z "$HANG" ] || sleep 30
printf %s "$VERDICT" >"$out"
exit "$STATUS"
"""

VERDICT = {
	"status": "policy_blocked", "rule": "policy_blocked_read", "summary": "blocked: reading /etc/shadow",
	"exit": {"code": None, "signal": "SIGKILL", "interrupted": None},
	"first_failure": {"policy": {"file": "/x/policy.json", "pointer": "/paths/read", "line": 3}, "answered": "killed",
		"operation": {"syscall": "openat", "target": "/etc/shadow"}, "path": {"given": "/etc/shadow", "resolved": "/etc/shadow"}},
	"violations": {"total": 1, "recorded": []}, "notes": [{"text": "answered ENETUNREACH", "count": 1}],
}

EXPECT = {
	"status": "policy_blocked", "rule": "policy_blocked_read", "exit": 122, "target": "/shadow", "resolved": "/etc/shadow",
	"given": "/etc/shadow", "syscall": "openat", "pointer": "/paths/read", "file": "policy.json", "line": 3,
	"stdout": "relayed\n", "stdout_contains": "lay", "stdout_lacks": "secret", "stderr": "complaint\n",
	"stderr_contains": ["com", "plaint"], "stderr_lacks": "secret", "notes_contain": "ENETUNREACH", "notes": 1, "violations": 1,
	"exit_code": None, "signal": "SIGKILL", "answered": "killed", "summary_contains": "reading", "files": {"made": "set up\n"},
	"jq": {"first_failure.operation.syscall": "openat", "notes.0.count": {"$at_least": 1}, "nothing": {"$absent": True}},
	"stdout_same_as_control": False,
}

WRONG = {
	"status": "completed", "rule": None, "exit": 0, "target": "/passwd", "resolved": "/etc", "given": "shadow", "syscall": "open",
	"pointer": "/paths", "file": "other.json", "line": 4, "stdout": "relayed", "stdout_contains": "secret", "stdout_lacks": "lay",
	"stderr": "", "stderr_contains": ["com", "secret"], "stderr_lacks": "plaint", "notes_contain": "EACCES", "notes": 0,
	"violations": True, "exit_code": 0, "signal": None, "answered": "EACCES", "summary_contains": "writing",
	"files": {"made": None}, "jq": {"first_failure.operation.syscall": None}, "stdout_same_as_control": True,
}

CASE = {"name": "stand-in", "why": "the runner itself", "setup": "echo set up > ${S}/made", "command": ["/bin/cat", "${S}/made"],
	"policy": {"paths": {}}, "control": {"stdout": "set up\n"}, "expect": EXPECT}


class Check:
	def __init__(self):
		self.count = self.failed = 0

	def ok(self, passed, name, detail=""):
		self.count += 1
		self.failed += not passed
		print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
		for line in detail.splitlines() if not passed else ():
			print(f"# {line}")

	def done(self):
		print(f"1..{self.count}")
		return 1 if self.failed or not self.count else 0


def stand_in_tools(folder):
	for sub in ("build", "policies/schema"):
		os.makedirs(os.path.join(folder, sub))
	with open(os.path.join(folder, "build", "bailiff"), "w", encoding="utf-8") as file:
		file.write(STAND_IN)
	os.chmod(os.path.join(folder, "build", "bailiff"), 0o755)
	for kind, schema in (("verdict", {"required": ["status"]}), ("policy", {"additionalProperties": False, "properties": {"paths": {}}})):
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		with open(os.path.join(folder, "policies", "schema", f"{kind}.schema.json"), "w", encoding="utf-8") as file:
			json.dump(schema, file)
	return Tools(folder, os.path.join(folder, "build"))


def outcome(folder, tools, case, verdict=None, status=122, **environment):
	"""None when the case passed, else what it complained about."""
	text = verdict if isinstance(verdict, str) else json.dumps(verdict or VERDICT)
	raw = {"environment": {"VERDICT": text, "STATUS": str(status), **environment}, **case}
	try:
		Case(raw, os.path.join(folder, "case"), tools).run()
	except Failure as failure:
		return str(failure)
	return None


def changed(**keys):
	case = copy.deepcopy(CASE)
	case.update(keys)
	return case


def check_expectations(check, folder, tools):
	complaint = outcome(folder, tools, CASE)
	check.ok(complaint is None, "a case with every expectation met passes", complaint or "")
	check.ok(set(WRONG) == set(EXPECT), "every expectation has a wrong counterpart")
	for key, value in WRONG.items():
		complaint = outcome(folder, tools, changed(expect={**EXPECT, key: value}))
		check.ok(complaint is not None and "why: the runner itself" in complaint, f"a wrong {key} is noticed")


def check_faults(check, folder, tools):
	faults = {
		"an unknown key of the case": changed(expects={}),
		"an unknown expectation": changed(expect={**EXPECT, "rules": 1}),
		"a case that expects nothing": changed(expect={}),
		"a case without a reason": changed(why=""),
		"a control that fails": changed(command=["/bin/cat", "${S}/missing"]),
		"a control that prints something else": changed(control={"stdout": "other\n"}),
		"a missing control without a reason": changed(control=None),
		"a set-up that fails": changed(setup="false"),
		"a policy against the schema": changed(policy={"path": {}}),
	}
	for name, case in faults.items():
		check.ok(outcome(folder, tools, case) is not None, f"{name} is noticed")
	check.ok("schema" in (outcome(folder, tools, CASE, {"rule": None}) or ""), "a verdict against the schema is noticed")
	check.ok("JSON" in (outcome(folder, tools, CASE, "{") or ""), "a verdict that is no JSON is noticed")
	check.ok("twice" in (outcome(folder, tools, CASE, '{"status":1,"status":2}') or ""), "a key given twice is noticed")
	check.ok("exit status" in (outcome(folder, tools, changed(expect={"rule": EXPECT["rule"]}), status=0) or ""),
		"an exit status that does not belong to the verdict is noticed")
	check.ok("left behind" in (outcome(folder, tools, CASE, LITTER="1") or ""), "a workspace left behind is noticed")
	check.ok("still running" in (outcome(folder, tools, CASE, LEAVE="1") or ""), "a process left behind is noticed")
	check.ok("still running after" in (outcome(folder, tools, changed(timeout=0.5), HANG="1") or ""), "a hanging bailiff is ended")


def check_comparisons(check):
	check.ok(look_up({"a.b": [1, {"c": "x"}]}, "a\\.b.1.c") == "x", "a path leads through keys with dots and through arrays")
	check.ok(not agrees(1, True) and not agrees("1", 1) and agrees(1, 1), "types are compared")
	check.ok(agrees("abc", {"$matches": "^a"}) and not agrees("abc", {"$matches": "^b"}), "$matches")
	check.ok(agrees([1, 2], {"$contains": 2}) and not agrees([1], {"$contains": 2}), "$contains")
	check.ok(agrees("ab", {"$lacks": "c"}) and not agrees("ab", {"$lacks": "b"}), "$lacks")
	check.ok(agrees(2, {"$at_most": 2}) and not agrees(3, {"$at_most": 2}), "$at_most")
	check.ok(agrees(2, {"$not": 3}) and not agrees(3, {"$not": 3}), "$not")


def absorbed(text, status=0, no_skip=False):
	report = Report()
	report.no_skip = no_skip
	with redirect_stdout(io.StringIO()):
		report.absorb("x", text.splitlines(True), lambda: status)
		report.finish_source("x")
	return report.passed, report.failed, report.skipped


def check_counting(check):
	check.ok(absorbed("ok 1 - a\nok 2 - b\n1..2\n") == (2, 0, 0), "two results")
	check.ok(absorbed("ok 1 - a\nnot ok 2 - b\n# why\n1..2\n", 1) == (1, 1, 0), "one failed result")
	check.ok(absorbed("ok 1 - a\n1..2\n")[1] == 1, "a result that never came")
	check.ok(absorbed("ok 1 - a\n")[1] == 1, "no plan")
	check.ok(absorbed("ok 1 - a\n1..1\n", 139)[1] == 1, "a crash after the last result")
	check.ok(absorbed("", 0)[1] == 1 and absorbed("1..0\n", 0)[1] == 1, "no result at all")
	check.ok(absorbed("ok 1 - a # SKIP no node\n1..1\n") == (0, 0, 1), "a skip is counted apart")
	check.ok(absorbed("ok 1 - a # SKIP no node\n1..1\n", no_skip=True) == (0, 1, 0), "a skip fails where skips are forbidden")
	check.ok(absorbed("ok 1 - a # SKIP no java (optional)\n1..1\n", no_skip=True) == (0, 0, 1), "but an optional one does not")
	check.ok(absorbed("not ok 1 - a # TO" "DO later\n1..1\n", 1)[1] == 1, "a failure cannot be declared expected")
	check.ok(absorbed("okay\nok 1 - a\n1..1\n") == (1, 0, 0), "other lines are no results")
	with redirect_stdout(io.StringIO()):
		status = Report().end()
	check.ok(status == 1, "a run without results fails")


def check_command(check, folder):
	"""Where nothing is built, and where it is started as nohup and `&` start programs."""
	done = subprocess.run([sys.executable, run.__file__, "cases", "--build", folder], capture_output=True, text=True, check=False)
	check.ok(done.returncode == 1 and "build first" in done.stderr, "what has to be built first", done.stdout + done.stderr)
	before = signal.signal(signal.SIGINT, signal.SIG_IGN)
	run.default_signals()
	status = subprocess.run(["/bin/sh", "-c", "kill -INT $$"], check=False).returncode
	signal.signal(signal.SIGINT, before)
	check.ok(status == -signal.SIGINT, "a signal that is ignored here is not ignored in what is tested", f"status {status}")


def main():
	check = Check()
	with tempfile.TemporaryDirectory(prefix="bailiff-check-") as folder:
		folder = os.path.realpath(folder)
		tools = stand_in_tools(folder)
		check_expectations(check, folder, tools)
		check_faults(check, folder, tools)
		check_command(check, folder)
	check_comparisons(check)
	check_counting(check)
	return check.done()


if __name__ == "__main__":
	sys.exit(main())
