#!/usr/bin/python3
"""The option that `explain` proposes for one run lets that run pass, typed into a shell as it stands."""

import os
import re
import shlex
import subprocess

import harness
from harness import BAILIFF, ENVIRONMENT, fresh

tap = harness.Tap()
LINE = re.compile(r"^Or, for one run, the option  (.*)$", re.M)


def shell(folder, line):
	return subprocess.run(["/bin/sh", "-c", line], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True,
		text=True, timeout=60, check=False)


def command_with(command, option):
	"""Behind the options that are there, so that it is the last to be heard."""
	words = command.split(" ")
	own = 2 if words[0].startswith("--") else 0
	return " ".join(words[:own] + [option] + words[own:])


def check(name, command, expected):
	"""`expected` is the beginning of the option."""
	folder = fresh("option")
	for file in ("plain.txt", "with a blank [1]*.txt"):
		with open(os.path.join(folder, file), "w", encoding="ascii") as handle:
			handle.write("text\n")
	first = shell(folder, f"{BAILIFF} run -o verdict.json {command}")
	words = shell(folder, f"{BAILIFF} explain verdict.json").stdout
	found = LINE.findall(words)
	if not tap.ok(f"{name}: one option is proposed", first.returncode in (122, 123, 124) and len(found) == 1, first, words):
		return
	tap.ok(f"{name}: it is the right one", found[0].startswith(expected), found)
	second = shell(folder, f"{BAILIFF} run {command_with(command, found[0])}")
	tap.ok(f"{name}: it lets the run pass", second.returncode == 0, found, second)


check("read", "cat plain.txt", "--read /")
check("read, a name that a shell and a pattern would take apart", f"cat {shlex.quote('with a blank [1]*.txt')}", "--read '/")
check("write", "touch made", "--write /")
check("wall", "--wall 300ms sleep 0.4", "--wall 600ms")
check("output", "--output 10 echo more than ten bytes", "--output ")
tap.end()
