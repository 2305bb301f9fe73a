"""All cases of tests/cases/, two at a time."""

import concurrent.futures
import glob
import json
import os
import shutil
import socket
import tempfile
import traceback

import jsonschema

from runner.case import PATH, Case, Failure
from runner.report import OPTIONAL_PROGRAMS

WORKERS = 2
OWN_NAME = "own-name"  # among what a case needs


class Tools:
	"""What every case shares: where the programs are, and how a document is held against its schema."""

	def __init__(self, root, build, environment=None, patience=1, case_folder=None, landlock=os.environ.get("BAILIFF_TEST_LANDLOCK")):
		self.root = root
		self.bailiff = os.path.join(build, "bailiff")
		self.targets = os.path.join(build, "tests", "targets")
		self.environment = environment or {}
		self.patience = patience
		self.run_options = ["--landlock", landlock] if landlock else []
		self.case_folder = case_folder or os.path.join(root, "tests", "cases")
		self.validators = {}

	def validate(self, kind, document):
		if kind not in self.validators:
			with open(os.path.join(self.root, "policies", "schema", f"{kind}.schema.json"), encoding="utf-8") as file:
				schema = json.load(file)
			self.validators[kind] = jsonschema.validators.validator_for(schema)(schema)
		errors = [f"{'/'.join(map(str, error.absolute_path)) or '(top)'}: {error.message[:500]}"
			for error in self.validators[kind].iter_errors(document)]
		if errors:
			raise Failure(f"the {kind} does not agree with its schema: " + "; ".join(errors[:5]))


def load(folder, pattern=None):
	"""(file, case) for every case whose file or name holds `pattern`; a file that cannot be read is a (file, text)."""
	found = []
	for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
		name = os.path.basename(path)
		try:
			with open(path, encoding="utf-8") as file:
				cases = json.load(file)["cases"]
			names = [case["name"] for case in cases]
			twice = sorted({case for case in names if names.count(case) > 1})
			if twice:
				found.append((name, f"case names appear twice: {twice}"))
		except (ValueError, KeyError, TypeError) as error:
			found.append((name, f"cannot be read: {error!r}"))
			continue
		found += [(name, case) for case in cases if not pattern or pattern in f"{name}: {case['name']}"]
	return found


def own_name_is_known():
	"""Does a file give this host's own name an address? Else programs that look it up at their start ask the network."""
	try:
		with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
			return any(socket.gethostname() in line.split("#")[0].split()[1:] for line in file)
	except OSError:
		return False


def lacking(case):
	"""What the case needs and this machine does not have: the reason to skip it, and whether that is fine."""
	for program in case.get("needs", []):
		if program == OWN_NAME:
			if not own_name_is_known():
				return "this host's own name is not in /etc/hosts", True
		elif not shutil.which(program, path=PATH + ":/usr/sbin:/sbin"):
			return f"{program} is not installed", program in OPTIONAL_PROGRAMS
	return None


def run_one(report, title, file, raw, number, base, tools):
	source = f"{title} {file}"
	lack = lacking(raw)
	if lack:
		report.skip(source, raw["name"], lack[0], optional=lack[1])
		return
	try:
		Case(raw, os.path.join(base, str(number)), tools).run()
		report.result(source, raw["name"], True)
	except Failure as failure:
		report.result(source, raw["name"], False, str(failure))
	except Exception:  # a fault of the runner or of the case file: never a pass, never the end of the run
		report.result(source, raw["name"], False, traceback.format_exc())


def run_all(report, label, tools, pattern=None, only=None, prefix="cases"):
	"""Runs every case that is for this user; `only` narrows them further (a function of the case)."""
	title = f"{prefix}[{label}]"
	chosen, elsewhere = [], 0
	for file, raw in load(tools.case_folder, pattern):
		if isinstance(raw, str):
			report.result(f"{title} {file}", "is a file of cases", False, raw)
		elif label not in raw.get("as", ["root", "user"]):
			elsewhere += 1
		elif not only or only(raw):
			chosen.append((file, raw))
	if elsewhere and label == "user" and not os.environ.get("BAILIFF_TEST_BOTH"):
		report.note(f"{elsewhere} cases are for root only and do not run here")
	base = os.path.realpath(tempfile.mkdtemp(prefix="bailiff-check-"))
	os.chmod(base, 0o755)
	try:
		run_chosen(report, title, tools, chosen, base)
	finally:
		shutil.rmtree(base, ignore_errors=True)
	for file in dict.fromkeys(file for file, _ in chosen):
		report.finish_source(f"{title} {file}")


def run_chosen(report, title, tools, chosen, base):
	numbered = list(enumerate(chosen))
	together = [item for item in numbered if not item[1][1].get("alone")]
	with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
		done = [pool.submit(run_one, report, title, file, raw, number, base, tools) for number, (file, raw) in together]
		for future in done:
			future.result()
	for number, (file, raw) in numbered:
		if raw.get("alone"):
			run_one(report, title, file, raw, number, base, tools)
