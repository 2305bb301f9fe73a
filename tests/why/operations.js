// One blocked operation per function; the line that makes it carries HERE and the operation's name. Usage: operations.js NAME
// OBJECT [PROCESS]. Error().stack is printed before, from the same line, as a witness.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const net = require('net');
const worker_threads = require('worker_threads');

const [name, object, outsider] = worker_threads.isMainThread ? process.argv.slice(2) : worker_threads.workerData;

// "at NAME (FILE:LINE:COLUMN)", or without a name and brackets; the text of a file is called Object.<anonymous>.
function witness() {
	const stack = new Error().stack.split('\n').slice(2);
	for (const call of stack) {
		const [, called, file, line] = /^ +at (?:(.*) \()?(.*):(\d+):\d+\)?$/.exec(call) ?? [];
		const plain = called?.replace(/^new | \[as .*\]$/g, '').replace(/^.*\./, '') ?? '<anonymous>';
		if (file && !called?.startsWith('async '))
			fs.writeSync(1, `witness ${file}:${line}:${called?.endsWith('.<anonymous>') ? '' : plain}\n`);
	}
	return true;
}

function open_read() { return witness() && fs.openSync(object); } // HERE open_read
function open_write() { return witness() && fs.openSync(object, 'w'); } // HERE open_write
function open_append() { return witness() && fs.openSync(object, 'a'); } // HERE open_append
function open_exclusive() { return witness() && fs.openSync(object, 'wx'); } // HERE open_exclusive
function read_file() { return witness() && fs.readFileSync(object, 'utf8'); } // HERE read_file
function write_file() { return witness() && fs.writeFileSync(object, 'x'); } // HERE write_file
function append_file() { return witness() && fs.appendFileSync(object, 'x'); } // HERE append_file
function do_truncate() { return witness() && fs.truncateSync(object); } // HERE do_truncate
function do_copy() { return witness() && fs.copyFileSync('/dev/null', object); } // HERE do_copy
function do_unlink() { return witness() && fs.unlinkSync(object); } // HERE do_unlink
function do_rename() { return witness() && fs.renameSync(object, 'renamed'); } // HERE do_rename
function do_mkdir() { return witness() && fs.mkdirSync(object); } // HERE do_mkdir
function do_rmdir() { return witness() && fs.rmdirSync(object); } // HERE do_rmdir
function do_chmod() { return witness() && fs.chmodSync(object, 0o600); } // HERE do_chmod
function do_utimes() { return witness() && fs.utimesSync(object, 1, 1); } // HERE do_utimes
function do_symlink() { return witness() && fs.symlinkSync('/dev/null', object); } // HERE do_symlink
function do_link() { return witness() && fs.linkSync(object, 'linked'); } // HERE do_link
function do_stat() { return witness() && fs.statSync(object); } // HERE do_stat
function do_access() { return witness() && fs.accessSync(object); } // HERE do_access
function do_chdir() { return witness() && process.chdir(object); } // HERE do_chdir
function read_folder() { return witness() && fs.readdirSync(object); } // HERE read_folder
function open_folder() { return witness() && fs.opendirSync(object); } // HERE open_folder
function temporary_folder() { return witness() && fs.mkdtempSync(`${object}/made`); } // HERE temporary_folder
function do_require() { return witness() && require(object); } // HERE do_require
function connect_path() { return witness() && net.connect(object); } // HERE connect_path
function bind_path() { return witness() && net.createServer().listen(object); } // HERE bind_path
function binds() { return witness() && net.createServer().listen(9); } // HERE binds
function run() { return witness() && child_process.spawnSync(object, ['1']); } // HERE run
function run_file() { return witness() && child_process.execFileSync(object); } // HERE run_file
function run_beside() { return witness() && child_process.spawn(object, ['1']); } // HERE run_beside
function run_shell() { return witness() && child_process.execSync('exit'); } // HERE run_shell
function shell_beside() { return witness() && child_process.exec('exit'); } // HERE shell_beside
function do_kill() { return witness() && process.kill(+outsider, 'SIGTERM'); } // HERE do_kill

function signals() {
	process.on('SIGUSR1', function on_signal() {
		return witness() && fs.openSync(object); // HERE signals
	});
	process.kill(process.pid, 'SIGUSR1');
	setInterval(() => {}, 1000);
}

function other_thread() {
	if (worker_threads.isMainThread)
		return new worker_threads.Worker(__filename, { workerData: [name, object] });
	return witness() && fs.openSync(object); // HERE other_thread
}

function sorted() {
	return [2, 1].sort((left, right) => {
		return witness() && fs.openSync(object); // HERE sorted
	});
}

class Base {
	static call() {
		return new this(1).made;
	}

	get made() {
		return [...this.most()];
	}

	*most() {
		yield 1;
		yield* this.rest();
	}

	*rest() {
		yield witness() && fs.openSync(object); // HERE generated
	}
}

class Job extends Base {
	constructor(depth) {
		super();
		if (name === 'constructed')
			witness() && fs.openSync(object); // HERE constructed
	}
}

function generated() {
	return Job.call();
}

function constructed() {
	return Reflect.construct(Job, []);
}

async function awaited() {
	await null;
	return witness() && fs.openSync(object); // HERE awaited
}

function later() {
	return setTimeout(function in_timer() {
		return witness() && fs.openSync(object); // HERE later
	}, 1);
}

function from_native() {
	return JSON.stringify({
		toJSON() {
			return witness() && fs.openSync(object); // HERE from_native
		},
	});
}

function at_exit() {
	process.on('exit', function ends() {
		return witness() && fs.openSync(object); // HERE at_exit
	});
}

eval(name)();
