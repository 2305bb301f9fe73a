#!/usr/bin/python3
"""Are the offsets in tracer/why/python_offsets.h those of the headers of CPython? Prints TAP.

    tests/check_offsets.py [--write]

Every folder of headers that is installed (Debian's, and those of pyenv) is compiled against tracer/why/offsets/python.c and
its row compared. --write makes the file anew: rows of versions without headers stay as they are.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = f"{ROOT}/tracer/why/offsets/python.c"
TABLE = f"{ROOT}/tracer/why/python_offsets.h"
TELLING = 13  # from this minor version on the interpreter tells its offsets, and a row holds numbers of words

HEAD = """/* Written by `tests/check_offsets.py --write` with offsets/python.c and the headers of CPython; a test compares. */
#ifndef WHY_PYTHON_OFFSETS_H
#define WHY_PYTHON_OFFSETS_H

#include "why/python_layout.h"

/* 3.7 to 3.12: offsets in bytes. */
static const struct python_layout python_offsets[] = {
"""
MIDDLE = """};

/* From 3.13 on: which word of _Py_DebugOffsets holds the offset. */
static const struct python_layout python_words[] = {
"""
TAIL = """};

#endif
"""


def header_folders():
	"""Folders with Python.h, CPython's internal headers among them."""
	pyenv = shutil.which("pyenv")
	root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip() if pyenv else ""
	patterns = ["/usr/include/python3.*", "/usr/local/include/python3.*"] + ([f"{root}/versions/*/include/python3.*"] if root else [])
	found = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
	return [path for path in found if os.path.isdir(f"{path}/internal") and minor_of(path) >= 7]


def minor_of(path):
	return int(re.search(r"python3\.(\d+)", os.path.basename(path)).group(1))


def row_of(folder):
	"""(row, None) or (None, what the compiler said)."""
	with tempfile.TemporaryDirectory() as scratch:
		program = f"{scratch}/row"
		compiler = os.environ.get("CC", "cc")
		done = subprocess.run([compiler, "-w", f"-I{folder}", f"-I{folder}/internal", "-o", program, SOURCE], capture_output=True,
			text=True, check=False)
		if done.returncode:
			return None, done.stderr
		return subprocess.run([program], capture_output=True, text=True, check=True).stdout, None


def rows_in_file():
	if not os.path.exists(TABLE):
		return {}
	with open(TABLE, encoding="utf-8") as file:
		rows = re.findall(r"^\t\{\n.*?^\t\},\n", file.read(), re.MULTILINE | re.DOTALL)
	return {int(re.search(r"\.minor = (\d+)", row).group(1)): row for row in rows}


def write():
	rows = rows_in_file()
	for folder in header_folders():
		row, error = row_of(folder)
		if error:
			sys.exit(f"{folder}: {error}")
		rows[minor_of(folder)] = row
	with open(TABLE, "w", encoding="utf-8") as file:
		old = [row for minor, row in sorted(rows.items()) if minor < TELLING]
		new = [row for minor, row in sorted(rows.items()) if minor >= TELLING]
		file.write(HEAD + "".join(old) + MIDDLE + "".join(new) + TAIL)


def check():
	rows, folders = rows_in_file(), header_folders()
	count = failed = 0
	for folder in folders:
		row, error = row_of(folder)
		count += 1
		passed = not error and row == rows.get(minor_of(folder))
		failed += not passed
		print(f"{'ok' if passed else 'not ok'} {count} - offsets of {os.path.basename(folder)} are those of its headers")
		for line in [] if passed else (error or f"headers:\n{row}\nfile:\n{rows.get(minor_of(folder))}").splitlines():
			print(f"# {line}")
	if not folders:
		count += 1
		print(f"ok {count} - offsets # SKIP no headers of CPython are installed")
	print(f"1..{count}")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(write() if sys.argv[1:] == ["--write"] else check())
