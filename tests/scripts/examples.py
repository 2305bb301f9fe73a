#!/usr/bin/python3
"""The CSV example and the lab do what their pages say, and what is blocked in them would work without bailiff. Prints TAP."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "policies", "examples", "csv-analysis")
LAB = os.path.join(ROOT, "policies", "lab")
BAILIFF, SCRATCH = os.environ["B"], os.environ["S"]
PYTHON = "/usr/bin/python3"
VARIANTS = {
	"job_reads_key.py": "policy_blocked policy_blocked_read 122",
	"job_calls_metadata_service.py": "policy_blocked policy_blocked_network 122",
	"job_prints_million_lines.py": "resource_limit resource_limit_output 123",
}
LINES = ["calc -> allowed", "web -> policy_blocked_network", "large-output -> resource_limit_output"]
results = []


def same(name, actual, expected):
	results.append(actual == expected)
	print(f"{'ok' if results[-1] else 'not ok'} {len(results)} - {name}", flush=True)
	if not results[-1]:
		print(f"#   actual: {actual!r}\n# expected: {expected!r}", flush=True)


def run(*arguments, cwd=SCRATCH):
	environment = {**os.environ, "HOME": SCRATCH, "PYTHONDONTWRITEBYTECODE": "1"}
	return subprocess.run(arguments, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
		timeout=120, check=False)


def text_of(path):
	"""A file's text, "" where there is none: a missing result is a wrong one."""
	return open(path, encoding="utf-8").read() if os.path.exists(path) else ""


def medians():
	"""The result worked out in another way: walk each region's rows from the top until half the weight is left."""
	rows = [line.split(",") for line in text_of(f"{EXAMPLE}/data.csv").split("\n")[1:-1]]
	for region in sorted({row[1] for row in rows}):
		mine = sorted(((int(row[4]), float(row[3])) for row in rows if row[1] == region), reverse=True)
		above, total = 0.0, sum(weight for _, weight in mine)
		for value, weight in mine:
			above += weight
			if above > total / 2:
				yield f"{region},{len(mine)},{value}"
				break


def check_data():
	made = run(PYTHON, f"{EXAMPLE}/make_data.py").stdout
	same("the generator writes data.csv again", made == text_of(f"{EXAMPLE}/data.csv"), True)
	same("data.csv has at least 4,000 rows", made.count("\n") > 4000, True)


def check_without_bailiff():
	"""Controls: everything that the policy stops works where nobody stops it."""
	same("the job runs on its own", run(PYTHON, f"{EXAMPLE}/job.py").returncode, 0)
	same("its medians are right", text_of(f"{SCRATCH}/result.csv").splitlines()[1:], list(medians()))
	key = os.path.join(SCRATCH, "key")
	with open(key, "w", encoding="ascii") as file:
		file.write("a key\n")
	same("a key can be read", "took 6 bytes" in run(PYTHON, f"{EXAMPLE}/job_reads_key.py", key).stdout, True)
	with socket.create_server(("127.0.0.1", 0)) as server:
		threading.Thread(target=lambda: server.accept()[0].sendall(b"secret"), daemon=True).start()
		reached = run(PYTHON, f"{EXAMPLE}/job_calls_metadata_service.py", "127.0.0.1", str(server.getsockname()[1]))
	same("a service can be reached", "answered 6 bytes" in reached.stdout, True)
	printed = run(PYTHON, f"{EXAMPLE}/job_prints_million_lines.py").stdout
	same("a million lines can be printed", printed.count("\n") > 1_000_000, True)


def check_example():
	folder = os.path.join(SCRATCH, "demo")
	done = run(f"{EXAMPLE}/run.sh", BAILIFF, folder)
	same("run.sh ends with status 0", (done.returncode, done.stderr), (0, ""))
	lines = done.stdout.splitlines()
	for name, expected in VARIANTS.items():
		said = [" ".join(line.split()[1:]) for line in lines if line.startswith(name + " ")]
		same(f"{name} ends as its page says", said, [expected])
	same("the table is shown first", "".join(lines[:1]).split(), ["region", "households", "median", "income"])
	same("the verdict is shown in words", "completed" in done.stdout, True)
	same("the result is right", text_of(f"{folder}/result.csv").splitlines()[1:], list(medians()))
	page = text_of(f"{EXAMPLE}/README.md")
	rows = {row[0]: " ".join(row[1:]) for row in re.findall(r"^\| `(\w+\.py)` \|[^|]*\| `(\w+)` \| `(\w+)` \| (\d+) \|$", page, re.M)}
	same("the page's table is this", rows, VARIANTS)
	shutil.rmtree(folder, ignore_errors=True)


def check_lab():
	done = run(PYTHON, f"{LAB}/lab.py", "--bailiff", BAILIFF)
	same("the lab prints its three lines", (done.returncode, done.stdout.splitlines()), (0, LINES))
	done = run(PYTHON, f"{LAB}/lab.py", "--bailiff", BAILIFF, "--output", "50")
	same("with 50 bytes of output calc ends too", (done.returncode, done.stdout.splitlines()),
		(0, ["calc -> resource_limit_output"] + LINES[1:]))
	page = text_of(f"{LAB}/README.md")
	same("the page shows the three lines", "".join(f"    {line}\n" for line in LINES) in page, True)
	asked = run(BAILIFF, "check", "-p", f"{LAB}/lab.json", "connect:192.0.2.80:80")
	same("check blocks the page's address", (asked.returncode, asked.stdout.split()[:2]), (122, ["blocked", "policy_blocked_network"]))
	asked = run(BAILIFF, "check", "-p", f"{LAB}/lab.json", "--connect", "192.0.2.80:80", "connect:192.0.2.80:80")
	same("and allows it once it is listed", (asked.returncode, asked.stdout), (0, "allowed\n"))


check_data()
check_without_bailiff()
check_example()
check_lab()
print(f"1..{len(results)}")
sys.exit(0 if results and all(results) else 1)
