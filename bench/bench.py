#!/usr/bin/python3
"""What a stop costs, and what starting costs: native, the bare seccomp-trace loop, bailiff, bailiff without Landlock, strace.

    bench.py [--build DIR] [--rounds N] [--json FILE]

They take turns, so that whatever else the machine does meets all of them; each number is a median. One table for all
processes on one CPU, one for where the kernel puts them. The last table is what an explanation costs. FILE
(DIR/bench.json) holds every sample.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

OPENS = 20000
NATIVE_OPENS = 200000
STARTS = 20
VARIANTS = ["native", "floor", "bailiff", "no-landlock", "strace"]


class Bench:
	def __init__(self, build, rounds):
		self.build = os.path.abspath(build)
		self.rounds = rounds
		self.file = os.path.join(self.build, "bench", "opened")
		self.run = [os.path.join(self.build, "bailiff"), "run", "-o", os.path.join(self.build, "bench", "verdict.json")]
		self.loop = os.path.join(self.build, "bench", "open_loop")
		with open(self.file, "w", encoding="ascii") as file:
			file.write("x\n")
		self.variants = [name for name in VARIANTS if name != "strace" or shutil.which("strace")]

	def under(self, variant, command):
		"""The command as this variant starts it."""
		if variant == "native":
			return command
		if variant == "floor":
			return [os.path.join(self.build, "bench", "floor")] + command
		if variant == "strace":
			return [shutil.which("strace"), "--seccomp-bpf", "-f", "-e", "trace=openat", "-o", "/dev/null"] + command
		return [os.path.join(self.build, "bailiff"), "run", "--landlock", "off" if variant == "no-landlock" else "auto",
			"-o", os.path.join(self.build, "bench", "verdict.json"), "--wall", "none", "--cpu", "none",
			"--execute", self.loop, "--read", self.loop, "--read", self.file, "--"] + command

	def open_ns(self, variant, pinned):
		count = NATIVE_OPENS if variant == "native" else OPENS
		command = place(pinned) + self.under(variant, [self.loop, self.file, str(count)])
		done = subprocess.run(command, capture_output=True, text=True, check=False)
		if done.returncode != 0:
			raise SystemExit(f"bench: {variant} ended with {done.returncode}: {done.stderr}")
		return float(done.stdout)

	def start_us(self, variant, pinned):
		command = place(pinned) + self.under(variant, ["/bin/true"])
		begin = time.perf_counter()
		for _ in range(STARTS):
			pid = os.posix_spawn(command[0], command, os.environ)
			if os.waitpid(pid, 0)[1] != 0:
				raise SystemExit(f"bench: {variant} could not run /bin/true")
		return (time.perf_counter() - begin) / STARTS * 1e6

	def samples(self, measure, pinned):
		found = {variant: [] for variant in self.variants}
		for _ in range(self.rounds):
			for variant in self.variants:
				found[variant].append(measure(variant, pinned))
		return found


# Programs that open one file: what it costs to say who was blocked shows beside the same run with that file allowed.
OPENERS = {
	"cat": ["/bin/cat"],
	"bash": ["/bin/bash", "-c", 'read line < "$1"', "bash"],
	"perl": ["/usr/bin/perl", "-e", "open(F, '<', $ARGV[0])"],
	"php": ["/usr/bin/php", "-n", "-r", "fopen($argv[1], 'r');"],
	"python": ["/usr/bin/python3", "-c", "import sys; open(sys.argv[1])"],
	"node": ["/usr/bin/node", "-e", "require('fs').readFileSync(process.argv[1])"],
}
AGAIN = """
import sys, time
def go():
	try:
		open(sys.argv[1])
	except OSError:
		pass
go()
begin = time.perf_counter()
for number in range(1000):
	go()
print((time.perf_counter() - begin) * 1000)
"""


def opener_us(bench, command, allowed, policy):
	options = ["--read", bench.file] if allowed else []
	begin = time.perf_counter()
	done = subprocess.run([*bench.run, "-p", policy, *options, "--", *command, bench.file], capture_output=True, check=False)
	if (done.returncode == 122) == allowed:
		raise SystemExit(f"bench: {command[0]} ended with {done.returncode}: {done.stderr.decode()}")
	return (time.perf_counter() - begin) * 1e6


def show_stacks(bench):
	"""The first violation of a run is explained, later ones are only recorded."""
	print(f"\nfirst stack, by interpreter\n{'':12}{'allowed us':>12}{'blocked us':>12}{'more':>10}")
	found = {}
	for name, command in OPENERS.items():
		if not os.access(command[0], os.X_OK):
			continue
		policy = name if name in ("python", "node") else "default"
		samples = {allowed: [opener_us(bench, command, allowed, policy) for _ in range(bench.rounds)] for allowed in (True, False)}
		middle = {allowed: statistics.median(values) for allowed, values in samples.items()}
		print(f"{name:12}{middle[True]:12.0f}{middle[False]:12.0f}{middle[False] - middle[True]:10.0f}")
		found[name] = {"unit": "us", "allowed": samples[True], "blocked": samples[False]}
	done = subprocess.run([*bench.run, "-p", "python", "--on-violation", "deny", "--", "/usr/bin/python3", "-c", AGAIN, bench.file],
		capture_output=True, text=True, check=False)
	print(f"{'later ones':12}{float(done.stdout):12.1f} us each, under deny")
	found["later"] = {"unit": "us", "each": float(done.stdout)}
	return found


def place(pinned):
	return [shutil.which("taskset"), "-c", "0"] if pinned else []


def show(title, unit, samples):
	middle = {variant: statistics.median(values) for variant, values in samples.items()}
	print(f"\n{title}\n{'':12}{unit:>12}{'x native':>10}{'x floor':>10}{'spread':>18}")
	for variant, values in samples.items():
		print(f"{variant:12}{middle[variant]:12.1f}{middle[variant] / middle['native']:10.1f}"
			f"{middle[variant] / middle['floor']:10.2f}{f'{min(values):.1f}..{max(values):.1f}':>18}")
	return {"unit": unit, "median": middle, "samples": samples}


def main():
	parser = argparse.ArgumentParser(usage=__doc__)
	parser.add_argument("--build", default="build")
	parser.add_argument("--rounds", type=int, default=7)
	parser.add_argument("--json", metavar="FILE")
	options = parser.parse_args()
	bench = Bench(options.build, options.rounds)
	host = os.uname()
	print(f"{host.sysname} {host.release}, {os.cpu_count()} CPUs, medians of {options.rounds} rounds")
	result = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "kernel": host.release,
		"cpus": os.cpu_count(), "rounds": options.rounds}
	for pinned, where in ((True, "all on one CPU"), (False, "free placement")):
		key = "one_cpu" if pinned else "free"
		result[f"open_{key}"] = show(f"open and close, {where}", "ns a pair", bench.samples(bench.open_ns, pinned))
		result[f"start_{key}"] = show(f"start of /bin/true, {where}", "us", bench.samples(bench.start_us, pinned))
	result["stacks"] = show_stacks(bench)
	with open(options.json or os.path.join(bench.build, "bench.json"), "w", encoding="ascii") as file:
		json.dump(result, file, indent=1)
	return 0


if __name__ == "__main__":
	sys.exit(main())
