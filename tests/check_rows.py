#!/usr/bin/python3
"""Every traced row of syscalls.def has a case in which the call goes through and one in which it is refused.

A case names the rows that it stands for under "covers": {"allowed": [...], "blocked": [...]}. What it expects must fit:
an allowed one completes; a blocked one expects a rule or a limit, or a note or another answer where the refusal is no violation."""

import glob
import json
import os
import re
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r"^SYSCALL\(\d+,\s*(\w+),\s*(\w+),\s*(\w+),", re.MULTILINE)
KINDS = ("allowed", "blocked")


def traced_rows(text):
	"""Names of the rows whose calls stop; fork and vfork stop for syscalls.deny alone and have a handler for it."""
	return {name for name, disposition, _ in ROW.findall(text) if disposition.startswith("TRACE")}


def all_cases(folder):
	for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
		with open(path, encoding="utf-8") as file:
			for case in json.load(file)["cases"]:
				yield os.path.basename(path), case


def shows_refusal(expect):
	return str(expect.get("rule")).startswith(("policy_blocked_", "resource_limit_")) or "notes_contain" in expect or re.search(r": E[A-Z]+\n", str(expect.get("stdout")))


def fits(kind, expect):
	return expect.get("status") == "completed" if kind == "allowed" else bool(shows_refusal(expect))


def problems(rows, cases):
	"""(name of the check, what is wrong or None), one for each row and kind, and one for each wrong claim."""
	covered = {kind: set() for kind in KINDS}
	found = []
	for file, case in cases:
		for kind, names in case.get("covers", {}).items():
			where = f"{file}: {case['name']}"
			if kind not in KINDS:
				found.append((where, f"covers \"{kind}\"; known: allowed, blocked"))
			elif not fits(kind, case["expect"]):
				found.append((where, f"covers {names} as {kind}, but expects something else"))
			elif set(names) - rows:
				found.append((where, f"covers {sorted(set(names) - rows)}, which are no traced rows"))
			else:
				covered[kind].update(names)
	for kind in KINDS:
		for name in sorted(rows):
			found.append((f"{name} has a case that is {kind}", None if name in covered[kind] else "no case covers it"))
	return found


def self_test():
	rows = traced_rows("SYSCALL(1, a, TRACE, X, R)\nSYSCALL(2, b, ALLOW, NONE, R)\nSYSCALL(3, c, TRACE_IF, X, R)\n")
	allowed = {"name": "n", "covers": {"allowed": ["a", "c"]}, "expect": {"status": "completed"}}
	wrong = {"name": "w", "covers": {"blocked": ["a"]}, "expect": {"status": "completed", "rule": None}}
	faults = dict(problems(rows, [("f", allowed), ("f", wrong)]))
	return (rows == {"a", "c"} and faults["a has a case that is allowed"] is None and faults["a has a case that is blocked"]
		and faults["c has a case that is blocked"] and faults["f: w"])


def main():
	with open(os.path.join(TESTS, "..", "tracer", "base", "syscalls.def"), encoding="utf-8") as file:
		rows = traced_rows(file.read())
	results = [("a missing case and a wrong claim are found", None if self_test() else "the check itself is wrong")]
	results += problems(rows, all_cases(os.path.join(TESTS, "cases")))
	for number, (name, fault) in enumerate(results, 1):
		print(f"{'not ok' if fault else 'ok'} {number} - {name}" + (f"\n# {fault}" if fault else ""))
	print(f"1..{len(results)}")
	return 1 if any(fault for _, fault in results) or not rows else 0


sys.exit(main())
