#!/usr/bin/python3
"""A run on a terminal: the target gets the foreground, the caller gets it back, the keyboard works."""

import os
import pty
import select
import shutil
import signal
import termios
import time

import harness
from harness import BAILIFF, ENVIRONMENT, fresh

tap = harness.Tap()


class Terminal:
	"""A program on a terminal of its own, of which it is the session's leader."""

	def __init__(self, command, cwd):
		self.text = b""
		self.pid, self.master = pty.fork()
		if self.pid == 0:
			os.chdir(cwd)
			os.execve(command[0], command, dict(ENVIRONMENT, TERM="dumb", PS1="ready> "))
		attributes = termios.tcgetattr(self.master)
		attributes[3] &= ~termios.ECHO
		termios.tcsetattr(self.master, termios.TCSANOW, attributes)

	def send(self, text):
		os.write(self.master, text.encode())

	def expect(self, text, seconds=15):
		"""Reads until `text` has come since the last call; says whether it came."""
		end = time.monotonic() + seconds
		while text.encode() not in self.text:
			left = end - time.monotonic()
			if left <= 0 or not select.select([self.master], [], [], left)[0]:
				return False
			try:
				block = os.read(self.master, 4096)
			except OSError:
				block = b""
			if not block:
				return text.encode() in self.text
			self.text += block
		self.text = self.text.partition(text.encode())[2]
		return True

	def close(self):
		"""The status of the program, which is ended when it does not end by itself."""
		for number in (signal.SIGHUP, signal.SIGKILL):
			deadline = time.monotonic() + 5
			while time.monotonic() < deadline:
				pid, status = os.waitpid(self.pid, os.WNOHANG)
				if pid:
					os.close(self.master)
					return os.waitstatus_to_exitcode(status)
				time.sleep(0.02)
			os.kill(self.pid, number)
		return "hangs"


def bailiff(folder, *command):
	policy = harness.write_policy(folder, paths={"read": ["/dev/tty", "/etc/**"], "write": ["/dev/tty"]}, limits={"wall": "40s"})
	words = [BAILIFF, "run", "-p", policy, "-o", os.path.join(folder, "verdict.json"), "--", *command]
	return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def shell_in(folder):
	terminal = Terminal(["/bin/bash", "--norc", "--noprofile", "-i"], folder)
	terminal.expect("ready> ")
	return terminal


def job_control_in_the_run():
	folder = fresh("monitor")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/bash", "--norc", "-ic", "echo flags=$-=") + "; echo status=$?\n")
	tap.ok("an interactive shell in the run starts", terminal.expect("flags="), terminal.text)
	tap.ok("the run ends with 0", terminal.expect("status=0"), terminal.text)
	terminal.send("cat /proc/self/stat | awk '{print \"fg=\" ($5 == $8)}'\n")
	tap.ok("the caller's shell is in the foreground afterwards", terminal.expect("fg=1"), terminal.text)
	terminal.send("exit\n")
	terminal.close()


def monitor_flag():
	folder = fresh("monitor-flag")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/bash", "--norc", "-ic", "case $- in *m*) echo monitor=yes;; *) echo monitor=no;; esac") + "\n")
	tap.ok("job control is on in an interactive shell of the run", terminal.expect("monitor=yes"), terminal.text)
	terminal.send("exit\n")
	terminal.close()


def interrupt_key():
	folder = fresh("interrupt")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/sh", "-c", "echo begun; exec sleep 30") + "; echo status=$?\n")
	terminal.expect("begun")
	time.sleep(0.2)
	terminal.send("\x03")
	tap.ok("^C ends the run", terminal.expect("ready> "), terminal.text)
	signals = (harness.verdict(folder)["exit"].get("signal"), harness.verdict(folder)["exit"].get("interrupted"))
	tap.ok("^C is SIGINT in the verdict", "SIGINT" in signals, harness.verdict(folder))
	terminal.send("exit\n")
	terminal.close()


def interrupt_handled():
	folder = fresh("handled")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/sh", "-c", "trap 'echo caught; exit 5' INT; echo begun; while :; do sleep 0.1; done") + "; echo status=$?\n")
	terminal.expect("begun")
	time.sleep(0.2)
	terminal.send("\x03")
	tap.ok("a target that handles ^C does so", terminal.expect("caught"), terminal.text)
	tap.ok("and its exit code is the run's", terminal.expect("status=5"), terminal.text)
	terminal.send("exit\n")
	terminal.close()


def stop_key():
	folder = fresh("stop")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/sh", "-c", "echo begun; sleep 1; echo ended") + "; echo status=$?\n")
	terminal.expect("begun")
	time.sleep(0.2)
	terminal.send("\x1a")
	tap.ok("^Z stops the run", terminal.expect("Stopped", 10), terminal.text)
	tap.ok("and the shell has the terminal", terminal.expect("ready> ", 10), terminal.text)
	terminal.send("fg\n")
	tap.ok("fg continues it to its end", terminal.expect("ended"), terminal.text)
	terminal.send("\nexit\n")
	terminal.close()


def reads_from_the_terminal():
	folder = fresh("reads")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/sh", "-c", "echo begun; read line; echo got $line") + "; echo status=$?\n")
	terminal.expect("begun")
	terminal.send("typed\n")
	tap.ok("the target reads what is typed", terminal.expect("got typed"), terminal.text)
	tap.ok("and is not stopped for it", terminal.expect("status=0"), terminal.text)
	terminal.send("exit\n")
	terminal.close()


def in_the_background():
	folder = fresh("background")
	terminal = shell_in(folder)
	terminal.send(bailiff(folder, "/bin/sh", "-c", "sleep 0.3; echo ended") + " &\n")
	tap.ok("a run in the background ends by itself", terminal.expect("ended"), terminal.text)
	terminal.send("wait; echo waited=$?\n")
	tap.ok("and its shell waits for it", terminal.expect("waited=0"), terminal.text)
	terminal.send("exit\n")
	terminal.close()


if not shutil.which("bash"):
	tap.skip("job control", "bash is not installed")
	tap.end()


def signals_of_the_terminal():
	"""What is typed goes to the group in the foreground, and so do the signals that a terminal is asked for."""
	ask = "\n".join(("import errno, fcntl, os, termios", "def attempt(call, *arguments):", "    try: call(*arguments); return 'done'",
		"    except OSError as error: return errno.errorcode[error.errno]",
		"flags = fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC",
		"print(attempt(fcntl.fcntl, 0, fcntl.F_SETFL, flags), attempt(fcntl.ioctl, 0, termios.FIOASYNC, b'\\1\\0\\0\\0'),",
		"      attempt(os.tcsetpgrp, 0, os.getpgid(os.getppid())), attempt(os.tcsetpgrp, 0, os.getpgrp()), 'answered')"))
	folder = fresh("foreground")
	path = os.path.join(folder, "verdict.json")
	command = [BAILIFF, "run", *harness.LANDLOCK, "-p", "python", "-o", path, "--on-violation", "deny", "--", "/usr/bin/python3", "-c", ask]
	terminal = Terminal(command, folder)
	tap.ok("a terminal sends no signals, and its foreground stays with the run", terminal.expect("EPERM EPERM EPERM done answered"), terminal.text)
	tap.equal("taking the foreground for somebody else is a violation", terminal.close(), 122)


job_control_in_the_run()
signals_of_the_terminal()
monitor_flag()
interrupt_key()
interrupt_handled()
stop_key()
reads_from_the_terminal()
in_the_background()
tap.end()
