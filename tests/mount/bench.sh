#!/bin/bash
# rspoolctl bench: a line for each policy, and nothing left behind, also
# when it is stopped in the middle.
. "$(dirname "$0")/lib.sh"

disk=$work/disk
mkdir "$disk"

"$ctl" bench --seconds 1 --json "$disk" >"$work/bench.json"
python3 - "$work/bench.json" <<'END'
import json, sys

top = json.load(open(sys.argv[1]))
by = {line['policy']: line for line in top['results']}
assert list(by) == ['plain', 'volatile', 'interval', 'fsync', 'rename',
                    'always'], list(by)
assert top['flush_us'] > 0
for line in by.values():
    assert line['msg_per_s'] > 0, line
    assert line['p50_us'] <= line['p99_us'] <= line['max_us'], line
assert by['volatile']['flushes_per_msg'] < 0.01, by['volatile']
assert 0 < by['fsync']['flushes_per_msg'] <= 1.1, by['fsync']
assert by['always']['flushes_per_msg'] > by['fsync']['flushes_per_msg'], by
END
[ -z "$(ls -A "$disk")" ] || fail "left behind: $(ls -A "$disk")"

"$ctl" bench --seconds 5 "$disk" >"$work/out" 2>"$work/err" &
pid=$!
# until it measures in the store
for _ in {1..300}; do
	compgen -G "$disk/*/store/rspool.id" >/dev/null && break
	kill -0 $pid || fail "ended early: $(cat "$work/err")"
	sleep 0.2
done
kill -TERM $pid
rc=0
wait $pid || rc=$?
same 1 $rc "exit code when stopped"
[ -z "$(ls -A "$disk")" ] || fail "left behind: $(ls -A "$disk")"

rc=0
"$ctl" bench --seconds x "$disk" 2>"$work/err" || rc=$?
same 2 $rc "a bad number"
rc=0
"$ctl" bench "$work/not-there" 2>"$work/err" || rc=$?
same 1 $rc "no such directory"
