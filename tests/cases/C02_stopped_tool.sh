#!/bin/bash
# C02: a tool that is stopped in the middle of its work doesn't make data.mdb
# grow: with a constant live set its size stays what was reserved. (Tools ask
# the daemon; none of them reads a store in use.)
# timeout: 300
. "$(dirname "$0")/lib.sh"

plain
new_spool --capacity 16M
up
reserved=$(stat -c %s "$store/data.mdb")
mkfifo "$work/pipe"
tools=()
for _ in 1 2 3; do
	"$RS_BUILD/tools/rspoolctl" status "$mnt" --json >"$work/pipe" 2>&1 &
	tools+=($!)
done
for verb in verify dump "recover --list"; do
	# shellcheck disable=SC2086 # verb and option
	refused rspoolctl $verb "$store"
	[[ $said = *use* ]] || fail "$verb of a store in use: '$said'"
done
kill -STOP "${tools[@]}" 2>/dev/null || true
py <<'END'
for i in range(3000):
    put('f%d' % (i % 50), pattern(i, 30000), flags=os.O_TRUNC, sync=i % 10 == 0)
END
rspoolctl sync "$mnt"
kill -KILL "${tools[@]}" 2>/dev/null || true
wait "${tools[@]}" 2>/dev/null || true
size=$(stat -c %s "$store/data.mdb")
[ "$size" -le $((reserved + 1048576)) ] ||
	fail "data.mdb grew from $reserved to $size bytes"
down
