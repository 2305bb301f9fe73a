#!/bin/sh
# The CSV job under its policy, then three variants of it that misbehave: run.sh [BAILIFF [FOLDER]]
#
# FOLDER receives result.csv and the verdicts (a temporary one without it). Status 0 when all four came out as they should.
set -eu

here="$(cd "$(dirname "$0")" && pwd)"
bailiff="$(command -v "${1:-bailiff}")" || { echo "run.sh: there is no ${1:-bailiff}" >&2; exit 1; }
case "$bailiff" in /*) ;; *) bailiff="$PWD/$bailiff" ;; esac
if [ $# -ge 2 ]; then
	mkdir -p "$2"
	folder="$(cd "$2" && pwd)"
else
	folder="$(mktemp -d)"
	trap 'rm -rf "$folder"' EXIT
fi
cd "$folder"

# A home folder with a key that nobody will miss.
export HOME="$folder/home"
mkdir -p home/.ssh
echo "not a real key" >home/.ssh/id_rsa

# judged NAME COMMAND...: runs it under the policy; the verdict goes to NAME.verdict.json.
judged() {
	name="$1"
	shift
	"$bailiff" run -p "$here/csv-analysis.json" -o "$name.verdict.json" -- /usr/bin/python3 "$@"
}

# outcome NAME EXIT: "STATUS RULE EXIT" of a run.
outcome() {
	/usr/bin/python3 - "$1.verdict.json" "$2" <<-'END'
		import json, sys
		verdict = json.load(open(sys.argv[1]))
		print(verdict["status"], verdict["rule"] or "-", sys.argv[2])
	END
}

# variant EXPECTED NAME ARGUMENT...: one line for a variant; what it prints itself does not matter here.
variant() {
	expected="$1"
	name="$2"
	shift 2
	code=0
	judged "$name" "$here/$name.py" "$@" >"$name.output" 2>&1 || code=$?
	actual="$(outcome "$name" $code)"
	printf '%-30s %s\n' "$name.py" "$actual"
	[ "$actual" = "$expected" ] || { echo "run.sh: expected $expected" >&2; failed=1; }
}

failed=0
judged job "$here/job.py" || failed=1
echo
"$bailiff" explain job.verdict.json
echo
echo "Three variants that misbehave: status, rule, exit"
variant "policy_blocked policy_blocked_read 122" job_reads_key "$HOME/.ssh/id_rsa"
variant "policy_blocked policy_blocked_network 122" job_calls_metadata_service
variant "resource_limit resource_limit_output 123" job_prints_million_lines
if [ $# -ge 2 ]; then
	echo
	echo "The verdicts are in $2; in words:  $1 explain $2/job_reads_key.verdict.json"
fi
exit $failed
