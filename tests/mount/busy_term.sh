#!/bin/bash
# SIGTERM and umount with files still open (B08).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up flush_interval=3600000
echo one >"$mnt/x"
exec 7>>"$mnt/x"

# umount of a busy mount changes nothing and says who
expect 1 "$ctl" umount "$mnt"
grep -q "$$" "$work/err" "$work/out" || fail "the busy pid isn't named: $err"
mountpoint -q "$mnt" || fail "unmounted all the same"
echo two >>"$mnt/x"
kill -0 "$daemon" || fail "the daemon ended"
down_later=$(cat "$mnt/x")
same "one two" "$(tr '\n' ' ' <<<"$down_later" | sed 's/ $//')" "the file"

# SIGTERM: everything durable first, then detached, and an end in bounded time
kill -TERM "$daemon"
detached()
{
	! mountpoint -q "$mnt"
}
wait_for 60 detached || fail "still mounted after SIGTERM"
wait_for 120 ended "$daemon" || fail "a busy mount keeps the daemon for ever"
exec 7>&-
up ""
same "one two" "$(tr '\n' ' ' <"$mnt/x" | sed 's/ $//')" \
	"the file after SIGTERM without any fsync"

# SIGTERM when nobody is there: at once, clean
echo three >>"$mnt/x"
kill -TERM "$daemon"
wait_for 60 ended "$daemon" || fail "SIGTERM doesn't end the daemon"
! mountpoint -q "$mnt" || fail "mounted after SIGTERM"
"$ctl" recover "$store" --json >"$work/report"
up
same 3 "$(wc -l <"$mnt/x")" "lines after SIGTERM"
down

# The exit code of a daemon in the foreground tells the two apart.
run_foreground()
{
	rc=0
	"$rspoold" "$store" "$mnt" -f -o "$1" 2>"$work/daemon.err" &
	daemon=$!
	wait_for 60 mountpoint -q "$mnt" || fail "$(cat "$work/daemon.err")"
}
run_foreground flush_interval=1000
kill -TERM "$daemon"
wait "$daemon" || rc=$?
same 0 $rc "exit code of a daemon that ended in order"
run_foreground flush_interval=1000
exec 7<"$mnt/x"
kill -TERM "$daemon"
wait "$daemon" || rc=$?
same 4 $rc "exit code of a daemon that left a busy mount"
exec 7<&-
up
down
