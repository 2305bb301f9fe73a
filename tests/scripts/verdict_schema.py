#!/usr/bin/python3
"""The golden verdicts agree with the published schema, and the schema notices when one of them is wrong. Prints TAP."""
import copy
import glob
import json
import os
import sys

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
count = failed = 0


def ok(passed, name, detail=""):
	global count, failed
	count += 1
	failed += not passed
	print(f"{'ok' if passed else 'not ok'} {count} - {name}")
	for line in detail.splitlines() if not passed else ():
		print(f"#   {line}")


def load(*name):
	with open(os.path.join(ROOT, *name), encoding="utf-8") as file:
		return json.load(file)


def without(*path):
	def change(verdict):
		for key in path[:-1]:
			verdict = verdict[key]
		del verdict[path[-1]]
	return change


def with_value(value, *path):
	def change(verdict):
		for key in path[:-1]:
			verdict = verdict[key]
		verdict[path[-1]] = value
	return change


MISTAKES = [(f"no {key}", without(key)) for key in (
	"schema", "bailiff", "status", "rule", "summary", "exit", "first_failure", "violations", "notes", "usage", "output", "artifacts",
	"envelope", "error")]
MISTAKES += [(f"no first_failure.{key}", without("first_failure", key)) for key in (
	"rule", "policy", "considered", "operation", "path", "answered", "process", "when_ms", "stack", "script", "suggestions")]
MISTAKES += [(f"no envelope.{key}", without("envelope", key)) for key in (
	"command", "cwd", "environment", "limits", "policy", "programs", "inputs", "source", "host", "engine")]
MISTAKES += [(f"no usage.{key}", without("usage", key)) for key in (
	"wall_ms", "cpu_ms", "peak_memory_bytes", "processes", "threads", "stops", "left_running")]
MISTAKES += [
	("another schema number", with_value("bailiff.verdict/2", "schema")),
	("an unknown status", with_value("blocked", "status")),
	("a status that is not the rule's", with_value("timeout", "status")),
	("a rule that is not the status'", with_value("timeout_wall", "rule")),
	("an unknown rule", with_value("policy_blocked_everything", "rule")),
	("completed with a rule", with_value("completed", "status")),
	("blocked without a first failure", with_value(None, "first_failure")),
	("null as status without an error", with_value(None, "status")),
	("an error beside a status", with_value({"stage": "launch", "errno": "EPERM", "message": "m"}, "error")),
	("a summary of two lines", with_value("a\nb", "summary")),
	("an empty summary", with_value("", "summary")),
	("a negative time", with_value(-1, "usage", "wall_ms")),
	("a time with a fraction", with_value(1.5, "usage", "wall_ms")),
	("an exit code beyond 255", with_value(256, "exit", "code")),
	("a signal by number", with_value(9, "exit", "signal")),
	("an unknown key under exit", with_value(1, "exit", "reason")),
	("an unknown key under policy", with_value(1, "first_failure", "policy", "row")),
	("a pointer without a slash", with_value("network/connect", "first_failure", "policy", "pointer")),
	("an unknown answer", with_value("refused", "first_failure", "answered")),
	("a suggestion without a value", without("first_failure", "suggestions", 0, "value")),
	("a violation without its count", without("violations", "recorded", 0, "count")),
	("a hash that is none", with_value("abc", "envelope", "policy", 0, "sha256")),
	("a limit that is no size", with_value("12X", "envelope", "limits", "output")),
	("a limit that there is not", with_value("3s", "envelope", "limits", "walls")),
	("base64 that is none", with_value("a", "output", "stdout", "base64")),
	("notes as an object", with_value({}, "notes")),
]

GROWTH = [
	("a new key of the verdict", with_value(1, "something_new")),
	("a new key of a failure", with_value(1, "first_failure", "something_new")),
	("a new key of the envelope", with_value(1, "envelope", "something_new")),
	("a new key of usage", with_value(1, "usage", "something_new")),
]


def main():
	validator = jsonschema.Draft202012Validator(load("policies", "schema", "verdict.schema.json"))
	paths = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "verdict_*.json")))
	ok(len(paths) >= 10, "there are golden verdicts", f"{len(paths)} found")
	for path in paths:
		errors = [f"{list(error.absolute_path)}: {error.message}"[:300] for error in validator.iter_errors(load(path))]
		ok(not errors, f"{os.path.basename(path)} agrees with the schema", "\n".join(errors))

	blocked = load("tests", "golden", "verdict_connect_killed.json")
	for changes, valid in ((MISTAKES, False), (GROWTH, True)):
		for name, change in changes:
			changed = copy.deepcopy(blocked)
			change(changed)
			ok(validator.is_valid(changed) == valid, f"{'allowed' if valid else 'noticed'}: {name}")
	print(f"1..{count}")
	return 1 if failed or not count else 0


if __name__ == "__main__":
	sys.exit(main())
