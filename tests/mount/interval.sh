#!/bin/bash
# interval: fsync costs no flush, all leaves by itself with the next cut, and
# what is lost at a power cut is the end: never something from the middle.
# timeout: 180
# shellcheck source=lib_disk.sh
. "$(dirname "$0")/lib_disk.sh"

disk_store --capacity 32M --inodes 20000

# mail FROM TO: files with a line each, synced one by one, with their directory
mail()
{
	python3 -I -c '
import os, sys
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
top = os.open(path, os.O_RDONLY)
for i in range(first, last):
    fd = os.open(f"{path}/tmp", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    os.write(fd, b"mail %d\n" % i)
    os.fsync(fd)
    os.close(fd)
    os.rename(f"{path}/tmp", f"{path}/{i}")
    os.fsync(top)' "$mnt/q" "$@"
}

# wholes: files 0 to n-1 are there and whole, nothing else; sets $n
wholes()
{
	n=0
	while [ -e "$mnt/q/$n" ]; do
		same "mail $n" "$(cat "$mnt/q/$n")" "file $n"
		n=$((n + 1))
	done
	rm -f "$mnt/q/tmp"
	same $n "$(find "$mnt/q" -type f | wc -l)" "files: $n in a row"
}

# as long as nobody cuts, 200 syncs cost nothing
up policy=interval,flush_interval=3600000
mkdir "$mnt/q"
"$ctl" sync "$mnt"
flushes=$(status ring flushes)
mail 0 200
same "$flushes" "$(status ring flushes)" "flushes for 400 fsyncs"
within 200 300 "$(status at_risk interval files)" "files at risk"
# and a power cut loses them, all
power_cut 1
up policy=interval,flush_interval=3600000
wholes
same 0 $n "files after the cut"

# what came and went within one interval costs nothing at all
"$ctl" sync "$mnt"
frames=$(status ring bytes)
mail 0 100
rm "$mnt"/q/*
"$ctl" sync "$mnt"
bytes=$(($(status ring bytes) - frames))
within 0 20000 "$bytes" "bytes in the ring for 100 files that came and went"

# but its directory's times are in the log with a barrier and with an orderly
# end, as if each change had been
times()
{
	stat -c '%.Y %.Z' "$mnt/q"
}
mail 0 3
rm "$mnt"/q/*
want=$(times)
"$ctl" sync "$mnt"
power_cut 3
up policy=interval,flush_interval=3600000
same "$want" "$(times)" "the directory's times after sync and cut"
mail 0 3
rm "$mnt"/q/*
want=$(times)
down
up policy=interval,flush_interval=3600000
same "$want" "$(times)" "the directory's times after an orderly end"

# by itself: two flushes after the last of these they are on disk
"$ctl" policy "$mnt" flush_interval=200
mail 0 100
flushes=$(status ring flushes)
two_more()
{
	[ "$(status ring flushes)" -ge $((flushes + 2)) ] ||
		{ mail $last $((last + 1)) && last=$((last + 1)) && false; }
}
last=100
wait_for 60 two_more || fail "the interval cuts nothing"
mail $last $((last + 300))
power_cut 2
up policy=interval
wholes
within 100 $((last + 300)) $n "files after the cut, of $((last + 300))"
say "$n of $((last + 300)) files after the second cut"
down
