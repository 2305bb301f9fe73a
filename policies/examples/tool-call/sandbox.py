#!/usr/bin/python3
"""Runs a program that somebody else wrote under bailiff, and says how that went. Needs the standard library and bailiff.

    with Sandbox(network=False, mem_mb=512, timeout_s=20) as sb:
        sb.put("program.py")
        sb.put("data.csv", "input")
        outcome = sb.run(["/usr/bin/python3", "program.py"], get="result")
    if outcome.status == "completed":
        print(outcome.stdout.decode(), outcome.artifact)

As a program: sandbox.py POLICY PROGRAM INPUT RESULT"""

import base64
import json
import os
import subprocess
import sys
import tempfile

POLICY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tool-call.json")
STATUSES = ("completed", "runtime_error", "timeout", "resource_limit", "policy_blocked")
GRACE_S = 30  # bailiff ends the run itself; this is for a host so busy that bailiff comes late


class SandboxError(Exception):
    """bailiff itself failed, or there is no verdict: nothing is known about the program, so nothing was a success."""


class Outcome:
    """What the verdict says. `status` is one of STATUSES; `rule` belongs to it, None with completed."""

    def __init__(self, verdict, artifact):
        self.verdict = verdict
        self.status, self.rule, self.summary = verdict["status"], verdict["rule"], verdict["summary"]
        self.exit_code, self.signal = verdict["exit"]["code"], verdict["exit"]["signal"]
        self.stdout, self.stderr = (bytes_of(verdict["output"][name]) for name in ("stdout", "stderr"))
        self.truncated = any(verdict["output"][name]["truncated"] for name in ("stdout", "stderr"))
        self.artifact = artifact
        self.refused = next((item["refused"] for item in verdict["artifacts"] if item["refused"]), None)


def bytes_of(stream):
    """What the program wrote, exactly: `base64` is there where the bytes are not all text."""
    return base64.b64decode(stream["base64"]) if "base64" in stream else stream["text"].encode()


class Sandbox:
    """The settings of a run, and a private folder for what it hands back, which is gone after the `with`."""

    def __init__(self, network=False, mem_mb=512, timeout_s=20, policy=POLICY, bailiff="bailiff"):
        # "The network" cannot be allowed as a whole by a host that cares: it lists the addresses.
        if network is True:
            raise ValueError("network: False, or a list of addresses such as 192.0.2.7:443")
        self.options = ["-p", policy, "--memory", f"{mem_mb}M", "--wall", f"{timeout_s}s"]
        for address in network or []:
            self.options += ["--connect", address]
        self.bailiff, self.timeout_s = bailiff, timeout_s

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sandbox-")
        return self

    def __exit__(self, *exception):
        self.folder.cleanup()

    def put(self, path, name=None):
        """The run gets a copy: what it does to that changes nothing here."""
        self.options += ["--put", f"{path}:{name or os.path.basename(path)}"]

    def run(self, command, get=None):
        options = list(self.options)
        saved = os.path.join(self.folder.name, "artifact")
        if get:
            # Never the program's own choice of a place: it says what is in the file, not where it goes.
            options += ["--get", f"{get}:{saved}"]
        verdict = self.verdict([self.bailiff, "run", "--capture", *options, "--", *command])
        artifact = None
        if get and not verdict["artifacts"][0]["refused"]:
            with open(saved, "rb") as file:  # no larger than limits.artifact
                artifact = file.read()
        return Outcome(verdict, artifact)

    def verdict(self, command):
        """With --capture only bailiff writes to its standard output, and all that it writes is the verdict. What the program
        prints is inside, as a string. Never look for a verdict in text on standard error: a program can print one."""
        try:
            bailiff = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise SandboxError(str(error)) from None
        try:
            text, words = bailiff.communicate(timeout=self.timeout_s + GRACE_S)
        except BaseException:
            self.stop(bailiff)
            raise
        try:
            verdict = json.loads(text)
        except ValueError:
            raise SandboxError(words.decode(errors="replace").strip() or f"bailiff ended with {bailiff.returncode}") from None
        if verdict["error"]:
            raise SandboxError(verdict["error"]["message"])
        # A status of a later version is no success either.
        if verdict["schema"] != "bailiff.verdict/1" or verdict["status"] not in STATUSES or verdict["exit"]["interrupted"]:
            raise SandboxError(verdict["summary"])
        return verdict

    @staticmethod
    def stop(bailiff):
        """SIGTERM ends the run and removes its private folder; SIGKILL ends the run as well, and leaves the folder."""
        bailiff.terminate()
        try:
            bailiff.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            bailiff.kill()
            bailiff.communicate()


def main(policy, program, data, result):
    bailiff = os.environ.get("BAILIFF", "bailiff")
    try:
        with Sandbox(network=False, mem_mb=512, timeout_s=20, policy=policy, bailiff=bailiff) as sandbox:
            sandbox.put(program, "program.py")
            sandbox.put(data, "input")
            outcome = sandbox.run(["/usr/bin/python3", "program.py"], get="result")
    except SandboxError as error:
        print("error")
        print(error, file=sys.stderr)
        return 2
    print(outcome.status, outcome.rule or "-")
    if outcome.status == "completed":
        pass  # the one status with which output and result may be taken for what was asked for
    elif outcome.status == "runtime_error":
        print(f"  it failed by itself, with {outcome.signal or outcome.exit_code}: debug the program")
    elif outcome.status == "timeout":
        print("  it took too long: find the loop, or allow more time")
    elif outcome.status == "resource_limit":
        print("  it wanted too much: find out why, or raise the limit")
    elif outcome.status == "policy_blocked":
        print("  it tried what is not listed:", outcome.summary)
    print(f"output {len(outcome.stdout)} bytes{', cut' if outcome.truncated else ''}")
    if outcome.artifact is None:
        print(f"no result: {outcome.refused}")
    else:
        with open(result, "wb") as file:
            file.write(outcome.artifact)
        print(f"result {len(outcome.artifact)} bytes")
    return 0 if outcome.status == "completed" else 1


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: sandbox.py POLICY PROGRAM INPUT RESULT")
    sys.exit(main(*sys.argv[1:]))
