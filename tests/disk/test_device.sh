#!/bin/bash
# The disk under a loop device, without a filesystem: the order and number of
# what arrives, each command, and what a power cut leaves.
# shellcheck disable=SC2016,SC2119 # awk programs; calls without arguments
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/disk.sh"
disk_own_mounts "$0" "$@"
. "$here/lib_check.sh"
TMPDIR=${TMPDIR:-/tmp}
image=$TMPDIR/device.img

# What the image itself holds, past the simulator.
medium()
{
	dd if="$image" bs="$1" count=1 skip="$2" iflag=skip_bytes \
	    status=none | runs
}

fresh()
{
	[ ! -d "${DISK_ROOT:-/nowhere}/d0" ] || disk_stop
	rm -f "$image"
	disk_start "$image" 16M "$@"
	disk_counters reset >/dev/null
}

requests()
{
	echo "$(disk_count reads) $(disk_count writes) $(disk_count flushes)"
}

# Whether the loop device does direct I/O or not, each request of its arrives
# at once, nothing is held back in a page cache, and a flush is a flush.
test_requests_arrive()
{
	echo "-- requests, loop direct I/O $1"
	DISK_DIRECT=$1 fresh
	put a 4096 0 "$DISK_LOOP"
	same "a write arrives before any flush" "0 1 0" "$(requests)"
	put b 4096 4096 "$DISK_LOOP" fsync
	same "fsync is one flush" "0 2 1" "$(requests)"
	same "a read comes from us" "62*4096" \
	    "$(get 4096 4096 "$DISK_LOOP")"
	same "a second read too" "62*4096 2 2 1" \
	    "$(get 4096 4096 "$DISK_LOOP") $(requests)"
	put c 1048576 1048576 "$DISK_LOOP" fsync
	same "bytes of all that" 1056768 "$(disk_count written_bytes)"
	same "a true flush emptied the cache" 0 "$(disk_count unflushed_bytes)"
	disk_counters reset >/dev/null
	put d 4096 2097152 "$DISK_LOOP"
	put d 4096 2101248 "$DISK_LOOP"
	same "in order, no seek" 0 "$(disk_count seeks)"
	put d 4096 2097152 "$DISK_LOOP"
	put d 4096 2101248 "$DISK_LOOP"
	same "back, one seek" 1 "$(disk_count seeks)"
}

test_flush_is_the_border()
{
	echo "-- stable and volatile"
	fresh
	put a 4096 0 "$DISK_LOOP" fsync
	put b 4096 0 "$DISK_LOOP"
	same "the medium has what was flushed" "61*4096" "$(medium 4096 0)"
	same "a read has the newest" "62*4096" "$(get 4096 0 "$DISK_LOOP")"
	disk_cut 1 keep=0 >/dev/null
	same "the cut leaves the flushed" "61*4096" "$(medium 4096 0)"
	refuses "a read after it" "input/output" get 4096 0 "$DISK_LOOP"
	refuses "a write after it" "input/output" put c 4096 0 "$DISK_LOOP"
	refuses "a second cut" "already" disk_cut 2
	disk_reopen
	same "the new disk has the flushed" "61*4096" \
	    "$(get 4096 0 "$DISK_LOOP")"
	put d 4096 0 "$DISK_LOOP"
	disk_cut 1 keep=100 >/dev/null
	same "keep=100 leaves all" "64*4096" "$(medium 4096 0)"
}

cut_image()
{
	fresh
	put a 65536 0 "$DISK_LOOP" fsync
	put b 65536 0 "$DISK_LOOP"
	put c 32768 16384 "$DISK_LOOP"
	put d 65536 262144 "$DISK_LOOP"
	disk_cut "$@" >"$TMPDIR/cut.json"
	cp "$image" "$TMPDIR/cut.img"
}

test_same_seed_same_image()
{
	local sum other

	echo "-- seeds"
	cut_image 42 sector=512 keep=50 by=sector
	sum=$(sha256sum <"$TMPDIR/cut.img")
	cat "$TMPDIR/cut.json"
	true_that "the cut names its choice" \
	    grep -q '"seed":42,"sector":512,"by":"sector","keep":50' \
	    "$TMPDIR/cut.json"
	cut_image 42 sector=512 keep=50 by=sector
	same "the same seed, the same image" "$sum" \
	    "$(sha256sum <"$TMPDIR/cut.img")"
	cut_image 43 sector=512 keep=50 by=sector
	other=$(sha256sum <"$TMPDIR/cut.img")
	[ "$sum" != "$other" ] || fail "seed 43 gives what 42 gave"
	for it in 61 62 63 64; do
		true_that "a sector of $it is somewhere" \
		    grep -q "$it\*" <<<"$(medium 393216 0)"
	done
	cut_image 44 sector=4096 keep=50 by=sector
	true_that "4096-byte sectors are whole" awk -v RS=' ' -F'*' \
	    '$2 % 4096 { exit 1 }' <<<"$(medium 393216 0)"
	cut_image 45 by=write keep=50
	true_that "whole writes are whole" awk -v RS=' ' -F'*' \
	    '$2 % 16384 { exit 1 }' <<<"$(medium 393216 0)"
}

test_nth_fails()
{
	echo "-- fail"
	fresh
	disk_ctl fail write 2 >/dev/null
	put a 4096 0 "$DISK_LOOP"
	refuses "the second write" "input/output" put b 4096 0 "$DISK_LOOP"
	put c 4096 4096 "$DISK_LOOP"
	same "the failed one left nothing" "61*4096 63*4096" \
	    "$(get 8192 0 "$DISK_LOOP")"
	disk_ctl fail flush 1 >/dev/null
	refuses "a flush" "input/output" put d 4096 0 "$DISK_LOOP" fsync
	put d 4096 0 "$DISK_LOOP" fsync
	disk_ctl fail flush 2 forever >/dev/null
	put e 4096 0 "$DISK_LOOP" fsync
	refuses "the next flush" "input/output" put f 4096 0 "$DISK_LOOP" fsync
	refuses "all after it" "input/output" put f 4096 0 "$DISK_LOOP" fsync
	disk_ctl fail flush off >/dev/null
	put f 4096 0 "$DISK_LOOP" fsync
	disk_ctl fail read 1 >/dev/null
	refuses "a read" "input/output" get 4096 0 "$DISK_LOOP"
	same "the next read" "66*4096" "$(get 4096 0 "$DISK_LOOP")"
	same "errors are counted" "1 1 3" "$(disk_count read_errors) \
$(disk_count write_errors) $(disk_count flush_errors)"
	put g 4096 0 "$DISK_LOOP"
	disk_ctl fail flush 1 drop >/dev/null
	refuses "a flush that drops" "input/output" \
	    put h 4096 4096 "$DISK_LOOP" fsync
	put i 4096 8192 "$DISK_LOOP" fsync
	same "is read until the cut" "67*4096 68*4096 69*4096" \
	    "$(get 12288 0 "$DISK_LOOP")"
	disk_cut 1 keep=0 >/dev/null
	same "and then gone, the later one not" "66*4096 63*4096 69*4096" \
	    "$(medium 12288 0)"
}

test_damage()
{
	echo "-- bad sectors, rot"
	fresh
	put a 16384 0 "$DISK_LOOP" fsync
	disk_ctl badsector 4096 512 >/dev/null
	refuses "a read over it" "input/output" get 16384 0 "$DISK_LOOP"
	same "a read beside it" "61*4096" "$(get 4096 8192 "$DISK_LOOP")"
	put b 512 4096 "$DISK_LOOP"
	same "written again it is good" "62*512 61*3584" \
	    "$(get 4096 4096 "$DISK_LOOP")"
	disk_ctl badsector 0 forever >/dev/null
	put b 512 0 "$DISK_LOOP"
	refuses "for ever is for ever" "input/output" get 512 0 "$DISK_LOOP"
	disk_ctl badsector clear >/dev/null
	put c 4096 8192 "$DISK_LOOP" fsync
	put d 4096 12288 "$DISK_LOOP"
	disk_ctl rot 9000 1 7 >/dev/null
	true_that "one byte of the medium rots" \
	    grep -qx '63\*808 [0-9a-f]*\*1 63\*3287' \
	    <<<"$(get 4096 8192 "$DISK_LOOP")"
	same "on the image too" "$(get 4096 8192 "$DISK_LOOP")" \
	    "$(medium 4096 8192)"
	disk_ctl rot 12288 512 7 >/dev/null
	true_that "and of the cache" grep -qv "64\*4096" \
	    <<<"$(get 4096 12288 "$DISK_LOOP")"
}

test_lie()
{
	echo "-- lie"
	fresh
	put a 4096 0 "$DISK_LOOP" fsync
	disk_ctl lie on >/dev/null
	put b 4096 0 "$DISK_LOOP" fsync
	same "the lie is counted" 1 "$(disk_count lies)"
	same "nobody sees it" "62*4096" "$(get 4096 0 "$DISK_LOOP")"
	disk_cut 3 keep=0 >/dev/null
	same "until the power goes" "61*4096" "$(medium 4096 0)"
}

test_full()
{
	echo "-- full"
	fresh
	disk_ctl full on >/dev/null
	refuses "a write" "no space" put a 4096 0 "$DISK_LOOP"
	disk_ctl full off >/dev/null
	put a 4096 0 "$DISK_LOOP" fsync
}

# What a loop device makes of fewer bytes (README.md): it reads on, it gives
# EIO for a write with direct I/O, and takes one without for whole.
test_short()
{
	echo "-- short"
	fresh
	put a 65536 0 "$DISK_LOOP" fsync
	disk_ctl short read 4096 >/dev/null
	same "a short read goes on" "61*65536" "$(get 65536 0 "$DISK_LOOP")"
	disk_ctl short write 4096 >/dev/null
	refuses "a short write" "input/output" put b 65536 0 "$DISK_LOOP"
	same "did what it said" "62*4096 61*61440" \
	    "$(get 65536 0 "$DISK_LOOP")"
	disk_ctl short write 4096 >/dev/null
	fill c 65536 >"$TMPDIR/put"
	dd if="$TMPDIR/put" of="$DISK_ROOT/d0/fuse/disk" bs=65536 \
	    conv=notrunc 2>"$TMPDIR/said"
	true_that "the file itself shows it to dd, which goes on" \
	    grep -q "65536 bytes" "$TMPDIR/said"
	same "in two writes" "63*65536" "$(get 65536 0 "$DISK_LOOP")"
}

test_cut_at()
{
	echo "-- cut at the n-th, cut during a flush"
	fresh
	disk_ctl cutat write 3 5 keep=0 >/dev/null
	put a 4096 0 "$DISK_LOOP" fsync
	put b 4096 4096 "$DISK_LOOP"
	refuses "the third write" "input/output" put c 4096 0 "$DISK_LOOP"
	same "the flushed is there, no more" "61*4096 00*4096" \
	    "$(medium 8192 0)"
	fresh
	disk_ctl cutat flush 2 5 keep=0 >/dev/null
	put a 4096 0 "$DISK_LOOP" fsync
	refuses "the second flush" "input/output" \
	    put b 4096 0 "$DISK_LOOP" fsync
	same "saved nothing" "61*4096" "$(medium 4096 0)"

	fresh
	disk_ctl freeze >/dev/null
	put a 4096 0 "$DISK_LOOP" fsync 2>"$TMPDIR/said" &
	disk_ctl wait-held 20000 >/dev/null
	same "the held flush saved nothing yet" "00*4096" "$(medium 4096 0)"
	disk_cut 1 keep=0 >/dev/null
	if wait $!; then
		fail "the flush that the cut met succeeded"
	fi
	true_that "the flush that the cut met has an error" \
	    grep -qi "input/output" "$TMPDIR/said"
	same "and nothing afterwards" "00*4096" "$(medium 4096 0)"

	fresh
	disk_ctl freeze >/dev/null
	put a 4096 0 "$DISK_LOOP" fsync &
	disk_ctl wait-held 20000 >/dev/null
	disk_ctl thaw >/dev/null
	wait $!
	same "a thawed flush saves" "61*4096" "$(medium 4096 0)"
}

test_ends()
{
	echo "-- ends"
	fresh
	put a 4096 0 "$DISK_LOOP"
	disk_ctl sync-image >/dev/null
	same "sync-image" "61*4096" "$(medium 4096 0)"
	put b 4096 0 "$DISK_LOOP"
	disk_stop
	same "an orderly power-off writes the cache back" "62*4096" \
	    "$(medium 4096 0)"
	disk_start "$image" 0
	put c 4096 0 "$DISK_LOOP"
	kill -KILL "$DISK_PID"
	disk_stop
	same "a killed simulator is a cut with keep=0" "62*4096" \
	    "$(medium 4096 0)"
}

test_small_cache()
{
	echo "-- a full cache writes back"
	fresh --cache 64K
	for it in 0 1 2 3 4 5 6 7; do
		put a 65536 $((it * 65536)) "$DISK_LOOP"
	done
	same "spilled" "$((7 * 65536))" "$(disk_count spilled_bytes)"
	same "all is read" "61*524288" "$(get 524288 0 "$DISK_LOOP")"
}

test_usage()
{
	echo "-- usage"
	fresh
	refuses "an unknown command" "no command" disk_ctl explode
	refuses "too few words" "usage: rot" disk_ctl rot 1
	refuses "a range beyond the end" "usage" disk_ctl badsector 16M 1
	refuses "keep over 100" "usage" disk_ctl cut 1 keep=101
	refuses "another size for the image" "cannot open" "$(disk__program)" \
	    --size 32M "$image" "$DISK_ROOT/d0/mnt"
	refuses "a socket in use" "cannot listen" "$(disk__program)" \
	    --sock "$DISK_SOCK" "$image" "$DISK_ROOT/d0/mnt"
	disk_ctl times hdd >/dev/null
	disk_ctl times write=10 >/dev/null
	true_that "times add up" grep -q \
	    '"flush_us":8000,"write_us":10,"read_us":0,"seek_us":4000' \
	    <<<"$(disk_ctl status)"
	disk_ctl times none >/dev/null
	"$(disk__program)" --help >"$TMPDIR/help"
	true_that "help lists cutat" grep -q cutat "$TMPDIR/help"
}

test_times()
{
	local name start us

	echo "-- times (reported, not judged)"
	for name in none ssd hdd; do
		fresh --preset $name
		start=${EPOCHREALTIME/./}
		put a 4096 0 "$DISK_LOOP" fsync
		put b 4096 8192 "$DISK_LOOP" fsync
		us=$((${EPOCHREALTIME/./} - start))
		echo "info: $name: two writes, two flushes in $us us," \
		    "$(disk_count busy_us) us of arm time"
	done
	same "arm time of hdd: two flushes, a seek" 20000 \
	    "$(disk_count busy_us)"
	[ "$us" -ge 20000 ] || fail "faster than the arm"
}

test_requests_arrive on
test_requests_arrive off
test_flush_is_the_border
test_same_seed_same_image
test_nth_fails
test_damage
test_lie
test_full
test_short
test_cut_at
test_ends
test_small_cache
test_usage
test_times
disk_stop
