#!/usr/bin/python3
"""Schemas and the documents that the project ships: the schemas are sound, every policy agrees with its schema and with
`bailiff policy validate`, and both refuse the same mistakes. Prints TAP."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAILIFF = os.environ.get("B", os.path.join(ROOT, "build", "bailiff"))
results = []

# Each is refused by bailiff; the schema must refuse it too, or an editor that uses it would let it pass.
MISTAKES = [
	{"path": {}}, {"paths": {"red": []}}, {"paths": {"read": "/etc"}}, {"paths": {"read": [1]}}, {"paths": {"stat": "all"}},
	{"network": {"connect": {}}}, {"network": {"listen": []}}, {"limits": {"wall": 0}}, {"limits": {"walls": "3s"}},
	{"limits": {"output": -1}}, {"limits": {"output": "12X"}}, {"limits": {"memory": "512X"}}, {"limits": {"processes": "16K"}},
	{"environment": {"set": []}}, {"environment": {"set": {"A": 1}}}, {"environment": {"pass": "LANG"}}, {"environment": {"pass": ["PERL5OPT"]}},
	{"environment": {"pass": ["LD_X"]}}, {"environment": {"pass": ["A*B"]}}, {"environment": {"pass": [""]}}, {"on_violation": "stop"},
	{"syscalls": {"permit": []}}, {"syscalls": {"allow": "memfd_create"}}, {"name": 1}, {"extends": ["python"]}, [], "policy", None,
]


def ok(passed, name, detail=""):
	results.append(bool(passed))
	print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}")
	for line in detail.splitlines() if not passed else ():
		print(f"# {line}")


def without_comments(text):
	"""JSON with // and /* */ blanked; strings are left alone."""
	pattern = r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/'
	return re.sub(pattern, lambda match: match.group(1) or " ", text, flags=re.DOTALL)


def load_schema(kind):
	path = os.path.join(ROOT, "policies", "schema", f"{kind}.schema.json")
	try:
		with open(path, encoding="utf-8") as file:
			schema = json.load(file)
		validator = jsonschema.validators.validator_for(schema)
		validator.check_schema(schema)
	except (OSError, ValueError, jsonschema.SchemaError) as error:
		ok(False, f"the {kind} schema is sound", str(error))
		return None
	ok("$schema" in schema, f"the {kind} schema is sound")
	undescribed = sorted(places_without_description(schema))
	ok(not undescribed, f"every key of the {kind} schema is described", "\n".join(undescribed))
	return validator(schema)


def places_without_description(schema, place=""):
	for key, value in schema.get("properties", {}).items():
		if "description" not in value and "$ref" not in value and "const" not in value:
			yield f"{place}/{key}"
		yield from places_without_description(value, f"{place}/{key}")


def judged(text):
	"""Exit status of `policy validate` for this text."""
	with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
		file.write(text)
		file.flush()
		return subprocess.run([BAILIFF, "policy", "validate", file.name], capture_output=True, text=True, check=False)


def check_policies(validator):
	paths = [path for pattern in ("*.json", "lab/*.json", "examples/*/*.json") for path in glob.glob(os.path.join(ROOT, "policies", pattern))]
	ok(len(paths) > 2, "there are policies to check")
	for path in sorted(paths):
		name = os.path.relpath(path, ROOT)
		with open(path, encoding="utf-8") as file:
			document = json.loads(without_comments(file.read()))
		errors = [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(document)]
		ok(not errors, f"{name} agrees with the schema", "\n".join(errors))
		done = subprocess.run([BAILIFF, "policy", "validate", path], capture_output=True, text=True, check=False)
		ok(done.returncode == 0, f"{name} is valid", done.stdout + done.stderr)


def check_mistakes(validator):
	for document in MISTAKES:
		text = json.dumps(document)
		ok(not validator.is_valid(document), f"the schema refuses {text}")
		done = judged(text)
		ok(done.returncode == 1 and re.search(r":\d+:\d+: ", done.stderr), f"bailiff refuses {text} and says where",
			f"status {done.returncode}: {done.stderr}")


def main():
	validator = load_schema("policy")
	load_schema("verdict")
	if validator:
		check_policies(validator)
		check_mistakes(validator)
	print(f"1..{len(results)}")
	return 0 if results and all(results) else 1


if __name__ == "__main__":
	sys.exit(main())
