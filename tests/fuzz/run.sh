#!/usr/bin/env bash
# Run one fuzz target for RS_FUZZ_SECONDS (60) from its corpus in the tree;
# what it finds new stays out of the tree. usage: run.sh PROGRAM NAME
set -euo pipefail

program=$1
name=$2
corpus=$RS_SRC/tests/fuzz/corpus/$name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -d "$corpus" ] || {
	echo "fuzz: no corpus in 'tests/fuzz/corpus/$name'" >&2
	exit 1
}
mkdir "$work/new"
"$program" -max_total_time="${RS_FUZZ_SECONDS:-60}" -timeout=20 \
	-rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 \
	-artifact_prefix="$work/" "$work/new" "$corpus" >"$work/log" 2>&1 || {
	tail -60 "$work/log"
	for file in "$work"/crash-* "$work"/timeout-* "$work"/oom-*; do
		[ -e "$file" ] || continue
		echo "input that did it, in base64:"
		base64 "$file"
	done
	exit 1
}
grep -E 'stat::number_of_executed_units|stat::new_units_added' "$work/log"
