#!/bin/bash
# disk.sh - simulated disks for tests: source it. As root.
#
#	. tests/disk/disk.sh
#	disk_start disk.img 512M --preset ssd
#	disk_mkfs ext4
#	disk_mount
#	echo mail >"$DISK_MNT/file"; sync "$DISK_MNT/file"
#	disk_cut 17                     # the power goes
#	disk_reopen                     # and comes back, mounted again
#	cat "$DISK_MNT/file"
#	disk_stop                       # or just end
#
# Nothing is left behind when the script ends in any way: a trap on EXIT, INT,
# TERM and HUP takes down what stands, and a janitor process does it when the
# script was killed with SIGKILL. A script with an EXIT trap of its own calls
# disk_cleanup in it.
#
# Several disks in one script: "disk_use NAME" before each call says which
# (the first is d0); each has its own DISK_* variables, which disk_use sets:
#	DISK_MNT   where its filesystem is mounted
#	DISK_LOOP  its block device
#	DISK_SOCK  its control socket
#	DISK_PID   its simulator
#	DISK_IMG   its image
#
# Settings, all optional: DISKSIM, the program; DISK_DIRECT=off for a loop
# device without direct I/O; TMPDIR.
#
# Functions return 0, or not 0 with a line on stderr.

disk__self=${BASH_SOURCE[0]}
disk__here=$(cd "$(dirname "$disk__self")" && pwd)
: "${DISK_NAME:=d0}"
DISK_ROOT=${DISK_ROOT:-}
disk__janitor=

# disk_own_mounts "$0" "$@": starts the script over in a mount namespace of its
# own. Another process that makes one, or a container that is started, copies
# all mounts, and a copy keeps a loop device busy when we are done with it.
disk_own_mounts()
{
	if [ -z "${DISK_INSIDE:-}" ]; then
		export DISK_INSIDE=1
		exec unshare --mount --propagation private bash "$@"
	fi
	disk__drop_copies
}

# The same the other way round: mounts of other tests, below /tmp by habit.
disk__drop_copies()
{
	local at needed

	needed=" ${RS_BUILD:-/}/ $disk__here/ ${TMPDIR:-/tmp}/ "
	awk '{ print $2 }' /proc/self/mounts | tac | while read -r at; do
		case $at in
		/tmp/* | /var/tmp/*) ;;
		*) continue ;;
		esac
		case $needed in
		*" $at/"*) ;;
		*) umount -l "$at" 2>/dev/null || true ;;
		esac
	done
}

disk__say()
{
	echo "disk: $*" >&2
}

disk__program()
{
	local it

	for it in "${DISKSIM:-}" "${RS_BUILD:-}/tests/disk/disksim" \
	    "$disk__here/../../build/tests/disk/disksim"; do
		if [ -x "$it" ]; then
			echo "$it"
			return 0
		fi
	done
	command -v disksim || {
		disk__say "no program disksim: build it and set DISKSIM"
		return 1
	}
}

# Field 22 of stat tells one process with a number from the next one with it.
disk__birth()
{
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

# A zombie is gone: its parent is init, who may take his time.
disk__alive()
{
	[ -n "$1" ] &&
		grep -q '^[0-9]* (disksim) [^ZX]' "/proc/$1/stat" 2>/dev/null
}

# disk__until SECONDS COMMAND...: wait for it, at most so long.
disk__until()
{
	local left=$(($1 * 20))

	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}

disk__mounted()
{
	awk -v at="$1" '$5 == at { found = 1 } END { exit !found }' \
	    /proc/self/mountinfo
}

disk__unmounted()
{
	! disk__mounted "$1"
}

disk__gone()
{
	! disk__alive "$1"
}

# disk__detached LOOP DIR: the number may already be somebody else's device.
disk__detached()
{
	local file

	file=$(cat "/sys/block/${1#/dev/}/loop/backing_file" 2>/dev/null) ||
		return 0
	[ "${file% (deleted)}" != "$2/fuse/disk" ]
}

# The first start makes the directory, the traps and the janitor. A disk.sh
# that is sourced again in a subshell shares the disks but not the traps.
disk__prepare()
{
	[ -z "$DISK_ROOT" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		disk__say "loop devices and mounts need root"
		return 1
	fi
	DISK_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/disk.XXXXXX") || return 1
	# Mount tables show the path without symbolic links.
	DISK_ROOT=$(readlink -f "$DISK_ROOT")
	trap disk_cleanup EXIT
	trap 'disk_cleanup; exit 130' INT
	trap 'disk_cleanup; exit 143' TERM
	trap 'disk_cleanup; exit 129' HUP
	setsid bash "$disk__self" janitor $$ "$(disk__birth $$)" \
	    "$DISK_ROOT" </dev/null >/dev/null 2>&1 &
	disk__janitor=$!
	disown "$disk__janitor"
}

# disk_use NAME: this disk from now on.
disk_use()
{
	local dir=$DISK_ROOT/$1

	DISK_NAME=$1
	DISK_MNT=$dir/mnt
	DISK_SOCK=$dir/sock
	DISK_LOOP=$(cat "$dir/loop" 2>/dev/null) || true
	DISK_PID=$(cat "$dir/pid" 2>/dev/null) || true
	DISK_IMG=$(cat "$dir/image" 2>/dev/null) || true
	export DISK_MNT DISK_SOCK DISK_LOOP DISK_PID DISK_IMG
}

disk__attach()
{
	local dir=$DISK_ROOT/$DISK_NAME

	losetup --find --show --direct-io="${DISK_DIRECT:-on}" \
	    "$dir/fuse/disk" >"$dir/loop" || return 1
	disk_use "$DISK_NAME"
	# One request of the block layer, at most a MiB, is one of ours.
	echo 1024 >"/sys/block/${DISK_LOOP#/dev/}/queue/max_sectors_kb"
}

# disk_start IMG SIZE [OPTIONS]: SIZE is ignored if IMG is there. The options
# are disksim's.
disk_start()
{
	local dir img=$1 size=$2 program
	local -a options

	shift 2
	program=$(disk__program) || return 1
	disk__prepare || return 1
	dir=$DISK_ROOT/$DISK_NAME
	if [ -e "$dir/pid" ]; then
		disk__say "'$DISK_NAME' is running"
		return 1
	fi
	mkdir -p "$dir/fuse" "$dir/mnt" || return 1
	img=$(readlink -f "$img") || return 1
	options=("$@")
	[ -s "$img" ] || options+=(--size "$size")
	echo "$img" >"$dir/image"
	printf '%s\0' "$@" >"$dir/options"
	rm -f "$dir/mounted"
	"$program" --background --sock "$dir/sock" --pidfile "$dir/pid" \
	    "${options[@]}" "$img" "$dir/fuse" </dev/null || return 1
	disk_use "$DISK_NAME"
	disk__attach
}

# disk_ctl COMMAND...: see disksim --help.
disk_ctl()
{
	"$(disk__program)" ctl "$DISK_ROOT/$DISK_NAME/sock" "$@"
}

# disk_mkfs ext4|xfs|btrfs [OPTIONS]: nothing is left to do for later, so
# that counters show the test's own work.
disk_mkfs()
{
	local type=$1

	shift
	case $type in
	ext4) mkfs.ext4 -q -F \
		-E nodiscard,lazy_itable_init=0,lazy_journal_init=0 \
		"$@" "$DISK_LOOP" ;;
	xfs) mkfs.xfs -q -f -K "$@" "$DISK_LOOP" ;;
	# It tells of its new defaults, -q or not.
	btrfs) mkfs.btrfs -q -f -K "$@" "$DISK_LOOP" \
		>"$DISK_ROOT/mkfs" 2>&1 || {
		cat "$DISK_ROOT/mkfs" >&2
		return 1
	} ;;
	*)
		disk__say "unknown filesystem '$type'"
		return 1
		;;
	esac
}

# disk_mount [MOUNT OPTIONS]: disk_reopen uses them again. btrfs takes it for
# granted that the 4096 bytes of its superblock are written whole, and can't be
# mounted otherwise, so cuts of its disk have sectors of that size.
disk_mount()
{
	local dir=$DISK_ROOT/$DISK_NAME

	mount "$@" "$DISK_LOOP" "$dir/mnt" || return 1
	printf '%s\0' "$@" >"$dir/mounted"
	[ "$(findmnt -rno FSTYPE -M "$dir/mnt")" != btrfs ] ||
		disk_ctl sector 4096 >/dev/null
}

disk_umount()
{
	umount "$DISK_ROOT/$DISK_NAME/mnt" || return 1
	rm -f "$DISK_ROOT/$DISK_NAME/mounted"
}

# disk_cut SEED [sector=512|4096] [keep=PERCENT] [by=...]: prints what stayed.
disk_cut()
{
	disk_ctl cut "$@"
}

# disk_counters [reset]: JSON.
# shellcheck disable=SC2120 # callers of this file pass it
disk_counters()
{
	disk_ctl counters "$@"
}

# disk_count KEY: one number of the counters.
disk_count()
{
	local json

	json=$(disk_ctl counters) || return 1
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" <<<"$json" | grep . || {
		disk__say "no counter '$1'"
		return 1
	}
}

# From the top down. Each step goes on where the one before failed: whatever
# is stuck above gets EIO once the simulator is gone.
disk__down()
{
	local dir=$DISK_ROOT/$1 ok=0 pid loop

	pid=$(cat "$dir/pid" 2>/dev/null) || true
	loop=$(cat "$dir/loop" 2>/dev/null) || true
	if disk__alive "$pid"; then
		# A held flush would hold the unmount.
		"$(disk__program)" ctl "$dir/sock" thaw >/dev/null 2>&1 || true
	fi
	while disk__mounted "$dir/mnt"; do
		umount "$dir/mnt" 2>/dev/null && continue
		disk__say "'$dir/mnt' is busy, detaching it"
		umount -l "$dir/mnt" || break
	done
	if [ -n "$loop" ] && ! disk__detached "$loop" "$dir"; then
		losetup -d "$loop" 2>/dev/null || true
		# A detached mount that is still in use keeps it until then.
		disk__until 60 disk__detached "$loop" "$dir" || {
			disk__say "'$loop' is still in use"
			ok=1
		}
	fi
	if disk__alive "$pid"; then
		kill -TERM "$pid" 2>/dev/null || true
		disk__until 30 disk__gone "$pid" || {
			disk__say "killing simulator $pid"
			kill -KILL "$pid" 2>/dev/null || true
			disk__until 30 disk__gone "$pid" || ok=1
		}
	fi
	disk__unmounted "$dir/fuse" || umount -l "$dir/fuse" || ok=1
	rm -f "$dir/pid" "$dir/loop" "$dir/sock"
	return $ok
}

# disk_stop: the whole disk in an orderly way; the image stays.
disk_stop()
{
	local ok=0

	disk__down "$DISK_NAME" || ok=1
	rm -rf --one-file-system "${DISK_ROOT:?}/$DISK_NAME" || ok=1
	return $ok
}

# disk_reopen [--no-mount] [OPTIONS]: after a cut, or any other time: the
# same image under a new simulator (with the options of the first, if none are
# given), loop device and kernel mount.
disk_reopen()
{
	local dir=$DISK_ROOT/$DISK_NAME mount=yes
	local -a options mount_options

	if [ "${1:-}" = --no-mount ]; then
		mount=no
		shift
	fi
	[ -e "$dir/mounted" ] || mount=no
	mapfile -d '' -t options <"$dir/options" || return 1
	[ $mount = no ] || mapfile -d '' -t mount_options <"$dir/mounted"
	# printf without arguments still writes one zero byte.
	[ "${options[*]}" != "" ] || options=()
	[ $# = 0 ] || options=("$@")
	disk__down "$DISK_NAME" || return 1
	disk_start "$(cat "$dir/image")" 0 "${options[@]}" || return 1
	[ $mount = yes ] || return 0
	[ "${mount_options[*]}" != "" ] || mount_options=()
	disk_mount "${mount_options[@]}"
}

# All disks of this script. Called again it finds nothing.
disk_cleanup()
{
	local rc=$? it

	[ -n "$DISK_ROOT" ] && [ -d "$DISK_ROOT" ] || return $rc
	cd / || return 1
	for it in "$DISK_ROOT"/*/; do
		[ -d "$it" ] || continue
		it=${it%/}
		disk__down "${it##*/}" || [ $rc != 0 ] || rc=1
	done
	rm -rf --one-file-system "${DISK_ROOT:?}" || [ $rc != 0 ] || rc=1
	if [ -n "$disk__janitor" ]; then
		kill "$disk__janitor" 2>/dev/null || true
	fi
	DISK_ROOT=
	return $rc
}

# janitor PID BIRTH ROOT: wait until that process is gone, then take down its
# disks, with the power cut first: nobody waits for slow flushes then.
disk__janitor_main()
{
	local pid=$1 birth=$2 it

	DISK_ROOT=$3
	while [ -d "$DISK_ROOT" ] && [ "$(disk__birth "$pid")" = "$birth" ]; do
		sleep 0.5
	done
	for it in "$DISK_ROOT"/*/sock; do
		[ -S "$it" ] || continue
		"$(disk__program)" ctl "$it" cut 0 >/dev/null 2>&1 || true
	done
	disk_cleanup
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	case ${1:-} in
	janitor)
		disk__janitor_main "$2" "$3" "$4"
		;;
	*)
		echo "disk: source this file; see its first lines" >&2
		exit 2
		;;
	esac
fi
