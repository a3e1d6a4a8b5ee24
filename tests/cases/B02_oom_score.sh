#!/bin/bash
# B02, B04, D09: the daemon isn't the OOM killer's best target, isn't swapped
# and doesn't make memory reclaim wait for itself; D05: no more RAM than the
# machine or the cgroup has is promised.
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
# A container without CAP_SYS_RESOURCE may not lower it.
if (echo -1 >/proc/self/oom_score_adj) 2>/dev/null; then
	[ "$(cat "/proc/$daemon/oom_score_adj")" -lt 0 ] ||
		fail "oom_score_adj"
else
	say "oom_score_adj can't be lowered here"
fi
same 0 "$(sed -n 's/^VmSwap:[^0-9]*\([0-9]*\).*/\1/p' \
	"/proc/$daemon/status")" "kB in swap"
[ "$(sed -n 's/^VmLck:[^0-9]*\([0-9]*\).*/\1/p' \
	"/proc/$daemon/status")" -gt 1000 ] || fail "no memory is locked"
down
# More than any machine has.
refused rspoolctl mount "$store" "$mnt" -o ram=128T
[[ $said = *memory* || $said = *ram* ]] || fail "ram=128T: '$said'"
[ -z "$(spool_pid)" ] || fail "a daemon is left"
