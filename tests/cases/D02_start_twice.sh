#!/bin/bash
# D02: started twice, also at once: one mount and one daemon, the second
# start says so and does no harm. A read-only store is refused.
# timeout: 300
. "$(dirname "$0")/lib.sh"

stacked()
{
	awk -v at="$mnt" '$5 == at' /proc/self/mountinfo | wc -l
}

plain
new_spool
# A lock or a pipe of the script that starts it isn't the daemon's.
exec 9>"$work/held"
up
exec 9>&-
! find "/proc/$daemon/fd" -lname "$work/held" | grep -q . ||
	fail "the daemon keeps a descriptor of its starter"
echo mail >"$mnt/x"
rc=0
rspoolctl mount "$store" "$mnt" >"$work/out" 2>"$work/err" || rc=$?
[ -s "$work/err" ] || [ -s "$work/out" ] || fail "the second start is silent"
same 1 "$(stacked)" "mounts"
same "$daemon" "$(spool_pid)" "the daemon"
same mail "$(cat "$mnt/x")" "the file"
say "second start: exit code $rc, $(cat "$work/out" "$work/err")"
down

for round in 1 2 3 4 5; do
	pids=()
	for i in 1 2 3 4; do
		rspoolctl mount "$store" "$mnt" >"$work/out$i" 2>&1 &
		pids+=($!)
	done
	good=0
	for pid in "${pids[@]}"; do
		wait "$pid" && good=$((good + 1))
	done
	[ $good -ge 1 ] || fail "round $round: none of four started"
	same 1 "$(stacked)" "round $round: mounts"
	same 1 "$(spool_pid | wc -l)" "round $round: daemons"
	same mail "$(cat "$mnt/x")" "round $round: the file"
	daemon=$(spool_pid)
	down
done

mkdir "$work/ro"
mount --bind "$store" "$work/ro"
mount -o remount,bind,ro "$work/ro"
refused rspoolctl mount "$work/ro" "$mnt"
[[ $said = *ead-only* ]] || fail "read-only store: '$said'"
umount "$work/ro"
up
same mail "$(cat "$mnt/x")" "after all"
down
