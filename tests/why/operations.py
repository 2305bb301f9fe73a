"""One blocked operation per function; the line that makes it carries HERE and the operation's name. Usage: operations.py NAME OBJECT
[PROCESS]. The interpreter's own traceback is printed before, from the same line, as a witness."""

import asyncio
import ctypes
import gzip
import logging
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.request
import zipfile

NAME, OBJECT = sys.argv[1], sys.argv[2]
OUTSIDER = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def witness():
	for frame in reversed(traceback.extract_stack()[:-1]):
		print(f"witness {frame.filename}:{frame.lineno}:{frame.name}")
	sys.stdout.flush()
	return True


def address():
	host, port = OBJECT.rsplit(":", 1)
	return host.strip("[]"), int(port)


def open_read():
	return witness() and open(OBJECT)  # HERE open_read


def open_write():
	return witness() and open(OBJECT, "w")  # HERE open_write


def open_append():
	return witness() and open(OBJECT, "ab")  # HERE open_append


def open_exclusive():
	return witness() and open(OBJECT, "x")  # HERE open_exclusive


def do_truncate():
	return witness() and os.truncate(OBJECT, 3)  # HERE do_truncate


def do_unlink():
	return witness() and os.unlink(OBJECT)  # HERE do_unlink


def do_rename():
	return witness() and os.rename(OBJECT, "renamed")  # HERE do_rename


def do_mkdir():
	return witness() and os.makedirs(OBJECT)  # HERE do_mkdir


def do_chmod():
	return witness() and os.chmod(OBJECT, 0o600)  # HERE do_chmod


def do_symlink():
	return witness() and os.symlink("/dev/null", OBJECT)  # HERE do_symlink


def do_link():
	return witness() and os.link(OBJECT, "linked")  # HERE do_link


def do_utime():
	return witness() and os.utime(OBJECT)  # HERE do_utime


def do_stat():
	return witness() and os.stat(OBJECT)  # HERE do_stat


def do_listdir():
	return witness() and os.listdir(OBJECT)  # HERE do_listdir


def path_write():
	return witness() and pathlib.Path(OBJECT).write_text("1", encoding="utf-8")  # HERE path_write


def remove_tree():
	return witness() and shutil.rmtree(OBJECT)  # HERE remove_tree


def copy_file():
	return witness() and shutil.copy("/etc/passwd", OBJECT)  # HERE copy_file


def temporary_file():
	return witness() and tempfile.NamedTemporaryFile(dir=OBJECT)  # HERE temporary_file


def database():
	return witness() and sqlite3.connect(OBJECT)  # HERE database


def compressed():
	return witness() and gzip.open(OBJECT)  # HERE compressed


def archive():
	return witness() and zipfile.ZipFile(OBJECT, "w")  # HERE archive


def log_file():
	return witness() and logging.FileHandler(OBJECT)  # HERE log_file


def import_module():
	sys.path.insert(0, OBJECT.rsplit("/", 1)[0])
	if witness(): import forbidden_module  # HERE import_module  # noqa: E701


def call_c():
	return witness() and ctypes.CDLL(None).open(OBJECT.encode(), 0)  # HERE call_c


def connect():
	family = socket.AF_INET6 if OBJECT.startswith("[") else socket.AF_INET
	with socket.socket(family) as client:
		return witness() and client.connect(address())  # HERE connect


def connect_path():
	with socket.socket(socket.AF_UNIX) as client:
		return witness() and client.connect(OBJECT)  # HERE connect_path


def send_to():
	with socket.socket(type=socket.SOCK_DGRAM) as client:
		return witness() and client.sendto(b"1", address())  # HERE send_to


def create_connection():
	return witness() and socket.create_connection(address())  # HERE create_connection


def bind():
	with socket.socket() as server:
		return witness() and server.bind(address())  # HERE bind


def url():
	return witness() and urllib.request.urlopen(f"http://{OBJECT}/")  # HERE url


async def coroutine():
	return witness() and await asyncio.open_connection(*address())  # HERE coroutine


def event_loop():
	return asyncio.run(coroutine())


async def starts_server():
	return witness() and await asyncio.start_server(print, *address())  # HERE starts_server


def event_loop_server():
	return asyncio.run(starts_server())


def run():
	return witness() and subprocess.run([OBJECT], check=False)  # HERE run


def run_shell():
	return witness() and subprocess.check_output("exit 1", shell=True)  # HERE run_shell


def do_system():
	return witness() and os.system("exit 1")  # HERE do_system


def do_popen():
	return witness() and os.popen("exit 1")  # HERE do_popen


def do_exec():
	return witness() and os.execv(OBJECT, ["x"])  # HERE do_exec


def do_spawn():
	return witness() and os.posix_spawn(OBJECT, ["x"], {})  # HERE do_spawn


def spawn_wait():
	return witness() and os.spawnv(os.P_WAIT, OBJECT, ["x"])  # HERE spawn_wait


def fork_child():
	if os.fork() == 0:
		os._exit(len(open(OBJECT).read()) if witness() else 1)  # HERE fork_child
	return os.wait()


def in_process():
	return witness() and open(OBJECT)  # HERE in_process


def other_process():
	process = multiprocessing.get_context("fork").Process(target=in_process)
	process.start()
	process.join()


def in_thread():
	return witness() and open(OBJECT)  # HERE in_thread


def other_thread():
	thread = threading.Thread(target=in_thread)
	thread.start()
	thread.join()


def on_signal(*_):
	return witness() and open(OBJECT)  # HERE on_signal


def signals():
	signal.signal(signal.SIGUSR1, on_signal)
	os.kill(os.getpid(), signal.SIGUSR1)
	while True:
		signal.pause()


def do_kill():
	return witness() and os.kill(OUTSIDER, signal.SIGTERM)  # HERE do_kill


def do_memfd():
	return witness() and os.memfd_create("name")  # HERE do_memfd


def main():
	return globals()[NAME]()


main()
