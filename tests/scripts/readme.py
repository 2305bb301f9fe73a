#!/usr/bin/env python3
"""What the README's first policy tells a newcomer to type works, with the exit status it says. Prints TAP.

B is the program (default build/bailiff), S a scratch folder, which stands for the newcomer's home."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAILIFF = os.environ.get("B", os.path.join(ROOT, "build", "bailiff"))
SECTION = "Your first policy in five minutes"


def commands():
	"""(command, expected status, expected words) in order; `# exit N, WORDS` behind a command is the reader's comment."""
	with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
		text = file.read()
	body = re.search(rf"\n## {SECTION}\n(.*?)\n## ", text, re.S).group(1)
	lines = [line[4:] for line in body.splitlines() if line.startswith("    ")]
	for entry in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)", "\n".join(lines), re.M):
		command, _, comment = entry.partition(" # exit ")
		status, _, words = comment.partition(", ")
		if not command.startswith("alias "):
			yield command.rstrip(), int(status or 0), words


def run(command, home):
	"""Each in a shell of its own, in the folder that the one before ended in."""
	where = os.path.join(home, ".where")
	script = f'bailiff() {{ "{BAILIFF}" "$@"; }}\ncd "$(cat "{where}" 2>/dev/null || echo "{home}")"\n' \
		f'{command}\nstatus=$?\npwd > "{where}"\nexit $status\n'
	environment = {"PATH": os.environ["PATH"], "HOME": home}
	return subprocess.run(["bash", "-c", script], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
		timeout=60, check=False)


def main():
	count = failed = 0
	with tempfile.TemporaryDirectory(dir=os.environ.get("S")) as home:
		for command, status, words in commands():
			done = run(command, home)
			wrong = done.returncode != status or words not in done.stderr
			count += 1
			failed += wrong
			print(f"{'not ok' if wrong else 'ok'} {count} - {command.splitlines()[0]}")
			if wrong:
				print(f"#   exit {done.returncode}, expected {status} {words}")
				print("".join(f"#   {line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")
	if count < 10:
		print(f"Bail out! only {count} commands found under '{SECTION}'")
		return 1
	print(f"1..{count}")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
