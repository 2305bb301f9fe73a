#!/usr/bin/python3
"""`doctor --clean`: the folder that a killed bailiff left is found and removed, with whatever the run has made in it; a live
run's, a kept one and everybody else's stay. In a TMPDIR of its own; /tmp is looked into as well, and not relied on."""

import json
import os
import signal
import subprocess

import harness
from harness import BAILIFF, fresh

tap = harness.Tap()
ROOT = os.geteuid() == 0
# Leaves something in the workspace that resists being removed, says so and waits.
SHELL = "cd $HOME; mkdir -p a/b/c; : > a/b/f; ln -s OUT l; ln -s OUT/ a/d; mkfifo p; chmod 000 a/b a; echo ready; exec sleep 60"


def surroundings(folder):
	return {**harness.ENVIRONMENT, "TMPDIR": folder}


def begin(folder, shell=SHELL, options=()):
	"""A run that is under way: its workspace is there."""
	here = fresh("run")
	process = harness.start(here, ["/bin/sh", "-c", shell.replace("OUT", here)], "default", options, env=surroundings(folder))
	line = process.stdout.readline()
	tap.equal("the run is under way", line, b"ready\n", process.stderr.read() if line != b"ready\n" else "")
	return process, here


def clean(folder, *options):
	done = subprocess.run([BAILIFF, "doctor", "--clean", *options], env=surroundings(folder), capture_output=True, text=True, check=False)
	return done.returncode, done.stdout, done.stderr


def report(folder):
	"""The paths below `folder` that the JSON names, by list; what other runs leave in /tmp is not for us to judge."""
	code, text, stderr = clean(folder, "--json")
	found = json.loads(text)
	tap.equal("--json: its schema, and nothing on standard error", (found.pop("schema"), stderr), ("bailiff.clean/1", ""))
	tap.equal("the exit status says whether something stays", code != 0, bool(found["stuck"]), found)
	return {key: sorted(os.path.relpath(item["path"], folder) for item in items if item["path"].startswith(folder + "/"))
		for key, items in found.items()}


def ended(*processes):
	for process in processes:
		process.kill()
		process.communicate()


def killed_and_alive():
	folder = os.path.realpath(fresh("clean"))
	killed, here = begin(folder)
	left = os.listdir(folder)
	alive, _ = begin(folder)
	other = sorted(set(os.listdir(folder)) - set(left))
	with open(os.path.join(here, "keep"), "w", encoding="ascii") as file:
		file.write("kept")
	tap.equal("while both live, both are in use", report(folder), {"removed": [], "in_use": sorted(left + other), "stuck": []})
	killed.kill()
	killed.communicate()
	# The tracer holds the lock as well, and follows a moment later.
	gone = harness.wait_for(lambda: "removed" in clean(folder)[1])
	tap.ok("what the killed one left is removed", gone and os.listdir(folder) == other, os.listdir(folder))
	tap.equal("nothing outside was removed through its links", os.listdir(here), ["keep"])
	tap.equal("the live one's stays, and is told", report(folder), {"removed": [], "in_use": other, "stuck": []})
	code, text, _ = clean(folder)
	tap.ok("in words as well", code == 0 and f"in use   {folder}/{other[0]}\n" in text, text)
	alive.send_signal(signal.SIGTERM)
	alive.communicate()
	tap.equal("the live one removes its own", os.listdir(folder), [])


def kept():
	folder = os.path.realpath(fresh("clean"))
	here = fresh("run")
	harness.run(here, ["/bin/sh", "-c", "echo x > $HOME/f"], "default", ["--keep-workspace"], env=surroundings(folder))
	(name,) = os.listdir(folder)
	tap.equal("a kept one is nobody's to clean", report(folder), {"removed": [], "in_use": [], "stuck": []})
	with open(os.path.join(folder, name, "work", "f"), encoding="ascii") as file:
		tap.equal("and still there", (os.listdir(os.path.join(folder, name)), file.read()), (["work"], "x\n"))


def imitate(path, owner=None, mode=0o700, marked=True):
	os.makedirs(os.path.join(path, "work"))
	if marked:
		open(os.path.join(path, ".bailiff-run"), "w", encoding="ascii").close()
	os.chmod(path, mode)
	if owner:
		os.chown(path, owner, owner)


def others():
	"""What only looks like one stays; the control is one that differs in nothing and goes."""
	folder = os.path.realpath(fresh("clean"))
	elsewhere = os.path.join(os.path.realpath(fresh("elsewhere")), "bailiff-AAAAAA")
	imitate(elsewhere)
	os.symlink(elsewhere, os.path.join(folder, "bailiff-links1"))
	imitate(os.path.join(folder, "bailiff-open01"), mode=0o755)
	imitate(os.path.join(folder, "bailiff-nomark"), marked=False)
	imitate(os.path.join(folder, "bailiff-toolong"))
	imitate(os.path.join(folder, "bailiff-a.b123"))
	imitate(os.path.join(folder, "mailiff-abcdef"))
	open(os.path.join(folder, "bailiff-afile1"), "w", encoding="ascii").close()
	if ROOT:
		imitate(os.path.join(folder, "bailiff-theirs"), owner=12345)
	names = sorted(os.listdir(folder))
	imitate(os.path.join(folder, "bailiff-Right1"))
	os.mkdir(os.path.join(folder, "bailiff-empty1"), 0o700)
	tap.equal("only what a run has made goes", report(folder),
		{"removed": ["bailiff-Right1", "bailiff-empty1"], "in_use": [], "stuck": []})
	tap.equal("all that only looks like it stays", sorted(os.listdir(folder)), names)
	tap.equal("a link is not followed", sorted(os.listdir(elsewhere)), [".bailiff-run", "work"])


def random_moments():
	"""Killed while it starts, runs or ends: what is left is always known as ours, and goes."""
	folder = os.path.realpath(fresh("clean"))
	for index in range(24):
		process = harness.start(fresh("run"), ["/bin/sh", "-c", "mkdir $HOME/x; : > $HOME/x/y"], "default", env=surroundings(folder))
		try:
			process.wait(timeout=index * 0.001)
		except subprocess.TimeoutExpired:
			pass
		ended(process)
	gone = harness.wait_for(lambda: clean(folder)[0] == 0 and not os.listdir(folder))
	tap.ok("24 runs killed at different moments leave nothing that stays", gone, os.listdir(folder))


def refusals():
	folder = fresh("clean")
	code, _, stderr = clean(folder, "--attack")
	tap.ok("--attack and --clean exclude each other", code == 125 and "two commands" in stderr, code, stderr)
	code, text, stderr = clean(folder, "x")
	tap.ok("it takes no operands", code == 125 and not text and "no operands" in stderr, code, stderr)


killed_and_alive()
kept()
others()
random_moments()
refusals()
tap.end()
