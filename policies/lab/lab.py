#!/usr/bin/python3
"""Runs three requests under lab.json and prints what the verdict says of each.

    lab.py [--bailiff FILE] [--output BYTES]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = {"calc": "calc.py", "web": "web.py", "large-output": "large_output.py"}


def judge(bailiff, script, options):
	"""The verdict on one request, as bailiff wrote it."""
	with tempfile.TemporaryDirectory(prefix="lab-") as folder:
		path = os.path.join(folder, "verdict.json")
		command = [bailiff, "run", "-p", os.path.join(HERE, "lab.json"), "-o", path, *options, "--", "/usr/bin/python3", script]
		subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
		with open(path, encoding="utf-8") as file:
			return json.load(file)


def word(verdict):
	"""What to call the outcome: the rule, where there is one."""
	if verdict["error"]:
		raise RuntimeError(verdict["error"]["message"])
	return "allowed" if verdict["status"] == "completed" else verdict["rule"]


def main():
	parser = argparse.ArgumentParser(usage=__doc__)
	parser.add_argument("--bailiff", default="bailiff")
	parser.add_argument("--output", metavar="BYTES")
	arguments = parser.parse_args()
	options = ["--output", arguments.output] if arguments.output else []
	for name, script in REQUESTS.items():
		try:
			print(name, "->", word(judge(arguments.bailiff, os.path.join(HERE, script), options)), flush=True)
		except (OSError, ValueError, RuntimeError) as error:
			print(f"lab: {name}: {error}", file=sys.stderr)
			return 1
	return 0


if __name__ == "__main__":
	sys.exit(main())
