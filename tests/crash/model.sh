#!/usr/bin/env bash
# Every cut by model: thousands of short sequences cut at a part of their
# points, and fewer that are cut at each. A failure prints an id such as
# crash:8812:37:5; "model -v crash:8812:37:5" replays that case alone.
set -euo pipefail

model=$RS_BUILD/tests/crash/model
if [ -n "${RS_SANITIZE:-}" ]; then
	"$model" -s 1 -n 150 -o 20 -e 6 -c 3 -t 80
	"$model" -p -s 1 -n 150 -o 20 -e 6 -c 3 -t 60
	exit
fi
# the seeds below 10000 are for the ordinary run, those above for the long one
"$model" -s 1 -n 3000 -o 16 -e 8 -c 3 &
first=$!
trap 'kill $first 2>/dev/null || true; wait' EXIT
"$model" -s 5000 -n 120 -o 40 -e 1 -c 4
# directories of all policies, and moves between them
"$model" -p -s 1 -n 1000 -o 40 -e 10 -c 3
wait $first
trap - EXIT
