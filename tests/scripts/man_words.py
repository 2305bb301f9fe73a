#!/usr/bin/env python3
"""The pages name what the program has, no more and no less: options, rules, keys, exit codes. Prints TAP.

B is the program (default build/bailiff)."""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAILIFF = os.environ.get("B", os.path.join(ROOT, "build", "bailiff"))
COMMANDS = ("run", "check", "explain", "policy", "doctor")
count = failed = 0


def read(*name):
	with open(os.path.join(ROOT, *name), encoding="utf-8") as file:
		return file.read()


def section(page, title, macro="Sh"):
	"""The text between a heading and the next one of its kind."""
	start = page.index(f"\n.{macro} {title}\n") + 1
	ends = [page.find(end, start + 1) for end in (f"\n.{macro} ", "\n.Sh ")]
	return page[start:min([end for end in ends if end >= 0] or [len(page)])]


def report(name, problems):
	global count, failed
	count += 1
	print(f"{'not ok' if problems else 'ok'} {count} - {name}")
	for problem in problems:
		print(f"#   {problem}")
	failed += bool(problems)


def compare(name, page, program):
	"""Two sets that must be equal, and must hold something: two empty ones agree about nothing."""
	problems = [] if program else ["the program side is empty"]
	problems += [f"not in the page: {word}" for word in sorted(program - page)]
	problems += [f"only in the page: {word}" for word in sorted(page - program)]
	report(name, problems)


def long_options(page):
	"""--name as the pages write it: `.Fl -name`, `.It Fl p , Fl -name`, `.Fl -one , -two`."""
	lines = [line for line in page.splitlines() if re.match(r"\.(Fl|It|Op|Cm)\b|^\. ", line)]
	return {word for line in lines for word in re.findall(r"(?:Fl|,) -([a-z][a-z-]*)", line)}


def help_text(command):
	return subprocess.run([BAILIFF, "help", command], check=True, capture_output=True, text=True).stdout


def check_options(page):
	refused = section(page, "Refused by name", "Ss")
	documented = long_options(page) - long_options(refused)
	offered = {word for command in COMMANDS
			   for word in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", help_text(command))}
	# These three are options of bailiff itself, and --eval is one of the interpreters'.
	compare("options", documented - {"help", "version", "eval"}, offered - {"help", "version"})
	report("options refused by name are refused by name", [
		f"--{name}: exit {done.returncode}, {done.stderr.strip()!r}"
		for name in sorted(long_options(refused))
		for done in [refuse(name)]
		if done.returncode != 125 or f"--{name}" not in done.stderr or "not available" not in done.stderr])


def refuse(name):
	return subprocess.run([BAILIFF, "run", f"--{name}", "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
		check=False)


def check_exit_codes(page):
	header = read("tracer", "base", "outcome.h")
	codes = {number for number in re.findall(r"EXIT_\w+ = (\d+)", header) if number != "128"}
	table = section(section(page, "EXIT STATUS"), "run", "Ss")
	compare("exit codes", set(re.findall(r"^\.It (1\d\d)$", table, re.M)), codes)


def check_rules(page):
	rules = set(re.findall(r'"(\w+)", STATUS_', read("tracer", "base", "outcome.c")))
	named = re.findall(r"\b(?:policy_blocked|timeout|resource_limit|runtime_error)_\w+", section(page, "RULES"))
	compare("rules", set(named), rules)


def check_switchable(page):
	rows = re.findall(r"^SYSCALL\(\d+, *(\w+), *\w+, *SWITCHABLE, *(.*)\)$", read("tracer", "base", "syscalls.def"), re.M)
	names = {name for name, roles in rows if ".family" not in roles}
	entries = re.findall(r"^\.It Cm (.*)$", section(page, "SYSTEM CALLS"), re.M)
	compare("calls that syscalls.allow opens", {word for entry in entries for word in re.findall(r"\w+", entry)}, names)


def schema_keys(schema, *path):
	"""Names under "properties" along a path of property names, through references."""
	node = schema
	for step in (*path, None):
		while "$ref" in node:
			node = resolve(schema, node["$ref"])
		for choice in node.get("anyOf", []) + node.get("oneOf", []):
			if choice.get("type") != "null":
				node = choice
				while "$ref" in node:
					node = resolve(schema, node["$ref"])
				break
		if step is not None:
			node = node["properties"][step]
	return {key for key in node["properties"] if not key.endswith("_base64")}


def resolve(schema, reference):
	for step in reference.removeprefix("#/").split("/"):
		schema = schema[step]
	return schema


def item_words(text, macro):
	"""Words of `.It Li a , b` and `.It Cm a , Cm b`."""
	lines = re.findall(rf"^\.It {macro} (.*)$", text, re.M)
	return {word for line in lines for word in re.findall(r"\b[a-z][\w.]*", line)}


def check_verdict_keys(page):
	schema = json.loads(read("policies", "schema", "verdict.schema.json"))
	for title, path in (("KEYS", ()), ("FIRST FAILURE", ("first_failure",)), ("ENVELOPE", ("envelope",))):
		compare(f"keys of the verdict: {title}", item_words(section(page, title), "Li"), schema_keys(schema, *path))


def check_policy_keys(page):
	schema = json.loads(read("policies", "schema", "policy.schema.json"))
	keys = schema_keys(schema) - {"$schema"}
	split = {"paths", "network", "environment", "syscalls"}
	full = (keys - split) | {f"{key}.{word}" for key in split for word in schema_keys(schema, key)}
	compare("keys of a policy", item_words(section(page, "KEYS"), "Cm"), full)
	compare("limits of a policy", item_words(section(page, "LIMITS"), "Cm"), schema_keys(schema, "limits"))


def check_examples(page):
	"""Every policy that the page shows is one."""
	blocks = re.findall(r"^\.Bd -literal.*\n(\{\n(?:.*\n)*?\})\n", page, re.M)
	problems = [] if len(blocks) > 1 else ["no policies found in the page"]
	with tempfile.TemporaryDirectory(dir=os.environ.get("S")) as folder:
		for block in blocks:
			path = os.path.join(folder, "example.json")
			with open(path, "w", encoding="utf-8") as file:
				file.write(block.replace("\\e", "\\"))
			done = subprocess.run([BAILIFF, "policy", "validate", path], capture_output=True, text=True, check=False)
			problems += [done.stderr.strip()] if done.returncode else []
	report("policies in the page are valid", problems)


def main():
	bailiff, policy, verdict = (read("man", f"bailiff{name}") for name in (".1", "-policy.5", "-verdict.5"))
	check_options(bailiff)
	check_exit_codes(bailiff)
	check_rules(verdict)
	check_switchable(policy)
	check_verdict_keys(verdict)
	check_policy_keys(policy)
	check_examples(policy)
	print(f"1..{count}")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
