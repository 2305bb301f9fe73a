# shellcheck shell=bash
# One blocked operation per function; the line that makes it carries HERE and the operation's name. Usage: operations.sh NAME OBJECT
# [PROCESS]. BASH_LINENO is printed before, from the same line, as a witness.
object=$2
outsider=${3:-0}

witness() {
	local at
	for ((at = 1; at < ${#FUNCNAME[@]}; at++)); do
		echo "witness ${BASH_SOURCE[at]}:${BASH_LINENO[at - 1]}:${FUNCNAME[at]}"
	done
}

read_file() {
	witness; true < "$object" # HERE read_file
}

write_file() {
	witness; echo 1 > "$object" # HERE write_file
}

append_file() {
	witness; echo 1 >> "$object" # HERE append_file
}

both() {
	witness; exec 5<> "$object" # HERE both
}

read_builtin() {
	witness; mapfile -t lines < "$object" # HERE read_builtin
	echo "${#lines[@]}"
}

# shellcheck disable=SC1090 # which file that is, is the caller's to say
source_file() {
	witness; . "$object" # HERE source_file
}

connect() {
	witness; echo 1 > "/dev/tcp/${object%:*}/${object##*:}" # HERE connect
}

send_to() {
	witness; echo 1 > "/dev/udp/${object%:*}/${object##*:}" # HERE send_to
}

run() {
	witness; "$object" # HERE run
}

run_exec() {
	witness; exec "$object" # HERE run_exec
}

substitution() {
	local text
	witness; text=$("$object") # HERE substitution
	echo "$text"
}

pipeline() {
	witness; "$object" | true # HERE pipeline
}

background() {
	witness; "$object" & # HERE background
	wait
}

inner() {
	witness; true < "$object" # HERE nested
}

nested() {
	for _ in 1 2; do
		inner
	done
}

on_trap() {
	witness; true < "$object" # HERE trapped
}

trapped() {
	trap on_trap USR1
	kill -USR1 $$
	true
}

do_kill() {
	witness; kill "$outsider" # HERE do_kill
}

main() {
	"$1"
}

main "$1"
