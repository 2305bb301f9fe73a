#!/bin/sh
# Runs a program that somebody else wrote under bailiff, and says how that went: call_tool.sh POLICY PROGRAM INPUT RESULT
#
# PROGRAM and INPUT are copied into the private folder of the run, and what it leaves there as `result` is copied out to
# RESULT. Needs sed and no JSON tool. The variable BAILIFF names bailiff where it is not in PATH.
set -eu

[ $# -eq 4 ] || { echo "usage: call_tool.sh POLICY PROGRAM INPUT RESULT" >&2; exit 2; }
bailiff="${BAILIFF:-bailiff}"

# In a folder of our own, so that no verdict of an earlier run can be taken for this one's.
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Without --capture the output goes where ours goes: here into files, which hold no more than limits.output. The exit status
# is looked at only for whether there was one: 122 to 127 may be the program's own.
"$bailiff" run -p "$1" -o "$folder/verdict" --memory 512M --wall 20s --put "$2:program.py" --put "$3:input" \
	--get "result:$folder/result" -- /usr/bin/python3 program.py </dev/null >"$folder/output" 2>"$folder/errors" || true

# The verdict is one line and begins with these keys in this order, and nothing in front of `status` and `rule` comes from the
# program. It is in a file that the program cannot reach; text on standard error proves nothing, for the program can write it.
start='^{"schema":"bailiff\.verdict/1","bailiff":"[^"]*","status"'
status=""
rule="-"
if [ -s "$folder/verdict" ]; then
	status="$(sed -n "s|$start:\"\([a-z_]*\)\",.*|\1|p" "$folder/verdict")"
	rule="$(sed -n "s|$start:\"[a-z_]*\",\"rule\":\"\([a-z_]*\)\",.*|\1|p" "$folder/verdict")"
fi

case "$status" in
completed) advice="" ;; # the one with which output and result may be taken for what was asked for
runtime_error) advice="it failed by itself: debug the program" ;;
timeout) advice="it took too long: find the loop, or allow more time" ;;
resource_limit) advice="it wanted too much: find out why, or raise the limit" ;;
policy_blocked) advice="it tried what is not listed" ;;
*)
	# bailiff itself failed (`status` is null, or there is no verdict), or this is a status of a later version.
	echo error
	cat "$folder/errors" >&2
	[ ! -s "$folder/verdict" ] || "$bailiff" explain "$folder/verdict" >&2
	exit 2
	;;
esac

echo "$status ${rule:--}"
if [ -n "$advice" ]; then
	echo "  $advice"
	"$bailiff" explain "$folder/verdict" | sed 's/^/  /'
fi
echo "output $(($(wc -c <"$folder/output"))) bytes"
# The file is there only where bailiff has copied it.
if [ -f "$folder/result" ]; then
	cp "$folder/result" "$4"
	echo "result $(($(wc -c <"$4"))) bytes"
else
	echo "no result"
fi
[ "$status" = completed ] || exit 1
