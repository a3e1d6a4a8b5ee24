#!/bin/bash
# interval: fsync costs no flush, all leaves by itself with the next cut, and
# what is lost at a power cut is the end: never something from the middle.
# timeout: 180
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"
disk_own_mounts "$0" "$@"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

disk_start "$work/disk.img" 400M --preset none
set_traps
disk_mkfs ext4
disk_mount -o noatime
store=$DISK_MNT/store
"$ctl" init "$store" --ring-size 16M --capacity 32M --inodes 20000 >/dev/null
sync -f "$DISK_MNT"

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

cut()
{
	disk_cut "$1"
	kill -KILL "$daemon"
	wait_for 60 ended "$daemon" || fail "can't kill the daemon"
	umount -l "$mnt"
	disk_reopen
	store=$DISK_MNT/store
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
cut 1
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
cut 2
up policy=interval
wholes
within 100 $((last + 300)) $n "files after the cut, of $((last + 300))"
say "$n of $((last + 300)) files after the second cut"
down
