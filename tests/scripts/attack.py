#!/usr/bin/python3
"""doctor --attack: nothing gets through here, and what it says where something does, or where nothing is proven. Prints TAP."""

import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from harness import BAILIFF, ENVIRONMENT, Tap, fresh, wait_for  # noqa: E402

BUILT = os.path.join(os.path.dirname(BAILIFF), "tests", "hostile")
tap = Tap()


def installed():
	"""A copy as `make install` makes it."""
	folder = fresh("installed")
	os.makedirs(f"{folder}/bin")
	os.makedirs(f"{folder}/libexec/bailiff")
	shutil.copy(BAILIFF, f"{folder}/bin/bailiff")
	for name in os.listdir(BUILT):
		if os.access(f"{BUILT}/{name}", os.X_OK):
			shutil.copy(f"{BUILT}/{name}", f"{folder}/libexec/bailiff/{name}")
	return folder


def replace(folder, program, body):
	"""Another program in its place. It is compiled: the policy lets an attack be executed, and not read."""
	source = f"""#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		int main(int argc, char **argv) {{ int under = argc > 4 && strcmp(argv[4], "under") == 0; (void)under; {body} }}"""
	subprocess.run(["cc", "-x", "c", "-o", f"{folder}/libexec/bailiff/{program}", "-"], input=source, text=True, check=True)


def says(alone, under):
	return f'printf("x: wins %d of 7\\n", under ? {under} : {alone}); return 0;'


def command(folder, *options):
	return [f"{folder}/bin/bailiff", "doctor", "--attack", *options]


def run(folder, *options):
	temporary = fresh("temporary")
	done = subprocess.run(command(folder, *options), env={**ENVIRONMENT, "TMPDIR": temporary}, stdin=subprocess.DEVNULL,
		capture_output=True, text=True, timeout=300, check=False)
	tap.equal("and leaves nothing behind", os.listdir(temporary), [])
	return done


def check_here():
	done = subprocess.run([BAILIFF, "doctor", "--attack"], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
		timeout=300, check=False)
	tap.equal("the attacks as built: nothing gets through", (done.returncode, done.stderr), (0, ""), done.stdout)
	tap.ok("the table names an attack and says that it holds", "string_flip" in done.stdout and "holds" in done.stdout, done.stdout)


def check_results():
	"""A program that says it won did so; a control that wins nothing proves nothing, unless not every host lets it."""
	folder = installed()
	replace(folder, "string_flip", says(alone=1, under=1))
	replace(folder, "shared_flip", says(alone=0, under=0))
	replace(folder, "link_swap", 'puts("broken"); return 1;')
	replace(folder, "exec_swap", 'fputs("xx", fopen("work/ran", "w")); ' + says(alone=0, under=0))
	replace(folder, "listener", says(alone=0, under=0))
	replace(folder, "untraced", 'puts("no rights here"); return 65;')
	done = run(folder, "--json")
	report = json.loads(done.stdout)
	rows = {row["name"]: row for row in report["attacks"]}
	tap.equal("a win under bailiff: exit 1, not held", (done.returncode, report["held"]), (1, False), done.stdout)
	for name, result in (("string_flip", "won"), ("shared_flip", "failed"), ("link_swap", "failed"), ("listener", "not_shown"),
			("untraced", "not_shown"), ("exec_swap", "won"), ("descriptor_flip", "held"), ("send_flip", "held")):
		tap.equal(f"{name}: {result}", rows[name]["result"], result, rows[name])
	tap.equal("wins are those of the supervised run", rows["string_flip"]["under"], {"wins": 1, "tries": 7})
	tap.equal("a barred program that ran has won, whatever the attack says", rows["exec_swap"]["under"], {"wins": 2, "tries": 7})
	tap.ok("why a row proves nothing is said", "broken" in rows["link_swap"]["trouble"], rows["link_swap"])
	done = run(folder)
	tap.ok("in words as well", done.returncode == 1 and "GOT THROUGH" in done.stdout and "not shown here" in done.stdout, done.stdout)


def check_missing():
	folder = installed()
	os.unlink(f"{folder}/libexec/bailiff/mark")
	done = run(folder)
	tap.ok("a missing program: one line, exit 125", done.returncode == 125 and done.stdout == "" and done.stderr.count("\n") == 1 and
		"libexec/bailiff/mark is missing" in done.stderr, done)
	shutil.rmtree(f"{folder}/libexec")
	done = run(folder)
	tap.ok("all missing: the same", done.returncode == 125 and done.stderr.count("\n") == 1 and "libexec/bailiff" in done.stderr, done)


def check_signal():
	"""Asked to end in the middle, it ends of that signal, and takes folder and processes with it."""
	folder = installed()
	temporary = fresh("temporary")
	replace(folder, "string_flip", f'fclose(fopen("{folder}/begun", "w")); return (int)sleep(1000);')
	process = subprocess.Popen(command(folder), env={**ENVIRONMENT, "TMPDIR": temporary}, stdin=subprocess.DEVNULL,
		stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	begun = wait_for(lambda: os.path.exists(f"{folder}/begun"))
	process.send_signal(signal.SIGTERM)
	try:
		code = process.wait(10)
	except subprocess.TimeoutExpired:
		process.kill()
		code = "hangs"
	tap.equal("SIGTERM ends it", (begun, code), (True, -signal.SIGTERM))
	tap.equal("and its folder goes with it", os.listdir(temporary), [])


check_here()
check_results()
check_missing()
check_signal()
tap.end()
