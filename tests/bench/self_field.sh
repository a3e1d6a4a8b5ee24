#!/bin/bash
# field: real mail servers, all of whose mail comes through, and nothing is left
# of it, whether it ends by itself or is killed.
# timeout: 300
# lock: mta
set -euo pipefail

field=$RS_SRC/tests/bench/field
work=$(mktemp -d "${TMPDIR:-/tmp}/self.XXXXXX")
work=$(readlink -f "$work")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/tmp"

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

left()
{
	pgrep -f "$work/tmp" || losetup -a | grep -F "$work/tmp" ||
		grep -F "$work/tmp" /proc/self/mountinfo
}

gone()
{
	local i

	for ((i = 0; i < 600; i++)); do
		[ -n "$(left)" ] || return 0
		sleep 0.1
	done
	fail "left after $1: $(left)"
}

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
[ -z "$(ls "$work/tmp")" ] || fail "files are left: $(ls "$work/tmp")"

# ended SIGNAL: in the middle of a measurement
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
	gone "SIG$1"
}

ended TERM
[ -z "$(ls "$work/tmp")" ] || fail "files are left: $(ls "$work/tmp")"
# Files are left then, but nothing else.
ended KILL

rc=0
"$field" --peers nosuch 2>"$work/said" || rc=$?
[ "$rc:$(cat "$work/said")" = "2:field: unknown 'nosuch'" ] ||
	fail "a peer that doesn't exist: $rc"
