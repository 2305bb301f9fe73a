"""Results: counted here and nowhere else. Every result is one TAP line in the log; the screen shows failures in full and
one line per source of results."""

import os
import re
import sys
import threading
import time

LINE = re.compile(r"^(not )?ok\b(?:\s+\d+)?(?:\s*-\s*)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")
DIRECTIVE = re.compile(r"\s#\s*(skip|todo)\b\s*(.*)$", re.IGNORECASE)

# A machine without one of these is an ordinary machine; everything else that a test asks for is installed by deps.sh.
OPTIONAL_PROGRAMS = {"java", "docker", "gdb", "ruby", "lua", "go", "rustc", "pip", "pip3", "dash", "zsh", "wget"}


class Report:
	def __init__(self, log_path=None, tap=False):
		self.passed = self.failed = self.skipped = 0
		self.tap = tap
		self.sources = {}    # name -> (passed, failed)
		self.with_skips = set()
		self.lock = threading.Lock()
		self.finished_at = time.monotonic()
		self.log = open(log_path, "w", encoding="utf-8", errors="backslashreplace") if log_path else None
		self.no_skip = os.environ.get("BAILIFF_TEST_NO_SKIP") == "1"

	def result(self, source, name, passed, detail=""):
		with self.lock:
			self._count(source, passed)
			number = self.passed + self.failed
			line = f"{'ok' if passed else 'not ok'} {number} - {source}: {name}\n"
			self._write(line, detail, show=not passed)
		return passed

	def skip(self, source, name, reason, optional=False):
		if self.no_skip and not optional:
			return self.result(source, name, False, f"skipped, and BAILIFF_TEST_NO_SKIP=1 forbids it: {reason}")
		with self.lock:
			self.skipped += 1
			self.with_skips.add(source)
			reason += " (optional)" if optional and not reason.endswith("(optional)") else ""
			number = self.passed + self.failed + self.skipped
			self._write(f"ok {number} - {source}: {name} # SKIP {reason}\n", "", show=True)
		return True

	def note(self, text):
		with self.lock:
			self._write(f"# {text}\n", "", show=True)

	def finish_source(self, source):
		"""Prints how a source did; one that counted nothing has failed."""
		with self.lock:
			passed, failed = self.sources.get(source, (0, 0))
		if passed + failed == 0 and source not in self.with_skips:
			self.result(source, "has results", False, "not one result was printed")
			failed = 1
		seconds, self.finished_at = time.monotonic() - self.finished_at, time.monotonic()
		if not self.tap:
			took = f" in {seconds:.0f} s" if seconds >= 1 else ""
			print(f"{source}: {passed} passed" + (f", {failed} FAILED" if failed else "") + took, flush=True)

	def absorb(self, source, lines, wait):
		"""Counts the TAP lines of another program. `wait` returns its exit status once the lines have ended."""
		counted = announced = 0
		pending, tail = None, []
		for line in lines:
			line = line.rstrip("\n")
			tail = tail[-20:] + [line]
			plan, match = PLAN.match(line), LINE.match(line)
			if plan:
				announced += int(plan.group(1))
			elif match:
				self._flush(source, pending)
				counted += 1
				pending = (match.group(1) is None, match.group(2), [])
			elif pending:
				pending[2].append(line)
		self._flush(source, pending)
		status = wait()
		if status != 0 and not self.sources.get(source, (0, 0))[1]:
			self.result(source, "ends with status 0", False,
				f"ended with status {status} although no result failed; the end of it:\n" + "\n".join(tail))
		if counted != announced:
			self.result(source, "keeps its plan", False, f"planned {announced} results, printed {counted}")

	def _flush(self, source, pending):
		if not pending:
			return
		passed, name, detail = pending
		directive = DIRECTIVE.search(" " + name)
		if directive and passed and directive.group(1).lower() == "skip":
			reason = directive.group(2)
			self.skip(source, DIRECTIVE.sub("", " " + name).strip(), reason, optional=reason.endswith("(optional)"))
			return
		self.result(source, name, passed, "\n".join(detail))

	def _count(self, source, passed):
		before = self.sources.get(source, (0, 0))
		self.sources[source] = (before[0] + passed, before[1] + (not passed))
		self.passed += passed
		self.failed += not passed

	def _write(self, line, detail, show):
		block = line + "".join(f"#   {part}\n" for part in detail.splitlines())
		if self.log:
			self.log.write(block)
			self.log.flush()
		if show or self.tap:
			sys.stdout.write(block.encode("utf-8", "backslashreplace").decode("utf-8"))
			sys.stdout.flush()

	def end(self):
		"""The last line, and the exit status that belongs to it."""
		if self.tap:
			print(f"1..{self.passed + self.failed + self.skipped}")
		else:
			print(f"{self.passed} passed, {self.failed} failed")
		return 0 if self.passed and not self.failed else 1
