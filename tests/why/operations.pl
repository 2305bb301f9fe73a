# One blocked operation per sub; the line that makes it carries HERE and the operation's name. Usage: operations.pl NAME OBJECT
# [PROCESS]. caller() is printed before, from the same line, as a witness.
use strict;
use warnings;
use IO::File;
use IO::Socket::INET;
use Socket;

our ($name, $object, $outsider) = @ARGV;
$| = 1;

sub witness {
	for (my $at = 0; my @frame = caller($at); $at++) {
		my @around = caller($at + 1);
		print "witness $frame[1]:$frame[2]:", (@around ? $around[3] : ''), "\n";
	}
	return 1;
}

sub open_read { return witness() && open(my $file, '<', $object); } # HERE open_read
sub open_write { return witness() && open(my $file, '>', $object); } # HERE open_write
sub open_append { return witness() && open(my $file, '>>', $object); } # HERE open_append
sub open_object { return witness() && IO::File->new($object, 'r'); } # HERE open_object
sub do_unlink { return witness() && unlink($object); } # HERE do_unlink
sub do_rename { return witness() && rename($object, 'renamed'); } # HERE do_rename
sub do_mkdir { return witness() && mkdir($object); } # HERE do_mkdir
sub do_rmdir { return witness() && rmdir($object); } # HERE do_rmdir
sub do_chmod { return witness() && chmod(0600, $object); } # HERE do_chmod
sub do_symlink { return witness() && symlink('/dev/null', $object); } # HERE do_symlink
sub do_truncate { return witness() && truncate($object, 3); } # HERE do_truncate
sub do_utime { return witness() && utime(undef, undef, $object); } # HERE do_utime
sub do_stat { return witness() && stat($object); } # HERE do_stat
sub read_folder { return witness() && opendir(my $folder, $object); } # HERE read_folder
sub do_require { return witness() && require $object; } # HERE do_require
sub connects { return witness() && IO::Socket::INET->new($object); } # HERE connects
sub run { return witness() && system($object, '1'); } # HERE run
sub run_exec { return witness() && exec($object, '1'); } # HERE run_exec
sub backticks { return witness() && `$object`; } # HERE backticks
sub piped { return witness() && open(my $pipe, '-|', $object, '1'); } # HERE piped
sub do_kill { return witness() && kill('TERM', $outsider); } # HERE do_kill

sub binds {
	socket(my $server, PF_INET, SOCK_STREAM, 0);
	my ($host, $port) = split(/:/, $object);
	return witness() && bind($server, sockaddr_in($port, inet_aton($host))); # HERE binds
}

sub fork_child {
	if (!fork) {
		exit(witness() && open(my $file, '<', $object)); # HERE fork_child
	}
	return wait;
}

sub order {
	witness() && open(my $file, '<', $object); # HERE sorted
	return 0;
}

sub sorted {
	my @items = sort { order() } (1, 2);
	return scalar(@items);
}

sub on_signal {
	return witness() && open(my $file, '<', $object); # HERE signals
}

sub signals {
	$SIG{USR1} = \&on_signal;
	kill('USR1', $$);
	return 1;
}

sub Job::DESTROY {
	return main::witness() && open(my $file, '<', $main::object); # HERE destroyed
}

sub destroyed {
	my $job = bless({}, 'Job');
	undef $job;
	return 1;
}

sub main {
	no strict 'refs';
	return &{$name}();
}

main();
