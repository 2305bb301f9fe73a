#!/bin/sh
# Does deps.sh install exactly what is missing, ask for nothing when nothing is, and say what to type where it cannot? Its
# dpkg-query, apt-get, id and sudo are stand-ins here. Prints TAP.
set -u

root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
count=0
failed=0

same() {
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1"
	else
		failed=1
		printf 'not ok %d - %s\n#   actual: %s\n# expected: %s\n' "$count" "$1" "$2" "$3"
	fi
}

stand_in() {
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
	chmod +x "$work/$1"
}

# run UID INSTALLED...: deps.sh for the demo; what it calls goes to $work/calls, what it says to $work/said.
run() {
	uid="$1"
	shift
	: >"$work/calls"
	for package in "$@"; do echo "install ok installed $package"; done >"$work/installed"
	stand_in id "echo $uid"
	stand_in dpkg-query "cat '$work/installed'; exit 1"
	stand_in apt-get "echo apt-get \"\$@\" >>'$work/calls'"
	status=0
	CI=1 PATH="$work:/usr/bin:/bin" "$root/tests/deps.sh" demo </dev/null >"$work/out" 2>"$work/said" || status=$?
}

options="-q -o DPkg::Lock::Timeout=300"
stand_in sudo "exit 1"
all="gcc libc6-dev make libseccomp-dev libcjson-dev nettle-dev libdw-dev libelf-dev libunwind-dev python3"

# shellcheck disable=SC2086 # a list of words is meant
run 0 $all
same "nothing missing: no apt, not a word" "$status $(cat "$work/calls" "$work/out" "$work/said")" "0 "

run 0 libc6-dev make libseccomp-dev nettle-dev libdw-dev libelf-dev libunwind-dev python3
same "as root: exactly what is missing" "$status $(cat "$work/calls")" "0 apt-get $options update
apt-get $options install -y --no-install-recommends gcc libcjson-dev"
same "nothing on standard output" "$(cat "$work/out")" ""

run 1000 libc6-dev make libseccomp-dev nettle-dev libdw-dev libelf-dev libunwind-dev python3
same "without rights: no apt" "$status $(cat "$work/calls")" "1 "
same "but the line to type" "$(tail -n 1 "$work/said")" \
	"  apt-get update && apt-get install -y --no-install-recommends gcc libcjson-dev"

stand_in sudo "[ \"\$1\" = -n ] && shift; exec \"\$@\""
run 1000 gcc libc6-dev make libseccomp-dev libcjson-dev nettle-dev libdw-dev libelf-dev libunwind-dev
same "through sudo where that works" "$status $(tail -n 1 "$work/calls")" "0 apt-get $options install -y --no-install-recommends python3"

run 0 gcc libc6-dev libseccomp-dev libcjson-dev nettle-dev libdw-dev libelf-dev libunwind-dev python3 make-guile
same "another package of nearly the same name does not count" "$(tail -n 1 "$work/calls")" \
	"apt-get $options install -y --no-install-recommends make"

stand_in apt-get "exit 100"
PATH="$work:/usr/bin:/bin" CI=1 "$root/tests/deps.sh" demo </dev/null >"$work/out" 2>&1
same "a failed installation is a failure" "$?" 100

"$root/tests/deps.sh" everything >"$work/out" 2>&1
same "an unknown set is refused" "$?" 2
echo "1..$count"
exit $failed
