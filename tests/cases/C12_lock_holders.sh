#!/bin/bash
# C12: owners that died with the lock, or live and don't let go: a start never
# hangs; it names who holds the store. A recover killed in mid-write, a stopped
# one, daemon and status at the same moment.
# timeout: 400
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
for i in range(1000):
    put('m%d' % i, pattern(i, 10000), sync=False)
END
rspoolctl sync "$mnt"
for round in {1..10}; do
	crash
	"$RS_BUILD/tools/rspoolctl" recover "$store" >/dev/null 2>&1 &
	sleep "0.0$((round % 10))"
	kill -KILL $! 2>/dev/null || true
	wait $! 2>/dev/null || true
	up
	py "$round" <<'END'
put('round' + sys.argv[1], pattern(1, 500000))
END
done

# Status at every moment of starts and ends.
(
	while [ ! -e "$work/stop" ] && kill -0 $$; do
		rc=0
		"$RS_BUILD/tools/rspoolctl" status "$mnt" >/dev/null 2>&1 ||
			rc=$?
		case $rc in
		0 | 1 | 3 | 4) ;;
		*) echo "$rc" >"$work/bad" ;;
		esac
	done
) &
asker=$!
for round in {1..10}; do
	down
	up
done
touch "$work/stop"
wait "$asker"
[ ! -e "$work/bad" ] || fail "status: exit code $(cat "$work/bad")"

# Somebody who holds the lock and doesn't go on, as a stopped tool would.
crash
flock -x "$store/rspool.id" sleep 60 &
holder=$!
locked()
{
	grep -q ":$(stat -c %i "$store/rspool.id") " /proc/locks
}
wait_for 10 locked || fail "no lock"
refused rspoolctl mount "$store" "$mnt"
[[ $said = *"$holder"* ]] || fail "not named: '$said'"
refused rspoolctl recover "$store"
[[ $said = *"$holder"* ]] || fail "not named: '$said'"
pkill -KILL -P "$holder"
wait "$holder" 2>/dev/null || true
up
py <<'END'
for i in range(1000):
    same(pattern(i, 10000), get('m%d' % i), 'm%d' % i)
for i in range(1, 11):
    same(pattern(1, 500000), get('round%d' % i), 'round %d' % i)
END
down
