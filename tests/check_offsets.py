#!/usr/bin/python3
"""Are the offsets in tracer/why/*_offsets.h those of the headers of CPython, perl and PHP? Prints TAP.

    tests/check_offsets.py [--write]

Every folder of headers that is installed (Debian's, and those of pyenv) is compiled against tracer/why/offsets/*.c and its
row compared. --write makes the files anew: rows of versions without headers stay as they are.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WHY = f"{ROOT}/tracer/why"
TELLING = 13  # from this minor version on CPython tells its offsets, and a row holds numbers of words

HEAD = """/* Written by `tests/check_offsets.py --write` with offsets/{0}.c and the headers of {1}; a test compares. */
#ifndef WHY_{2}_OFFSETS_H
#define WHY_{2}_OFFSETS_H

"""
PYTHON = """#include "why/python_layout.h"

/* 3.7 to 3.12: offsets in bytes. */
static const struct python_layout python_offsets[] = {
"""
PYTHON_TELLING = """};

/* From 3.13 on: which word of _Py_DebugOffsets holds the offset. */
static const struct python_layout python_words[] = {
"""
PERL = """#include <stdint.h>

/* One perl: 5.`version`, with an interpreter of `interpreter_bytes` (PL_interp_size), which tells builds apart. Offsets in
 * bytes; type_*, sv_type_*, code_is_named and hash_has_name are values of perl's own. */
struct perl_layout {
"""
PHP = """#include <stdint.h>

/* One PHP without threads: the number of its interface for extensions (ZEND_MODULE_API_NO) and the size of executor_globals
 * tell which. Offsets in bytes; type_* are values of PHP's own. */
struct php_layout {
"""
FIELDS = {"perl": PERL, "php": PHP}
ROWS = """}};

static const struct {0}_layout {0}_offsets[] = {{
"""
TAIL = """};

#endif
"""


def output_of(*command):
	if not shutil.which(command[0]):
		return ""
	return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def python_folders():
	"""Folders with Python.h, CPython's internal headers among them."""
	root = output_of("pyenv", "root")
	patterns = ["/usr/include/python3.*", "/usr/local/include/python3.*"]
	patterns += [f"{root}/versions/*/include/python3.*"] if root else []
	found = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
	minor = re.compile(r"/python3\.(\d+)")
	return [path for path in found if os.path.isdir(f"{path}/internal") and int(minor.search(path).group(1)) >= 7]


def perl_folders():
	folder = output_of("perl", "-MConfig", "-e", 'print "$Config{archlibexp}/CORE" if $Config{usethreads} && $] >= 5.036')
	return [folder] if os.path.exists(f"{folder}/perl.h") else []


def php_folders():
	folder = output_of("php-config", "--include-dir")
	return [folder] if os.path.exists(f"{folder}/main/php.h") else []


class Language:
	"""`keys`: the fields that tell one row from another. `below`: folders within that of the headers where a compiler has to look
	as well."""

	def __init__(self, name, title, keys, folders, below, flags):
		self.name, self.title, self.keys, self.folders, self.below, self.flags = name, title, keys, folders, below, flags
		self.source, self.table = f"{WHY}/offsets/{name}.c", f"{WHY}/{name}_offsets.h"

	def version(self, row):
		return tuple(int(re.search(rf"\.{key} = (\d+)", row).group(1)) for key in self.keys)

	def row_of(self, folder):
		"""(row, None) or (None, what the compiler said)."""
		with tempfile.TemporaryDirectory() as scratch:
			command = [os.environ.get("CC", "cc"), "-w", "-O2", "-D_GNU_SOURCE", f"-I{folder}", *self.flags]
			command += [f"-I{folder}/{name}" for name in self.below]
			done = subprocess.run([*command, "-o", f"{scratch}/row", self.source], capture_output=True, text=True, check=False)
			if done.returncode:
				return None, done.stderr
			return subprocess.run([f"{scratch}/row"], capture_output=True, text=True, check=True).stdout, None

	def rows_in_file(self):
		with open(self.table, encoding="utf-8") as file:
			rows = re.findall(r"^\t\{\n.*?^\t\},\n", file.read(), re.MULTILINE | re.DOTALL)
		return {self.version(row): row for row in rows}

	def write(self):
		rows = self.rows_in_file() if os.path.exists(self.table) else {}
		for folder in self.folders():
			row, error = self.row_of(folder)
			if error:
				sys.exit(f"{folder}: {error}")
			rows[self.version(row)] = row
		with open(self.table, "w", encoding="utf-8") as file:
			file.write(HEAD.format(self.name, self.title, self.name.upper()) + self.body(sorted(rows.items())) + TAIL)

	def body(self, rows):
		if self.name in FIELDS:
			fields = "".join(f"\tuint32_t {field};\n" for field in re.findall(r"\.(\w+) =", rows[0][1]))
			return FIELDS[self.name] + fields + ROWS.format(self.name) + "".join(row for _, row in rows)
		old, new = ("".join(row for (minor,), row in rows if (minor >= TELLING) == told) for told in (False, True))
		return PYTHON + old + PYTHON_TELLING + new


LANGUAGES = [
	Language("python", "CPython", ["minor"], python_folders, ["internal"], []),
	Language("perl", "perl", ["version"], perl_folders, [], ["-D_REENTRANT", "-Wl,--unresolved-symbols=ignore-all"]),
	Language("php", "PHP", ["api", "globals_bytes"], php_folders, ["main", "Zend", "TSRM"], []),
]


def check():
	count = failed = 0
	for language in LANGUAGES:
		rows, folders = language.rows_in_file(), language.folders()
		for folder in folders:
			row, error = language.row_of(folder)
			count += 1
			passed = not error and row in rows.values()
			failed += not passed
			print(f"{'ok' if passed else 'not ok'} {count} - offsets of {language.title} are those of {folder}")
			for line in [] if passed else (error or f"no such row in {language.table}:\n{row}").splitlines():
				print(f"# {line}")
		if not folders:
			count += 1
			print(f"ok {count} - offsets of {language.title} # SKIP no headers are installed")
	print(f"1..{count}")
	return 1 if failed else 0


def write():
	for language in LANGUAGES:
		language.write()


if __name__ == "__main__":
	sys.exit(write() if sys.argv[1:] == ["--write"] else check())
