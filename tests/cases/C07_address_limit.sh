#!/bin/bash
# C07: with a limit of the address space the daemon either takes a smaller map
# or says so; no mount is left half made, and no limit, all is well.
. "$(dirname "$0")/lib.sh"

[ -z "${RS_SANITIZE:-}" ] || {
	echo "the sanitizers themselves need terabytes of addresses"
	exit 0
}
plain
new_spool
up
echo mail >"$mnt/x"
down
for kb in 4000000 1000000 300000 100000; do
	rc=0
	(
		ulimit -v "$kb"
		timeout 60 "$RS_BUILD/tools/rspoolctl" mount "$store" "$mnt"
	) >"$work/out" 2>"$work/err" || rc=$?
	if [ $rc = 0 ]; then
		same mail "$(cat "$mnt/x")" "with $kb kB"
		daemon=$(spool_pid)
		down
	else
		[ $rc -lt 124 ] || fail "with $kb kB: ended with $rc"
		same 1 "$(wc -l <"$work/err")" "lines on stderr"
		! mountpoint -q "$mnt" || fail "half a mount with $kb kB"
		[ -z "$(spool_pid)" ] || fail "a daemon is left"
	fi
	say "$kb kB: exit code $rc $(cat "$work/err")"
done
spool_verify
up
same mail "$(cat "$mnt/x")" "without a limit"
down
