#!/usr/bin/python3
"""What is refused does not arrive: two servers outside the run, one listed and one not."""

import os
import subprocess

import harness
from harness import TARGETS, fresh, run, verdict, wait_for

tap = harness.Tap()
CALL = f"{TARGETS}/net_call"

# What net_serve calls it, and the words of net_call; {port} is that of the server meant, {dir} its folder.
CALLS = (
	("tcp", ["connect", "tcp", "127.0.0.1", "{port}"]),
	("tcp", ["connect", "tcp", "::ffff:127.0.0.1", "{port}"]),
	("tcp", ["connect", "tcp", "0.0.0.0", "{port}"]),
	("tcp", ["-f", "FASTOPEN", "sendto", "tcp", "127.0.0.1", "{port}"]),
	("udp", ["sendto", "udp", "127.0.0.1", "{port}"]),
	("udp", ["sendmsg", "udp", "127.0.0.1", "{port}"]),
	("udp", ["sendmmsg", "udp", "127.0.0.1", "{port}", "127.0.0.1", "{port}"]),
	("stream", ["connect", "unix", "{dir}/stream"]),
	("dgram", ["sendto", "unix-dgram", "{dir}/dgram"]),
	("dgram", ["sendmsg", "unix-dgram", "{dir}/dgram"]),
	("abstract", ["connect", "unix", "@bailiff-test-{port}"]),
)


def server():
	folder = fresh("server")
	subprocess.run([f"{TARGETS}/net_serve", folder], check=True, timeout=10)
	with open(os.path.join(folder, "port"), encoding="ascii") as file:
		return folder, file.read().strip()


def got(folder):
	try:
		with open(os.path.join(folder, "got"), encoding="ascii") as file:
			return file.read().split()
	except OSError:
		return []


def one(kind, words):
	listed, other = server(), server()
	network = {"connect": [f"127.0.0.1:{listed[1]}", f"unix:{listed[0]}/*", f"unix:@bailiff-test-{listed[1]}"]}
	for folder, port in (listed, other):
		scratch = fresh("run")
		policy = harness.write_policy(scratch, network=network, on_violation="deny")
		run(scratch, [CALL, *(word.format(port=port, dir=folder) for word in words)], policy)
		name = " ".join(word.format(port="PORT", dir="DIR") for word in words)
		if folder == listed[0]:
			tap.equal(f"{name}: listed, completed", verdict(scratch)["status"], "completed", verdict(scratch))
			tap.ok(f"{name}: listed, arrives", wait_for(lambda: kind in got(listed[0]), 3), got(folder))
		else:
			tap.equal(f"{name}: not listed, blocked", verdict(scratch)["rule"], "policy_blocked_network", verdict(scratch))
	# The listed server has had the time to log; the other one polls as often.
	wait_for(lambda: got(other[0]), 0.3)
	tap.equal(f"{' '.join(words[:2])}: not listed, does not arrive", got(other[0]), [])


for call_kind, call_words in CALLS:
	one(call_kind, call_words)
tap.end()
