#!/bin/bash
# run: one command makes a report, and nothing is left of it, whether it ends
# by itself, by a signal, or is killed.
# timeout: 300
set -euo pipefail

run=$RS_SRC/tests/bench/run
# shellcheck source=lib_self.sh
. "$(dirname "$0")/lib_self.sh"

# in a subshell or the background: it becomes run
start()
{
	exec env "TMPDIR=$work/tmp" "$run" --out "$work/out" --own-dir "$work/tmp" \
		--repeat 1 --growth 0 "$@"
}

(start --disks none --peers ext4,tmpfs,floor,rspool,rspool-apart --plays postfix:4,exim:4 \
	--seconds 1) >"$work/said" 2>&1 || fail "$(cat "$work/said")"
python3 - "$work/out/results.json" <<'END' || fail "$(cat "$work/said")"
import json, sys
cells = json.load(open(sys.argv[1]))["medians"]
assert len(cells) == 10, len(cells)
for c in cells:
    assert c["messages"] > 0 and c["msg_per_s"] > 0, c
    if c["peer"] in ("ext4", "rspool", "rspool-apart"):
        assert c["disk"]["flushes"] > 0 and c["disk"]["bytes"] > 0, c
    if c["peer"] in ("floor", "rspool"):
        assert c["round_trips"] > 10 and c["rss_kb"] > 0, c
END
grep -q '^| rspool | [0-9]' "$work/out/report.md" || fail "no table"
gone "a run"

# In the middle of a measurement of each kind; a KILL is the janitor's work.
for peer in rspool floor ext4 rspool-apart; do
	for signal in TERM KILL; do
		start --disks hdd --peers $peer --plays postfix:4 --seconds 60 \
			>"$work/said" 2>&1 &
		pid=$!
		for ((i = 0; i < 300; i++)); do
			pgrep -f "replay --procs 4.*$work/tmp" >/dev/null &&
				break
			sleep 0.1
		done
		kill -0 "$pid" || fail "$peer: $(cat "$work/said")"
		kill -$signal "$pid"
		wait "$pid" 2>/dev/null || true
		gone "SIG$signal under $peer"
	done
done
echo "run cleans up"
