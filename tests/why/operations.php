<?php
// One blocked operation per function; the line that makes it carries HERE and the operation's name. Usage: operations.php NAME
// OBJECT [PROCESS]. debug_backtrace() is printed before, from the same line, as a witness.

[, $name, $object, $outsider] = $argv;

// A call has the place where it was made, which lies in the function of the next; one that PHP itself makes has none.
function witness() {
	$calls = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
	foreach ($calls as $at => $call) {
		$around = $calls[$at + 1] ?? [];
		$function = (isset($around['class']) ? "{$around['class']}::" : '') . ($around['function'] ?? '');
		if (isset($call['file']))
			echo "witness {$call['file']}:{$call['line']}:$function\n";
	}
	return true;
}

function open_read() { return witness() && fopen($GLOBALS['object'], 'r'); } // HERE open_read
function open_write() { return witness() && fopen($GLOBALS['object'], 'w'); } // HERE open_write
function open_append() { return witness() && fopen($GLOBALS['object'], 'a'); } // HERE open_append
function open_exclusive() { return witness() && fopen($GLOBALS['object'], 'x'); } // HERE open_exclusive
function open_object() { return witness() && new SplFileObject($GLOBALS['object']); } // HERE open_object
function get_contents() { return witness() && file_get_contents($GLOBALS['object']); } // HERE get_contents
function put_contents() { return witness() && file_put_contents($GLOBALS['object'], 'x'); } // HERE put_contents
function read_lines() { return witness() && file($GLOBALS['object']); } // HERE read_lines
function read_settings() { return witness() && parse_ini_file($GLOBALS['object']); } // HERE read_settings
function do_copy() { return witness() && copy('/dev/null', $GLOBALS['object']); } // HERE do_copy
function do_unlink() { return witness() && unlink($GLOBALS['object']); } // HERE do_unlink
function do_rename() { return witness() && rename($GLOBALS['object'], 'renamed'); } // HERE do_rename
function do_mkdir() { return witness() && mkdir($GLOBALS['object']); } // HERE do_mkdir
function do_rmdir() { return witness() && rmdir($GLOBALS['object']); } // HERE do_rmdir
function do_chmod() { return witness() && chmod($GLOBALS['object'], 0600); } // HERE do_chmod
function do_touch() { return witness() && touch($GLOBALS['object']); } // HERE do_touch
function do_symlink() { return witness() && symlink('/dev/null', $GLOBALS['object']); } // HERE do_symlink
function read_folder() { return witness() && scandir($GLOBALS['object']); } // HERE read_folder
function each_of_folder() { return witness() && new DirectoryIterator($GLOBALS['object']); } // HERE each_of_folder
function temporary_file() { return witness() && tempnam($GLOBALS['object'], 'made'); } // HERE temporary_file
function do_include() { return witness() && include $GLOBALS['object']; } // HERE do_include
function do_require() { return witness() && require_once $GLOBALS['object']; } // HERE do_require
function connects() { return witness() && fsockopen(...explode(':', $GLOBALS['object'])); } // HERE connects
function connect_path() { return witness() && stream_socket_client("unix://{$GLOBALS['object']}"); } // HERE connect_path
function connect_udp() { return witness() && stream_socket_client("udp://{$GLOBALS['object']}"); } // HERE connect_udp
function binds() { return witness() && stream_socket_server("tcp://{$GLOBALS['object']}"); } // HERE binds
function url() { return witness() && file_get_contents("http://{$GLOBALS['object']}/"); } // HERE url
function run() { return witness() && proc_open([$GLOBALS['object'], '1'], [], $pipes); } // HERE run
function run_shell() { return witness() && exec('exit'); } // HERE run_shell
function do_system() { return witness() && system('exit'); } // HERE do_system
function do_passthru() { return witness() && passthru('exit'); } // HERE do_passthru
function do_popen() { return witness() && popen('exit', 'r'); } // HERE do_popen
function backticks() { return witness() && `exit`; } // HERE backticks
function do_exec() { return witness() && pcntl_exec($GLOBALS['object'], ['1']); } // HERE do_exec
function do_kill() { return witness() && posix_kill((int) $GLOBALS['outsider'], SIGTERM); } // HERE do_kill

function fork_child() {
	if (pcntl_fork() === 0)
		exit(witness() && fopen($GLOBALS['object'], 'r')); // HERE fork_child
	pcntl_wait($status);
}

function signals() {
	pcntl_async_signals(true);
	pcntl_signal(SIGUSR1, 'on_signal');
	posix_kill(getmypid(), SIGUSR1);
	while (true)
		usleep(1000);
}

function on_signal() {
	return witness() && fopen($GLOBALS['object'], 'r'); // HERE signals
}

function sorted() {
	$items = [1, 2];
	usort($items, function ($left, $right) {
		return witness() && fopen($GLOBALS['object'], 'r'); // HERE sorted
	});
}

class Job {
	static function call() {
		return (new self)->made;
	}

	function __get($key) {
		foreach ($this->most() as $one)
			continue;
	}

	function most() {
		yield 1;
		yield from $this->rest();
	}

	function rest() {
		yield witness() && fopen($GLOBALS['object'], 'r'); // HERE generated
	}

	function __destruct() {
		if ($GLOBALS['name'] === 'destroyed')
			witness() && fopen($GLOBALS['object'], 'r'); // HERE destroyed
	}
}

function generated() {
	return Job::call();
}

function destroyed() {
	$job = new Job;
	$job = null;
}

function in_fiber() {
	$fiber = new Fiber(function ($suspended) {
		Fiber::suspend();
		return witness() && fopen($GLOBALS['object'], 'r'); // HERE in_fiber
	});
	$fiber->start(1);
	$fiber->resume();
}

function loads() {
	spl_autoload_register(function ($class) {
		witness() && include $GLOBALS['object']; // HERE loads
	});
	return class_exists('Unknown');
}

$name();
