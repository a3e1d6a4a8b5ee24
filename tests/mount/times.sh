#!/bin/bash
# Times come back as they were set, to the nanosecond (A03, A18); atime is kept
# by the daemon under relatime rules (A04).
# labels: san
. "$(dirname "$0")/lib.sh"

mtimes()
{
	find "$mnt" -type f -printf '%f %T@\n' | sort
}

atime()
{
	stat -c %.9X "$mnt/flush/ex"
}

# so that the next read reaches the daemon
drop()
{
	dd "if=$mnt/flush/ex" iflag=nocache count=0 status=none
}

new_store
up
"$posix" utimes "$mnt"

# 200 deferred files with their next try ahead, fsynced, a crash.
mkdir "$mnt/deferred" "$mnt/flush"
now=$(date +%s)
for i in {1..200}; do
	echo "mail $i" >"$mnt/deferred/$i"
	touch -d "@$((now + 4000 + i)).$((123456789 + i))" "$mnt/deferred/$i"
done
# and some that are old and from before 1970 or after 2106
touch -d @-1.5 "$mnt/deferred/1"
touch -d @5000000000.000000001 "$mnt/deferred/2"
find "$mnt/deferred" -type f -exec sync {} +
mtimes >"$work/before"
crash
recover
up
mtimes >"$work/after"
same_tree "$work/before" "$work/after" "mtimes after a crash"

# A write, futimens, close; then nothing may put "now" in its place.
python3 - "$mnt/deferred/x" $((now + 9000)) <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(fd, b"mail")
os.utime(fd, ns=(1, int(sys.argv[2]) * 10**9 + 7))
os.close(fd)
END
sleep 2
same "$((now + 9000)).000000007" "$(stat -c %.9Y "$mnt/deferred/x")" \
	"an mtime two seconds after the close"

# relatime: a read that reaches the daemon moves an atime older than a day
echo log >"$mnt/flush/ex"
touch -a -d @1000000000.5 "$mnt/flush/ex"
mtime=$(stat -c %.9Y "$mnt/flush/ex")
same 1000000000.500000000 "$(atime)" "an atime that was set"
drop
head -c 1 "$mnt/flush/ex" >/dev/null
[ "$(atime)" != 1000000000.500000000 ] || fail "a read leaves atime"
same "$mtime" "$(stat -c %.9Y "$mnt/flush/ex")" "mtime after reading"
# now atime is newer than mtime: the next read leaves it
atime=$(atime)
drop
head -c 1 "$mnt/flush/ex" >/dev/null
same "$atime" "$(atime)" "a recent atime after another read"
# set alone it stays, also over a crash
touch -a -d @1100000000.25 "$mnt/flush/ex"
same "$mtime" "$(stat -c %.9Y "$mnt/flush/ex")" "mtime when atime is set"
"$ctl" sync "$mnt"
crash
recover
up noatime
same 1100000000.250000000 "$(atime)" "a set atime after a crash"
head -c 1 "$mnt/flush/ex" >/dev/null
ls "$mnt/flush" >/dev/null
same 1100000000.250000000 "$(atime)" "atime on a noatime mount"
down
