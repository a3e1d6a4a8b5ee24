# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # work, root, mnt, log, store: lib.sh's
# The store on a simulated disk (../disk) whose power can be cut, or whose
# requests fail. For sourcing after lib.sh; power_on comes after mta_enter and
# before spool_init.
#
# The simulator, its loop device and the ext4 on it belong to this script's
# namespaces and end with them; a loop device doesn't, so each is told to go
# with its last user.

# Mounts of other tests that were copied into our namespace would keep their
# loop devices busy.
drop_copies()
{
	local at keep

	keep=" $RS_BUILD/ $mta_dir/ $work/ "
	awk '{ print $2 }' /proc/self/mounts | tac | while read -r at; do
		case $at in
		"$work"/*) continue ;;
		/tmp/*) ;;
		*) continue ;;
		esac
		case $keep in
		*" $at/"*) ;;
		*) umount -l "$at" 2>/dev/null || true ;;
		esac
	done
}

power_on()
{
	[ "$backend" = rspool ] || fail "a directory has no disk to cut"
	drop_copies
	# shellcheck source=SCRIPTDIR/../disk/disk.sh
	. "$mta_dir/../disk/disk.sh"
	disk_start "$work/disk.img" 640M --preset "${RS_MTA_DISK:-ssd}"
	# Its traps give way to ours, which call its clean-up.
	mta_traps
	disk_mkfs ext4
	disk_mount
	losetup -d "$DISK_LOOP"
	store=$DISK_MNT/store
	power=yes
	capacity=384M
}

power_off()
{
	[ -z "${power:-}" ] || disk_cleanup
}

# power_cut SEED: what was flushed stays, of the rest the seed chooses. At once,
# or in the middle of one of the next writes or flushes, if there is one.
power_cut()
{
	local at=$(($1 % 3))

	if [ $at -gt 0 ]; then
		[ $at = 1 ] && at="write" || at=flush
		disk_ctl cutat "$at" $((1 + $1 % 17)) "$1" >>"$log/cuts"
		wait_for 2 power_is_cut && return
	fi
	disk_ctl cut "$1" >>"$log/cuts" 2>&1 || power_is_cut
}

power_is_cut()
{
	disk_ctl status | grep -q '"state":"cut"'
}

# The medium under a fresh simulator, loop device and kernel mount. The
# daemon's process doesn't survive either.
power_back()
{
	spool_kill
	while mountpoint -q "$mnt"; do
		umount -l "$mnt" || break
	done
	# shellcheck disable=SC2119
	# A cut between the two sectors of ext4's superblock is repaired as at
	# boot. That isn't what is tested here.
	disk_reopen 2>>"$log/reopen" || {
		disk__alive "$DISK_PID" && { e2fsck -fy "$DISK_LOOP" \
			>>"$log/reopen" 2>&1 || [ $? -lt 4 ]; } && disk_mount
	} || fail "the disk's filesystem doesn't come back"
	losetup -d "$DISK_LOOP"
	store=$DISK_MNT/store
}
