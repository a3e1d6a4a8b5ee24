#!/bin/bash
# C01: tools killed in the middle of reading leave nothing behind that stops
# others: 60 of them one after the other, 20 at once; C02: a stopped one
# keeps no transaction of the daemon's.
# timeout: 300
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
for i in range(400):
    put('m%d' % i, pattern(i, 20000), sync=False)
END
down
for verb in verify "dump --json" "recover --list"; do
	for i in {1..20}; do
		# shellcheck disable=SC2086 # verb and option
		"$RS_BUILD/tools/rspoolctl" $verb "$store" >/dev/null 2>&1 &
		sleep "0.0$((i % 10))"
		kill -KILL $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
done
up
pids=()
for i in {1..20}; do
	"$RS_BUILD/tools/rspoolctl" status "$mnt" --json >"$work/s$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || [ $? = 4 ] || fail "one of 20 status commands failed"
done
py <<'END'
for i in range(400):
    same(pattern(i, 20000), get('m%d' % i), 'm%d' % i)
END
down
spool_verify
