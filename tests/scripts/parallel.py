#!/usr/bin/python3
"""Many runs at once on one host: each has its own verdict, its own workspace and its own end."""

import concurrent.futures
import os

import harness
from harness import ENVIRONMENT, TARGETS, fresh, run, verdict

RUNS, WORKERS = 32, 6
tap = harness.Tap()


def one(number):
	"""Every fourth run of each kind: completes, is blocked, runs out of time, floods."""
	folder = fresh(f"run{number}")
	with open(os.path.join(folder, f"secret{number}"), "w", encoding="utf-8") as file:
		file.write("x")
	kinds = (
		(["/bin/sh", "-c", f"echo {number} > $HOME/f; sleep 0.1; cat $HOME/f"], (), (0, "completed", f"{number}\n")),
		(["/bin/cat", f"secret{number}"], (), (122, "policy_blocked", "")),
		([f"{TARGETS}/use_play", "sleep", "20000"], ("--wall", "400ms"), (124, "timeout", "")),
		([f"{TARGETS}/use_play", "chunk", "5000", "1"], ("--output", "7"), (123, "resource_limit", "yyyyyyy")),
	)
	command, options, expected = kinds[number % len(kinds)]
	code, stdout, stderr = run(folder, command, options=options, seconds=60)
	found = verdict(folder)
	target = (found["first_failure"] or {}).get("operation", {}).get("target", "")
	right = (code, found["status"], stdout.decode()) == expected and (number % 4 != 1 or target == f"{folder}/secret{number}")
	return number, right, (code, found["status"], found["rule"], target, stdout, stderr, expected)


with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
	for number, right, detail in pool.map(one, range(RUNS)):
		tap.ok(f"run {number} of {RUNS}", right, detail)
tap.equal("no workspace is left", os.listdir(ENVIRONMENT["TMPDIR"]), [])
tap.end()
