#!/bin/sh
# The list in bailiff.1 of calls that answer ENOSYS is the table's, no more and no less. Prints TAP.
#
#     man_enosys.sh [PAGE [TABLE]]
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

page=${1:-man/bailiff.1}
table=${2:-tracer/base/syscalls.def}
section='.Sh SYSTEM CALLS THAT ANSWER ENOSYS'

names_in_page()
{
	awk -v section="$section" '
		/^\.Sh / { inside = ($0 == section); next }
		inside && /^\.Sy / { for (i = 2; i <= NF; i++) if ($i != ",") print $i }
	' "$1" | sort
}

names_in_table()
{
	awk -F'[(,]' '/^SYSCALL\(/ { gsub(/[ \t]/, ""); if ($4 == "NOSYS") print $3 }' "$1" | sort
}

count=0
report()
{
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		echo "$2" | sed 's/^/#   /'
		failed=1
	fi
}

failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
names_in_page "$page" >"$scratch/page"
names_in_table "$table" >"$scratch/table"

# An empty list on either side would make the comparisons below pass for nothing.
report "the page lists calls" "$([ -s "$scratch/page" ] || echo "no .Sy line under '$section' in $page")"
report "the table has NOSYS rows" "$([ -s "$scratch/table" ] || echo "no NOSYS row in $table")"
report "no call is listed twice" "$(uniq -d "$scratch/page")"
report "every NOSYS row is in the page" "$(comm -13 "$scratch/page" "$scratch/table")"
report "every call in the page is a NOSYS row" "$(comm -23 "$scratch/page" "$scratch/table")"
echo "1..$count"
exit "$failed"
