# shellcheck shell=bash
# What the runs share that kill the daemon or cut the power. For sourcing.
#
# The tree under test is a rspool mount whose store lies on a simulated disk
# (tests/disk/disk.sh), or with RS_CRASH_BACKEND=plain a directory of that
# disk's own filesystem: that tries the rig itself.
#
#	case_begin FS [DISKSIM OPTIONS]   disk, filesystem, work directory
#	spool_init RING CAPACITY          the store; spool_mount serves it
#	writers_start OPTIONS             ledger run in the background
#	...                               the accident
#	power_back                        the disk under a fresh kernel mount
#	spool_recover; spool_mount; judge
#
# The daemon is found by its store on its command line, so that a test never
# touches another's.
set -euo pipefail

crash_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
backend=${RS_CRASH_BACKEND:-rspool}
# A ring below 16M is for tests.
export RSPOOL_TEST_RING=1

# shellcheck source=SCRIPTDIR/../disk/disk.sh
. "$crash_dir/../disk/disk.sh"

say()
{
	printf '%s\n' "$*"
}

fail()
{
	printf 'FAILED: %s\n' "$*"
	exit 1
}

# enter "$@": the script's first call.
enter()
{
	need_root
	disk_own_mounts "$0" "$@"
}

# Tests that mount need root; ctest calls 77 skipped.
need_root()
{
	[ "$(id -u)" = 0 ] || {
		echo "needs root: mounts and loop devices" >&2
		exit 77
	}
	[ -x "${RS_BUILD:?names the build directory}/tests/crash/ledger" ] ||
		fail "no program 'ledger' in '$RS_BUILD/tests/crash'"
	[ "$backend" = plain ] || [ -x "$RS_BUILD/tools/rspoolctl" ] ||
		fail "no rspoolctl in '$RS_BUILD/tools'"
}

ledger()
{
	"$RS_BUILD/tests/crash/ledger" "$@"
}

rspoolctl()
{
	timeout -k 5 "${ctl_seconds:-60}" "$RS_BUILD/tools/rspoolctl" "$@"
}

# --- one case -------------------------------------------------------------

work_begin()
{
	work=$(mktemp -d "${TMPDIR:-/tmp}/crash.XXXXXX")
	work=$(readlink -f "$work")
	facts=$work/ledger
	mnt=$work/mnt
	store=$work/store
	writers=
	mkdir "$mnt"
	trap work_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

work_end()
{
	local rc=$? pid

	trap - EXIT
	set +e
	if [ -n "$writers" ]; then
		kill -KILL -- "-$writers" 2>/dev/null
	fi
	pid=$(spool_pid)
	[ -z "$pid" ] || kill -KILL "$pid"
	umount -l "$mnt" 2>/dev/null
	[ -z "$pid" ] || wait_for 20 gone "$pid"
	disk_cleanup
	if [ $rc != 0 ] && [ -n "${RS_CRASH_KEEP:-}" ]; then
		cp "$facts" "$RS_CRASH_KEEP/" 2>/dev/null
		cp "$work"/*.img "$RS_CRASH_KEEP/" 2>/dev/null
	fi
	cd /
	rm -rf --one-file-system "$work"
	exit $rc
}

# case_begin FS [DISKSIM OPTIONS]
case_begin()
{
	host_fs=$1
	shift
	work_begin
	# The traps of disk.sh give way to ours, which call its clean-up.
	disk_start "$work/disk.img" 320M "$@"
	trap work_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	disk_mkfs "$host_fs"
	disk_mount
	disks=(d0)
	store=$DISK_MNT/store
	if [ "$backend" = plain ]; then
		mnt=$DISK_MNT/tree
	fi
}

# second_disk [DISKSIM OPTIONS]: for the ring, which then is ring_file.
second_disk()
{
	disk_use d1
	disk_start "$work/ring.img" 64M "$@"
	disk_mkfs ext4
	disk_mount
	disks+=(d1)
	# shellcheck disable=SC2034 # the caller's
	ring_file=$DISK_MNT/ring
	disk_use d0
}

# wait_for SECONDS COMMAND...
wait_for()
{
	local left=$(($1 * 20))

	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}

# gone PID: no such process, or one that only waits to be reaped.
gone()
{
	local state

	state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" \
		2>/dev/null) || return 0
	[ -z "$state" ] || [ "$state" = Z ]
}

# --- chance ---------------------------------------------------------------

# chance SEED: what roll gives from here on depends on it alone.
chance()
{
	RANDOM=$((($1 * 7919 + 17) % 32768))
}

# roll FROM TO: sets rolled. Not a command substitution, whose subshell would
# draw from a generator of its own.
roll()
{
	# shellcheck disable=SC2034
	rolled=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1)))
}

# --- the tree under test --------------------------------------------------

# spool_init RING CAPACITY [OPTIONS]
spool_init()
{
	local ring=$1 capacity=$2

	shift 2
	if [ "$backend" = plain ]; then
		mkdir "$mnt"
		sync -f "$DISK_MNT"
		return
	fi
	rspoolctl init "$store" --ring-size "$ring" --capacity "$capacity" \
		"$@" >"$work/init.log" 2>&1 || {
		cat "$work/init.log"
		fail "init of '$store'"
	}
}

spool_pid()
{
	local it pid

	[ -n "${store:-}" ] || return 0
	for it in $(grep -lsaF "$store" /proc/[0-9]*/cmdline || true); do
		pid=$(cut -d/ -f3 <<<"$it")
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = rspoold ]; then
			echo "$pid"
		fi
	done
}

# spool_mount [-o OPTIONS]
# shellcheck disable=SC2120
spool_mount()
{
	local rc=0

	[ "$backend" != plain ] || return 0
	rspoolctl mount "$store" "$mnt" "$@" >"$work/mount.log" 2>&1 || rc=$?
	[ $rc = 0 ] || {
		cat "$work/mount.log"
		fail "mount of '$store': exit code $rc"
	}
}

# The daemon dies at once, and its mount with it.
spool_kill()
{
	local pid

	[ "$backend" != plain ] || return 0
	for pid in $(spool_pid); do
		kill -KILL "$pid" 2>/dev/null || true
		wait_for 30 gone "$pid" || fail "daemon $pid doesn't die"
	done
	while disk__mounted "$mnt"; do
		umount -l "$mnt" || break
	done
}

spool_umount()
{
	[ "$backend" != plain ] || return 0
	rspoolctl umount "$mnt" >"$work/umount.log" 2>&1 || {
		cat "$work/umount.log"
		fail "umount of '$mnt'"
	}
}

# spool_recover: exit code 0, or recover_rc if that is set.
spool_recover()
{
	local rc=0

	[ "$backend" != plain ] || return 0
	rspoolctl recover "$store" >"$work/recover.log" 2>&1 || rc=$?
	[ $rc = "${recover_rc:-0}" ] || {
		cat "$work/recover.log"
		fail "recover of '$store': exit code $rc"
	}
}

spool_verify()
{
	local rc=0

	[ "$backend" != plain ] || return 0
	rspoolctl verify "$store" >"$work/verify.log" 2>&1 || rc=$?
	[ $rc = 0 ] || {
		cat "$work/verify.log"
		fail "verify of '$store': exit code $rc"
	}
}

# spool_status KEY: a string, number or word of the JSON.
spool_status()
{
	{ rspoolctl status "$mnt" --json || [ $? = 4 ]; } | sed -n \
		"s/.*\"$1\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\}[,}].*/\1/p" |
		head -n 1
}

is_red()
{
	[ "$(spool_status state 2>&1)" = red ]
}

# --- writers and the check ------------------------------------------------

# writers_start [ledger run OPTIONS]
writers_start()
{
	# A group of its own, so that all can be ended.
	set -m
	ledger run "$@" "$facts" "$mnt" >"$work/writers.log" 2>&1 &
	writers=$!
	set +m
}

# They end by themselves, at their limits or with the tree. Sets writers_rc.
writers_wait()
{
	local pid=$writers

	writers_rc=0
	[ -n "$pid" ] || return 0
	wait_for "${writers_seconds:-180}" gone "$pid" || {
		ps -o pid,stat,wchan:30,args -g "$pid" || true
		fail "the writers don't end"
	}
	wait "$pid" || writers_rc=$?
	writers=
	cat "$work/writers.log"
	[ $writers_rc = 0 ] || [ $writers_rc = 3 ] ||
		fail "the writers: exit code $writers_rc"
}

phase_begin()
{
	ledger init -s "${1:-1}" "$facts" "$mnt"
}

# judge [ledger check OPTIONS]
judge()
{
	[ "$backend" != plain ] || set -- -w
	ledger check "$@" "$facts" "$mnt" >"$work/check.log" 2>&1 || {
		cat "$work/check.log"
		fail "the tree isn't what was acknowledged"
	}
	tail -n 1 "$work/check.log"
}

# A cut between the two sectors of ext4's superblock is repaired as at boot,
# from a copy; btrfs likewise. That isn't what is tested here.
host_repair()
{
	case $host_fs in
	ext4) e2fsck -fy "$DISK_LOOP" >"$work/fsck.log" 2>&1 || [ $? -lt 4 ] ;;
	btrfs) btrfs rescue super-recover -y "$DISK_LOOP" \
		>"$work/fsck.log" 2>&1 || [ $? = 2 ] ;;
	*) return 1 ;;
	esac
}

# After a cut: the same media, fresh simulators, loop devices and mounts.
power_back()
{
	local disk

	for disk in "${disks[@]}"; do
		disk_use "$disk"
		disk_back
	done
	disk_use d0
	store=$DISK_MNT/store
}

# shellcheck disable=SC2119
disk_back()
{
	disk_reopen 2>"$work/reopen.log" || {
		disk__alive "$DISK_PID" && host_repair && disk_mount
	} || {
		cat "$work/reopen.log"
		fail "the disk's filesystem doesn't come back"
	}
}

# The recovered spool is as good as any: work on it, and end orderly.
go_on()
{
	phase_begin 99
	writers_start -s "${1:-1}" -n 3 -c 60 -t 20
	writers_wait
	judge -l
	[ $writers_rc = 0 ] || fail "the recovered tree died"
	[ "$backend" != plain ] || return 0
	spool_umount
	spool_verify
	# shellcheck disable=SC2119
	spool_mount
	judge -l -a
	spool_umount
}
