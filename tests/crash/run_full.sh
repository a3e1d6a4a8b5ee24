#!/bin/bash
# Full, under load and at recovery (G10): run_full.sh [STEP...]
#
#	space     capacity and inodes end while eight writers work
#	ram       RAM ends before the capacity, and nothing can be folded to free it
#	stuck     checkpoints can't proceed, the ring fills to its reserve; then
#	          they can: no restart
#	ext4 xfs btrfs   the store's disk is filled up with other things
#	broken    the store's disk gives EIO: the ring goes on to its reserve
#	thin      it gives ENOSPC, as a thin volume does: likewise
#	recovery  a kill with the disk full: recover says so; then there is room
#
# The ledger's check fails for any ENOSPC that doesn't come from a call which
# asks for space, and for anything that was acknowledged and isn't there.
# timeout: 600
# labels: slow kill
. "$(dirname "$0")/lib.sh"
enter "$@"

self=$0

# The ring on a disk of its own, so that the store's can fail alone. Its
# reserve, an eighth, has to last for what a test does without checkpoints:
# each fsync takes 4 KiB of it.
# shellcheck disable=SC2119
two_disks()
{
	local options=("$@")

	case_begin ext4
	second_disk
	spool_init 16M 48M --ring "$ring_file"
	spool_mount -o stall=1 "${options[@]}"
	phase_begin 1
}

store_disk()
{
	disk_use d0
	disk_ctl "$@" >/dev/null
}

# What needs no space goes on: reading, unlink, rename, chmod, utimes, fsync.
drain()
{
	(
		cd "$mnt"
		mkdir -p work
		n=0
		for file in mqueue/* new/*; do
			[ -f "$file" ] || continue
			cat "$file" >/dev/null
			chmod 640 "$file"
			touch -m -d '2031-01-01 00:00:00.123456789' "$file"
			mv "$file" "work/moved$n"
			sync "work/moved$n"
			sync work
			rm "work/moved$n"
			n=$((n + 1))
		done
		[ "$n" -gt 0 ] || exit 9
		sync mqueue
	) || fail "draining a full spool: $?"
}

is_green()
{
	[ "$(spool_status state)" = green ]
}


# crowd SEED OPERATIONS [BYTES]: all that fits, and more: rejected writers end at their limits.
crowd()
{
	writers_start -s "$1" -n 8 -c "$2" -t 30 -k 1000 -b "${3:-30000}"
	writers_wait
	[ "$writers_rc" = 0 ] || fail "a full tree died"
}

step_space()
{
	case_begin ext4
	spool_init 1M 8M --inodes 400
	spool_mount -o stall=1
	phase_begin 1
	crowd 1 1000
	judge -l -a
	was_full
	# statfs and status had said so
	[ "$(stat -f -c %d "$mnt")" -lt 40 ] ||
		[ "$(stat -f -c %a "$mnt")" -lt 100 ] ||
		fail "statfs of a full spool: $(stat -f "$mnt")"
	[ "$(spool_status state)" != green ] || fail "status is green"
	[ "$(reserved)" -gt $((8 << 20)) ] ||
		fail "reserved for 8M: $(reserved) bytes"
	drain
	spool_kill
	spool_recover
	spool_mount -o stall=1
	go_on 2
}

# What data.mdb was given when the store was made: blocks, and by status.
reserved()
{
	local blocks

	blocks=$(($(stat -c %b "$store/data.mdb") * 512))
	{ rspoolctl status "$mnt" --json || [ $? = 4 ]; } | python3 -c '
import json, sys
db = json.load(sys.stdin)["store_db"]
assert db["used"] <= db["reserved"], db
print(min(db["reserved"], int(sys.argv[1])))' "$blocks"
}

step_ram()
{
	two_disks -o ram=16M
	store_disk freeze
	crowd 1 200 200000
	judge -l -a
	was_full
	drain
	store_disk thaw
	phase_begin 2
	all_well
}

# By itself, without a restart.
all_well()
{
	wait_for 60 is_green || fail "not green again: $(spool_status why)"
	phase_begin 8
	writers_start -s 8 -n 4 -c 100 -t 30
	writers_wait
	judge -l -a
	spool_kill
	spool_recover
	spool_verify
	spool_mount
	judge -l
	go_on 9
}

was_full()
{
	[ "$(ledger show "$facts" | grep -c 'No space left')" -gt 0 ] ||
		fail "it never was full"
}

step_stuck()
{
	two_disks
	store_disk freeze
	crowd 1 200 200000
	judge -l -a
	was_full
	[ "$(spool_status state)" != green ] || fail "status is green"
	drain
	store_disk thaw
	# What was refused can be done now.
	phase_begin 2
	all_well
}

step_disk()
{
	case_begin "$1"
	spool_init 16M 64M
	spool_mount -o stall=1
	phase_begin 1
	head -c 1G /dev/zero >"$DISK_MNT/other" 2>/dev/null || true
	sync -f "$DISK_MNT" || true
	[ "$(stat -f -c %a "$DISK_MNT")" -lt 500 ] || fail "the disk isn't full"
	# Nine times the ring, so that checkpoints have to go through.
	crowd 1 500 100000
	judge -l -a
	[ "$(spool_status state)" != red ] || fail "red: $(spool_status why)"
	[ "$(spool_status checkpoints)" -gt 2 ] || fail "hardly any checkpoint"
	drain
	rm "$DISK_MNT/other"
	find "$mnt" -type f -delete
	phase_begin 2
	all_well
}

# broken ORDER...: to the simulated disk
step_broken()
{
	two_disks
	store_disk "$@"
	crowd 1 200 200000
	judge -l -a
	was_full
	wait_for 30 is_red || fail "status is $(spool_status state)"
	[ -n "$(spool_status why)" ] || fail "status doesn't say why"
	drain
	spool_kill
	# The drive is replaced by one that works, with the same content.
	power_back
	spool_recover
	spool_verify
	spool_mount
	phase_begin 2
	go_on 2
}

step_recovery()
{
	local rc=0

	two_disks
	store_disk full on
	writers_start -s 1 -n 4 -c 100000 -t 60 -k 60
	sleep 1
	spool_kill
	writers_wait
	rspoolctl recover "$store" >"$work/recover.log" 2>&1 || rc=$?
	[ "$rc" = 0 ] || [ "$rc" = 1 ] || {
		cat "$work/recover.log"
		fail "recover on a full disk: exit code $rc"
	}
	[ "$rc" = 0 ] || grep -q . "$work/recover.log" || fail "recover is silent"
	store_disk full off
	spool_recover
	spool_verify
	spool_mount
	judge
	go_on 2
}

if [ "${1:-}" = --one ]; then
	case $2 in
	ext4 | xfs | btrfs) step_disk "$2" ;;
	broken) step_broken fail write 1 forever ;;
	thin) step_broken full on ;;
	*) "step_$2" ;;
	esac
	exit 0
fi
[ $# -gt 0 ] || set -- space ram stuck ext4 xfs btrfs broken thin \
	recovery
bad=0
for step; do
	if bash "$self" --one "$step"; then
		say "$step: passed"
	else
		say "$step: FAILED, again with: run_full.sh $step"
		bad=1
	fi
done
exit $bad
