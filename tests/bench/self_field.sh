#!/bin/bash
# field: real mail servers, all of whose mail comes through, and nothing is left
# of it, whether it ends by itself or is killed.
# timeout: 300
# lock: mta
set -euo pipefail

field=$RS_SRC/tests/bench/field
# shellcheck source=lib_self.sh
. "$(dirname "$0")/lib_self.sh"

run()
{
	env "TMPDIR=$work/tmp" "RS_FIELD_OWN=$work/tmp" "$field" \
		--out "$work/out" --disks "$1" --tables 1 --scale 5 \
		--peers "$2" >"$work/said" 2>&1
}

run none rspool,ext4 || { cat "$work/said"; fail "exit code $?"; }
python3 - "$work/out/field.jsonl" <<'END'
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
assert [r["peer"] for r in rows] == ["ext4", "rspool"], rows
for r in rows:
    assert r["sent"] == 50 == r["arrived"] and r["server_s"] >= r["client_s"] > 0, r
    assert r["after"]["flushes"] > r["before"]["flushes"], r
END
grep -q '^| rspool | ' "$work/out/field.md" || fail "no table"
gone "an orderly end"

# ended SIGNAL [held]: in the middle of a measurement
ended()
{
	local pid child i

	run own rspool &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		[ -z "$(pgrep -f "rspoold.*$work/tmp" || true)" ] || break
		sleep 0.1
	done
	child=$(pgrep -f "bash $field" | head -n 1) ||
		fail "it ended too early: $(cat "$work/said")"
	kill "-$1" "$child"
	wait "$pid" || true
	gone "SIG$1" "${2:-left}"
}

ended TERM
# Files are left then, but nothing else.
ended KILL held

rc=0
"$field" --peers nosuch 2>"$work/said" || rc=$?
[ "$rc:$(cat "$work/said")" = "2:field: unknown 'nosuch'" ] ||
	fail "a peer that doesn't exist: $rc"
