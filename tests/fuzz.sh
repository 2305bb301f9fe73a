#!/bin/sh
# Every fuzzer under libFuzzer with both sanitizers: tests/fuzz.sh BUILD SECONDS
#
# What a fuzzer has learned stays in BUILD/corpus. Status 0 when none found anything.
set -eu

build="$1"
seconds="$2"
clang="${CLANG:-clang}"
command -v "$clang" >/dev/null || { echo "fuzz.sh: $clang is not installed (make deps)" >&2; exit 1; }

failed=0
mkdir -p "$build/libfuzzer"
for source in tests/fuzz/fuzz_*.c; do
	name="$(basename "$source" .c)"
	mkdir -p "$build/corpus/$name"
	"$clang" -std=gnu11 -D_GNU_SOURCE -Itracer -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o "$build/libfuzzer/$name" "$source" tracer/base/*.c tracer/policy/*.c tracer/verdict/*.c "$build/shipped_policies.c" \
		-lcjson -lseccomp -lnettle
	echo "$name: $seconds s"
	"$build/libfuzzer/$name" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
		-artifact_prefix="$build/corpus/$name-" "$build/corpus/$name" 2>"$build/corpus/$name.log" || failed=1
	grep -E '^(stat::number_of_executed_units|SUMMARY|==.*ERROR)' "$build/corpus/$name.log" || failed=1
done
exit $failed
