#!/bin/sh
# Does `make install` put everything where PREFIX and DESTDIR say, and does `make uninstall` take it all away? Prints TAP.
set -u

root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
count=0
failed=0

ok() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		sed 's/^/# /' "$work/log"
	fi
}

there() {
	[ -s "$work/usr/$1" ]
	ok $? "$1"
}

cd "$root" || exit 1
env -u MAKEFLAGS -u MAKELEVEL make -s install PREFIX=/usr DESTDIR="$work" >"$work/log" 2>&1
ok $? "make install"
"$work/usr/bin/bailiff" --version >"$work/log" 2>&1
ok $? "the installed program runs"
"$work/usr/bin/bailiff" doctor --attack >"$work/log" 2>&1
ok $? "doctor --attack finds the installed attacks, and none gets through"
for page in man/*.[1-8]; do
	there "share/man/man${page##*.}/${page##*/}"
done
for schema in policies/schema/*.json; do
	there "share/bailiff/schema/${schema##*/}"
done
for file in policies/examples/tool-call/*; do
	there "share/bailiff/${file#policies/}"
done
BAILIFF="$work/usr/bin/bailiff" TMPDIR="$work" "$work/usr/share/bailiff/examples/tool-call/call_tool.sh" \
	"$work/usr/share/bailiff/examples/tool-call/tool-call.json" policies/examples/tool-call/program.py policies/examples/tool-call/input \
	"$work/result" >"$work/log" 2>&1
ok $? "the installed host in shell runs a program under the installed policy"
there share/bash-completion/completions/bailiff

env -u MAKEFLAGS -u MAKELEVEL make -s uninstall PREFIX=/usr DESTDIR="$work" >"$work/log" 2>&1
ok $? "make uninstall"
find "$work/usr" ! -type d >"$work/log"
[ ! -s "$work/log" ]
ok $? "leaves no file behind"

echo "1..$count"
exit $failed
