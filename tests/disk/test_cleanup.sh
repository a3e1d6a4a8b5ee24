#!/bin/bash
# However a script with disks ends, nothing stays: no mount, no loop device, no
# process, no directory; its exit code is its own.
# shellcheck disable=SC2016,SC2119 # scripts in quotes; calls without arguments
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib_check.sh"
TMPDIR=${TMPDIR:-/tmp}
export TMPDIR
work=$(mktemp -d "$TMPDIR/cleanup.XXXXXX")
work=$(readlink -f "$work")
trap 'rm -rf "$work"' EXIT

# with_disks NAME TEXT: the script NAME in $work, which has TEXT to do.
with_disks()
{
	mkdir -p "$work/$1.d"
	printf '%s\n' 'set -euo pipefail' ". '$here/disk.sh'" \
	    "export TMPDIR='$work/$1.d'" "$2" >"$work/$1"
}

left()
{
	grep -F "$work/" /proc/self/mounts || true
	losetup -l -n -O NAME,BACK-FILE | grep -F "$work/" || true
	for it in /proc/[0-9]*; do
		# A process may go while we look.
		if { [ "${it#/proc/}" != $$ ] && tr '\0' ' ' <"$it/cmdline" |
		    grep -F "$work/" | grep -E 'disksim|janitor'; } \
		    2>/dev/null; then
			echo "$it"
		fi
	done
	ls -d "$work"/*.d/disk.* 2>/dev/null || true
}

# nothing_left WHAT: within 20 seconds.
nothing_left()
{
	local try now=

	for ((try = 0; try < 100; try++)); do
		now=$(left)
		if [ -z "$now" ]; then
			echo "ok: $1: nothing is left"
			return 0
		fi
		sleep 0.2
	done
	fail "$1 left: $now"
}

# What the scripts begin with: a mount with a writer in it.
up='disk_start "$TMPDIR/img" 64M; disk_mkfs ext4; disk_mount
echo x >"$DISK_MNT/file"; sync "$DISK_MNT/file"; echo y >"$DISK_MNT/other"'

with_disks fails "$up; touch '$work/up'; false; echo unreached"
rc=0
bash "$work/fails" || rc=$?
same "a failing script's exit code" 1 $rc
true_that "it was up" test -e "$work/up"
nothing_left "a failing script"

with_disks ends "$up; exit 7"
rc=0
bash "$work/ends" || rc=$?
same "an exit code" 7 $rc
nothing_left "a script that ends"

wait_for()
{
	local try

	for ((try = 0; try < 300; try++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	fail "'$1' never came"
}

# A held flush and a slow disk must not hold the end up.
frozen="$up
disk_ctl times flush=1000000 >/dev/null
disk_ctl freeze >/dev/null
sync \"\$DISK_MNT/other\" 2>/dev/null &
disk_ctl wait-held 20000 >/dev/null
touch '$work/ready'"
for signal in TERM HUP KILL; do
	rm -f "$work/ready"
	with_disks "frozen$signal" "$frozen
		while :; do sleep 0.1; done"
	bash "$work/frozen$signal" &
	pid=$!
	wait_for "$work/ready"
	kill -$signal $pid
	wait $pid 2>/dev/null || true
	nothing_left "SIG$signal during a held flush"
done

with_disks cut "$up; disk_cut 1 >/dev/null; touch '$work/was_cut'"
bash "$work/cut"
true_that "it was cut" test -e "$work/was_cut"
nothing_left "the end after a cut"

with_disks dead "$up; kill -KILL \$DISK_PID; touch '$work/was_dead'"
bash "$work/dead"
true_that "it was dead" test -e "$work/was_dead"
nothing_left "the end after the simulator was killed"

with_disks two 'for name in ring store; do
	disk_use $name
	disk_start "$TMPDIR/$name.img" 64M
	disk_mkfs ext4
	disk_mount
	echo $name >"$DISK_MNT/name"
	sync "$DISK_MNT/name"
done
disk_use ring
disk_cut 1 >/dev/null
disk_use store
[ "$(cat "$DISK_MNT/name")" = store ]
echo more >"$DISK_MNT/more"
sync "$DISK_MNT/more"
disk_use ring
disk_reopen
[ "$(cat "$DISK_MNT/name")" = ring ]'
bash "$work/two"
echo "ok: two disks in a script"
nothing_left "two disks"

with_disks left_side "$up; for i in 1 2 3; do disk_cut \$i; disk_reopen; done"
with_disks right_side "$up; for i in 1 2 3; do disk_cut \$i; disk_reopen; done"
bash "$work/left_side" >/dev/null &
left_pid=$!
bash "$work/right_side" >/dev/null
wait $left_pid
echo "ok: two scripts at once"
nothing_left "two scripts at once"

# Somebody else, here this script, keeps the mount busy: it is detached, its
# script says so, and the loop device goes when the file is closed.
with_disks busy "$up
ln -s \"\$DISK_MNT\" '$work/link'; touch '$work/busy_up'
wait_for_it() { until [ -e '$work/held' ]; do sleep 0.1; done; }
wait_for_it"
bash "$work/busy" 2>"$work/said" &
pid=$!
wait_for "$work/busy_up"
exec 9<"$work/link/file"
touch "$work/held"
rc=0
wait $pid || rc=$?
true_that "a busy mount is reported" grep -q "is busy" "$work/said"
[ $rc != 0 ] || fail "a busy mount should fail the script"
exec 9<&-
nothing_left "a busy mount"
