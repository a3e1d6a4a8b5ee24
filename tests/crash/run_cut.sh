#!/bin/bash
# Power cuts under a real mount.
#
#	run_cut.sh                  the ordinary set
#	run_cut.sh ID...            these, such as cut:ext4:recover:17
#	run_cut.sh --long [COUNT]   so many over all filesystems and modes
#	run_cut.sh --lie            on a drive that lies: must find losses
#
# An ID is cut:FILESYSTEM:MODE:SEED and replays one cut with the same ring,
# times, writers and moment. Writers keep a ledger of what was acknowledged;
# the power goes; the image comes back under a fresh kernel mount; the spool
# is recovered, mounted, compared with the ledger, worked on and ended.
#
#	time        at some moment
#	write flush at the n-th write or flush of the disk
#	checkpoint  ditto, with a ring so small that checkpoints never end
#	wrap        ditto, with large files: at the end of the ring and over
#	full        with a ring or a spool that has no room left
#	umount      during an orderly unmount
#	recover     also during the recovery, twice
#	mount       also during a start that recovers
#	kill        the daemon dies between a write and its flush and is started
#	            again; an untouched file is fsynced; then the cut
#	apart       the ring on a disk of its own: the daemon dies between a write and
#	            its flush; recover folds what only a cache has; then the cut
#	failflush   a flush fails; the poisoned mount is looked at, killed and
#	            started again; then the cut
# timeout: 900
# labels: slow kill
# lock: crash
. "$(dirname "$0")/lib.sh"
enter "$@"

self=$0
filesystems=(ext4 xfs btrfs)
modes=(time write flush checkpoint wrap full umount recover mount kill
	failflush apart)
if [ "$backend" = plain ]; then
	modes=(time write flush)
fi

# --- one cut --------------------------------------------------------------

# What the seed says about the set-up; modes override it.
draw()
{
	chance "$1"
	roll 0 3
	flush_us=$((rolled * rolled * 1000))
	roll 1 8
	n_writers=$rolled
	roll 0 2
	ring=$((1 << (20 + 2 * rolled)))
	capacity=24M
	bytes=16000
	live=30
	case $2 in
	checkpoint | kill) ring=256K ;;
	wrap)
		ring=512K
		bytes=60000
		;;
	full)
		ring=256K
		flush_us=10000
		n_writers=8
		bytes=40000
		live=200
		capacity=8M
		;;
	esac
}

work_on()
{
	writers_start -s "$seed" -n "$n_writers" -c 100000 -t 60 -b "$bytes" \
		-k "$live"
}

# cut_at KIND FROM TO: the n-th from now, n by chance.
cut_at()
{
	roll "$2" "$3"
	disk_ctl cutat "$1" "$rolled" "$seed" >/dev/null
}

# If the moment that was asked for didn't come: now.
cut_now()
{
	local disk

	for disk in "${disks[@]}"; do
		disk_use "$disk"
		disk_ctl cut "$seed" >/dev/null 2>&1 || true
	done
	disk_use d0
}

# Whoever waits for the dead disk gets an error; then the daemon goes too.
after_cut()
{
	writers_wait
	cut_now
	if [ "$backend" != plain ] && [ "$writers_rc" = 3 ]; then
		# Even though the store itself can't be read any more.
		wait_for 15 is_red || fail "status after the cut isn't red"
	fi
	spool_kill
	power_back
}

# Recovered by the tool or by the mount itself.
bring_back()
{
	roll 0 2
	if [ "$rolled" != 0 ]; then
		spool_recover
		spool_verify
	fi
	spool_mount
	judge "$@"
}

cut_by_time()
{
	work_on
	roll 50 1500
	sleep "$(printf '0.%04d' "$rolled" | sed 's/0\.\(.\)\(...\)/\1.\2/')"
	cut_now
	after_cut
	bring_back
}

# cut_by KIND FROM TO
cut_by()
{
	cut_at "$@"
	work_on
	after_cut
	bring_back
}

cut_in_umount()
{
	local rc=0 kind='write'

	writers_start -s "$seed" -n "$n_writers" -c 150 -t 30
	writers_wait
	[ "$writers_rc" = 0 ] || fail "the tree died before the cut"
	roll 0 1
	[ "$rolled" = 0 ] || kind=flush
	cut_at "$kind" 1 12
	rspoolctl umount "$mnt" >"$work/umount.log" 2>&1 || rc=$?
	cut_now
	spool_kill
	power_back
	# An unmount that returned 0 has everything on disk.
	if [ $rc = 0 ]; then
		bring_back -a
	else
		bring_back
	fi
}

cut_in_recover()
{
	local again rc kind

	cut_at write 50 600
	work_on
	after_cut
	for again in 1 2; do
		kind='write'
		roll 0 1
		[ "$rolled" = 0 ] || kind=flush
		cut_at "$kind" 1 $((5 + 10 * again))
		rc=0
		rspoolctl recover "$store" >"$work/recover$again.log" 2>&1 ||
			rc=$?
		[ $rc = 0 ] || [ $rc = 1 ] || {
			cat "$work/recover$again.log"
			fail "recover on a dying disk: exit code $rc"
		}
		cut_now
		power_back
	done
	bring_back
}

cut_in_mount()
{
	local again pid

	cut_at flush 20 200
	work_on
	after_cut
	for again in 1 2; do
		cut_at write 1 $((5 + 15 * again))
		rspoolctl mount "$store" "$mnt" >"$work/mount$again.log" 2>&1 ||
			true
		sleep 0.2
		cut_now
		spool_kill
		power_back
	done
	bring_back
}

# The store may not get ahead of what is durable in the ring.
cut_two_disks()
{
	roll 5 60
	spool_umount
	RS_KILL_FLUSH=$rolled RS_KILL_FLUSH_FILE=ring \
		LD_PRELOAD=$RS_BUILD/tests/crash/killflush.so spool_mount
	work_on
	writers_wait
	[ "$writers_rc" = 3 ] || fail "the daemon didn't die at its flush"
	spool_kill
	# The first that recover writes to the ring is the seal.
	roll 1 2
	disk_use d1
	disk_ctl cutat write "$rolled" "$seed" >/dev/null
	disk_use d0
	rspoolctl recover "$store" >"$work/recover.log" 2>&1 || true
	cut_now
	power_back
	bring_back
}

# Between write and flush the frame is in the drive's cache and nowhere else,
# a page of the store in the kernel's.
cut_after_kill()
{
	local file flushed=data.mdb

	roll 0 2
	[ "$rolled" = 0 ] || flushed=intent.log
	roll 5 60
	spool_umount
	RS_KILL_FLUSH=$rolled RS_KILL_FLUSH_FILE=$flushed \
		LD_PRELOAD=$RS_BUILD/tests/crash/killflush.so spool_mount
	work_on
	writers_wait
	[ "$writers_rc" = 3 ] || fail "the daemon didn't die at its flush"
	spool_kill
	spool_mount
	judge
	# All that is served now was read from the log: it must be durable,
	# though nobody writes a byte any more.
	phase_begin 2
	file=$(find "$mnt" -type f | sort | sed -n "$((1 + seed % 7))p")
	[ -z "$file" ] || sync "$file"
	cut_now
	spool_kill
	power_back
	bring_back
}

# The mount after a failed flush (G6): look, but don't touch.
poisoned()
{
	local file rc

	file=$(find "$mnt" -type f | head -n 1)
	[ -n "$file" ] || fail "no file to look at"
	cat "$file" >/dev/null || fail "a poisoned mount doesn't read"
	# The same answer for a file that nobody has touched since.
	rc=$(sync "$file" 2>&1) && fail "fsync on a poisoned mount: 0"
	[[ $rc = *"Input/output error"* ]] ||
		fail "fsync on a poisoned mount: '$rc'"
	rc=$(sync "$mnt" 2>&1) && fail "fsync of a directory: 0"
	rc=$(touch "$mnt/tmp/late" 2>&1) && fail "a poisoned mount takes files"
	[[ $rc = *"Read-only file system"* ]] ||
		fail "create on a poisoned mount: '$rc'"
	wait_for 15 is_red || fail "status isn't red"
	[ -n "$(spool_status why)" ] || fail "status doesn't say why"
	wait_for 15 superblock_ro || fail "the superblock isn't read-only"
}

superblock_ro()
{
	awk -v at="$mnt" '$5 == at && $NF ~ /^ro(,|$)/ { found = 1 }
		END { exit !found }' /proc/self/mountinfo
}

cut_after_failed_flush()
{
	roll 5 80
	disk_ctl fail flush "$rolled" once >/dev/null
	work_on
	writers_wait
	[ "$writers_rc" = 3 ] || fail "no call failed after the failed flush"
	poisoned
	# Reading goes on from RAM: all that any call did is there.
	judge -a
	spool_kill
	if rspoolctl mount "$store" "$mnt" >"$work/mount.log" 2>&1; then
		judge
		phase_begin 2
		cut_now
	else
		# The disk's own filesystem may have given up too.
		cat "$work/mount.log"
	fi
	cut_now
	spool_kill
	power_back
	bring_back
}

one()
{
	local id=$1 fs mode

	IFS=: read -r _ fs mode seed <<<"$id"
	[[ $seed =~ ^[0-9]+$ ]] || fail "no cut '$id'"
	draw "$seed" "$mode"
	case_begin "$fs" --times "flush=$flush_us"
	if [ "$mode" = apart ]; then
		second_disk --times "flush=$flush_us"
		spool_init "$ring" "$capacity" --ring "$ring_file"
	else
		spool_init "$ring" "$capacity"
	fi
	spool_mount
	phase_begin "$seed"
	if [ -n "${RS_CRASH_LIE:-}" ]; then
		sync -f "$DISK_MNT"
		disk_ctl lie on >/dev/null
	fi
	case $mode in
	time) cut_by_time ;;
	write | checkpoint) cut_by write 10 600 ;;
	flush) cut_by flush 5 200 ;;
	wrap | full) cut_by write 200 1500 ;;
	umount) cut_in_umount ;;
	recover) cut_in_recover ;;
	mount) cut_in_mount ;;
	kill) cut_after_kill ;;
	apart) cut_two_disks ;;
	failflush) cut_after_failed_flush ;;
	*) fail "no mode '$mode'" ;;
	esac
	go_on "$seed"
}

# --- many -----------------------------------------------------------------

# ordinary: each mode on ext4, and most on the others.
ordinary()
{
	local i fs

	for i in "${!modes[@]}"; do
		fs=ext4
		echo "cut:$fs:${modes[i]}:$((i + 1))"
		[ $((i % 5)) = 4 ] || {
			fs=${filesystems[1 + i % 2]}
			echo "cut:$fs:${modes[i]}:$((i + 101))"
		}
	done
}

long()
{
	local i

	for ((i = 0; i < ${1:-200}; i++)); do
		echo "cut:${filesystems[i % 3]}:${modes[i / 3 % ${#modes[@]}]}:$((
			i + 1000))"
	done
}

# run ID...: each in a process of its own; all are tried.
run()
{
	local id log bad=0 done=0 start

	log=$(mktemp "${TMPDIR:-/tmp}/cut.XXXXXX")
	for id; do
		start=$SECONDS
		if bash "$self" --one "$id" >"$log" 2>&1; then
			done=$((done + 1))
			say "$id: $(grep '^ledger: ' "$log" | head -n 1 |
				cut -d' ' -f2-), $((SECONDS - start)) s"
		else
			bad=$((bad + 1))
			say "$id: FAILED, $((SECONDS - start)) s"
			sed 's/^/    /' "$log" | tail -n 40
			say "    again with: $self $id"
		fi
	done
	rm -f "$log"
	say "$((done + bad)) cuts, $bad with losses"
	[ $bad = 0 ]
}

# The check of the check: on a drive that lies, mail must be seen to be lost;
# the disk's own filesystem may be lost with it.
lying()
{
	local id log lost=0 named=0 all=0

	log=$(mktemp "${TMPDIR:-/tmp}/cut.XXXXXX")
	for id in cut:ext4:time:{1..6}; do
		all=$((all + 1))
		if RS_CRASH_LIE=1 bash "$self" --one "$id" >"$log" 2>&1; then
			say "$id on a lying drive: nothing lost"
			continue
		fi
		lost=$((lost + 1))
		grep -qE 'LOST|is missing' "$log" && named=$((named + 1))
		say "$id on a lying drive: $(grep -E '^ledger: |^FAILED' "$log" |
			tail -n 1)"
	done
	rm -f "$log"
	say "$all cuts on a lying drive: $lost lost something, $named by name"
	[ $lost -gt $((all / 2)) ] && [ $named -gt 0 ]
}

case ${1:-} in
--one) one "$2" ;;
--long)
	mapfile -t ids < <(long "${2:-200}")
	run "${ids[@]}"
	;;
--lie)
	lying
	;;
'')
	mapfile -t ids < <(ordinary)
	run "${ids[@]}"
	lying
	;;
*)
	run "$@"
	;;
esac
