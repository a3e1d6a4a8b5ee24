#!/bin/bash
# Frame, flush, only then the answer; one flush a group on ext4 and xfs; many
# fsyncs a flush when flushes are slow.
# timeout: 300
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"
disk_own_mounts "$0" "$@"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_trace.sh
. "$(dirname "$0")/lib_trace.sh"

new_store
up flush_interval=3600000
mkdir "$mnt/dir"
"$ctl" sync "$mnt"
trace fsync "$posix" sync-call "$mnt" fsync plain
trace fsyncdir "$posix" sync-call "$mnt/dir" fsyncdir entry
trace write "$posix" sync-call "$mnt" o_dsync dsync
down
rm -r "$store"

# frames and flushes of the ring as the daemon counts them
ring()
{
	status ring "$1"
}

# One client, N fsyncs: N groups, N flushes, and the disk sees no more than
# these, but for a filesystem's own commit every few seconds.
one_flush_a_group()
{
	local type=$1 n=200 frames flushes disk

	disk_start "$work/$type.img" 400M --preset none
	set_traps
	disk_mkfs "$type"
	disk_mount
	store=$DISK_MNT/store
	"$ctl" init "$store" --ring-size 16M --capacity 32M --inodes 5000 \
		>/dev/null
	up flush_interval=3600000
	"$posix" sync-storm "$mnt" 1 5
	mkdir "$mnt/storm"
	"$ctl" sync "$mnt"
	sync
	frames=$(ring frames)
	flushes=$(ring flushes)
	disk=$(disk_count flushes)
	"$posix" sync-storm "$mnt/storm" 1 $n
	frames=$(($(ring frames) - frames))
	flushes=$(($(ring flushes) - flushes))
	disk=$(($(disk_count flushes) - disk))
	say "$type: $n fsyncs, $frames frames, $flushes flushes," \
		"$disk on the disk"
	within $n $((n + 5)) "$frames" "frames for $n fsyncs in a row"
	same "$frames" "$flushes" "flushes for that many frames"
	within $n $((n + n / 5)) "$disk" "flushes that reached the disk"
	down
	disk_stop
}

# 20 clients, 20 ms a flush: they share flushes.
many_fsyncs_a_flush()
{
	local fsyncs flushes

	rm -f "$work/slow.img"
	disk_start "$work/slow.img" 400M --times flush=20000
	set_traps
	disk_mkfs ext4
	disk_mount
	store=$DISK_MNT/store
	"$ctl" init "$store" --ring-size 16M --capacity 32M --inodes 5000 \
		>/dev/null
	up
	fsyncs=$(requests FSYNC)
	flushes=$(ring flushes)
	"$posix" sync-storm "$mnt" 20 20
	fsyncs=$(($(requests FSYNC) - fsyncs))
	flushes=$(($(ring flushes) - flushes))
	say "slow: $fsyncs fsyncs in $flushes flushes"
	within 400 400 "$fsyncs" "fsync requests"
	# the prototype had groups of about ten
	within 20 $((400 / 4)) "$flushes" "flushes for 400 fsyncs of 20"
	down
	disk_stop
}

one_flush_a_group ext4
one_flush_a_group xfs
many_fsyncs_a_flush
