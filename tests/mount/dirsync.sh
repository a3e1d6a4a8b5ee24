#!/bin/bash
# dirsync=strict and dirsync=caller: what each covers, who waits where, and
# what it costs in flushes.
# timeout: 300
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"
disk_own_mounts "$0" "$@"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

disk_start "$work/disk.img" 400M --times flush=15000
set_traps
disk_mkfs ext4
disk_mount
store=$DISK_MNT/store
"$ctl" init "$store" --ring-size 16M --capacity 32M --inodes 20000 >/dev/null

scene()
{
	python3 "$here/dirsync.py" "$1" "$mnt/$2" \
		"$RS_BUILD/tests/disk/disksim" "$DISK_SOCK" ||
		fail "dirsync of '$2'"
}

# flushes for 20 callers that send 10 messages each through one directory
storm()
{
	local before after

	before=$(status ring flushes)
	python3 "$here/dirsync.py" storm "$mnt/$1" 20 10 || fail "storm in '$1'"
	after=$(status ring flushes)
	flushes=$((after - before))
	say "$1: $flushes flushes for 200 messages of 20 callers"
}

up flush_interval=3600000,policy=/caller:dirsync=caller
mkdir "$mnt/caller" "$mnt/strict" "$mnt/set"
"$ctl" sync "$mnt"
scene strict strict
scene caller caller
# at run time, and kept over a crash
"$ctl" policy "$mnt" /set dirsync=caller
same caller "$("$ctl" policy "$mnt" /set --json | json dirsync)" "what was set"
crash
up flush_interval=3600000,policy=/caller:dirsync=caller
same caller "$("$ctl" policy "$mnt" /set --json | json dirsync)" \
	"what was set before the crash"
scene caller set
"$ctl" policy "$mnt" /set dirsync=strict
rm "$mnt"/set/*
"$ctl" sync "$mnt"
scene strict set

storm strict
# the kernel lets them in one by one; now and then the flush of the one
# before has covered all there was
within 100 260 "$flushes" "flushes under strict"
storm caller
within 10 80 "$flushes" "flushes under caller"
down

# callers outside of the daemon's namespace of processes: no thread ids
unshare --pid --fork --kill-child "$rspoold" -f "$store" "$mnt" \
	-o flush_interval=3600000,dirsync=caller 2>"$work/log" &
serves()
{
	"$ctl" status "$mnt" >/dev/null 2>&1
}
wait_for 60 serves || fail "no mount: $(cat "$work/log")"
mkdir "$mnt/outside"
"$ctl" sync "$mnt"
scene outside outside
"$ctl" umount "$mnt"
wait_for 60 ended $! || fail "the daemon in its namespace goes on"

up flush_interval=3600000,dirsync=caller
mkdir "$mnt/poison"
"$ctl" sync "$mnt"
scene poison poison
umount -l "$mnt"
wait_for 60 ended "$daemon" || fail "the poisoned daemon goes on"
