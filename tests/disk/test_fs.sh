#!/bin/bash
# A real filesystem on the disk: what it acknowledged survives power cuts, a
# lying disk loses it (so the check can fail), errors get through, and a write
# into written blocks with its fdatasync costs what it must.
#
#	test_fs.sh ext4|xfs|btrfs
# shellcheck disable=SC2119 # calls without arguments
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/disk.sh"
disk_own_mounts "$0" "$@"
. "$here/lib_check.sh"
TMPDIR=${TMPDIR:-/tmp}
fs=$1
image=$TMPDIR/$fs.img
ledger=$TMPDIR/ledger

new_disk()
{
	[ ! -d "${DISK_ROOT:-/nowhere}/d0" ] || disk_stop
	rm -f "$image"
	disk_start "$image" 384M
	disk_mkfs "$fs"
	disk_mount
}

content()
{
	seq "$1" "$(($1 + $1 % 500))"
}

# write_until_cut ROUND: each file's number goes to the ledger after its
# fsync and the directory's; every other one is neither.
write_until_cut()
{
	local i dir=$DISK_MNT/r$1

	mkdir "$dir" && sync "$DISK_MNT" || return 0
	for ((i = $1 * 1000; i < $1 * 1000 + 400; i++)); do
		content $i >"$dir/$i" || return 0
		[ $((i % 2)) = 0 ] || continue
		sync "$dir/$i" "$dir" || return 0
		echo $i >>"$ledger"
	done
} 2>/dev/null

# How many of the acknowledged files are not there, or not whole.
losses()
{
	local i lost=0

	while read -r i; do
		content "$i" | cmp -s - "$DISK_MNT/r$((i / 1000))/$i" ||
			lost=$((lost + 1))
	done <"$ledger"
	echo $lost
}

test_cuts()
{
	local round writes written

	echo "-- $fs: power cuts"
	new_disk
	: >"$ledger"
	for round in 1 2 3 4 5 6 7 8; do
		# Somewhere in the round, the n-th write of the device.
		writes=$((10 + round * 7919 % 150))
		disk_ctl cutat write $writes $round >/dev/null
		written=$(wc -l <"$ledger")
		write_until_cut $round
		true_that "round $round was cut at write $writes" \
		    grep -q '"state":"cut"' <<<"$(disk_ctl status)"
		disk_ctl status | sed 's/.*"cut":/info: /; s/}}/}/'
		disk_reopen
		same "no loss, $(($(wc -l <"$ledger") - written)) more files" \
		    0 "$(losses)"
	done
	[ "$(wc -l <"$ledger")" -gt 50 ] || fail "too few files for a test"
}

test_lie()
{
	echo "-- $fs: a disk that lies"
	new_disk
	sync -f "$DISK_MNT"
	: >"$ledger"
	disk_ctl lie on >/dev/null
	write_until_cut 1 &
	disk__until 30 test -s "$ledger"
	disk_cut 1 keep=0
	wait $!
	[ "$(disk_count lies)" -gt 0 ] || fail "no flush came"
	disk_reopen
	same "all $(wc -l <"$ledger") acknowledged files are lost" \
	    "$(wc -l <"$ledger")" "$(losses)"
}

test_cost()
{
	local got

	echo "-- $fs: cost of an overwrite with fdatasync"
	new_disk
	: >"$DISK_MNT/ring"
	[ "$fs" != btrfs ] || chattr +C "$DISK_MNT/ring"
	fill a 4194304 | dd of="$DISK_MNT/ring" bs=1M conv=fsync,notrunc \
	    iflag=fullblock status=none
	sync -f "$DISK_MNT"
	for it in 0 1 2; do
		disk_counters reset >/dev/null
		put b 4096 $((it * 4096)) "$DISK_MNT/ring" fdatasync
		got="$(disk_count writes) $(disk_count flushes)"
		got+=" $(disk_count written_bytes)"
		if [ "$fs" = btrfs ]; then
			echo "info: writes, flushes, bytes: $got"
			[ "$(disk_count flushes)" = 2 ] ||
				fail "btrfs took not 2 flushes"
		else
			same "writes, flushes, bytes" "1 1 4096" "$got"
		fi
	done
	disk_counters reset >/dev/null
	put c 1048576 1048576 "$DISK_MNT/ring" fdatasync
	echo "info: a MiB: $(disk_count writes) writes," \
	    "$(disk_count flushes) flushes," \
	    "$(disk_count written_bytes) bytes"
}

# Errors of the disk get to who asked. The filesystem may shut itself down,
# so each has a new one.
test_errors()
{
	local what

	for what in "fail flush 1 forever" "fail write 1 forever" "full on"; do
		echo "-- $fs: $what"
		new_disk
		echo old >"$DISK_MNT/file"
		sync "$DISK_MNT/file"
		# shellcheck disable=SC2086 # words
		disk_ctl $what >/dev/null
		echo new >"$DISK_MNT/file" || true
		refuses "fsync" "error\|no space\|read-only" \
		    sync "$DISK_MNT/file"
	done
}

test_times()
{
	local name start us

	echo "-- $fs: times (reported, not judged)"
	for name in none ssd hdd; do
		new_disk
		disk_ctl times $name >/dev/null
		disk_counters reset >/dev/null
		start=${EPOCHREALTIME/./}
		for it in 1 2 3 4 5; do
			echo $it >"$DISK_MNT/$it"
			sync "$DISK_MNT/$it"
		done
		us=$((${EPOCHREALTIME/./} - start))
		echo "info: $name: 5 small files with fsync in $us us," \
		    "$(disk_count flushes) flushes," \
		    "$(disk_count writes) writes," \
		    "$(disk_count seeks) seeks," \
		    "$(disk_count busy_us) us of arm time"
		[ "$us" -ge "$(disk_count busy_us)" ] ||
			fail "faster than the arm"
	done
}

test_cuts
test_lie
test_cost
test_errors
test_times
disk_stop
