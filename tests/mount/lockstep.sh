#!/bin/bash
# The same random system calls on the mount and on tmpfs, compared after each;
# now and then the mount is replaced, in order or after a crash.
# timeout: 900
# labels: san slow
set -euo pipefail

# between STORE MNT OPTIONS TURN: what lockstep runs, every file closed
between()
{
	local ctl=$RS_BUILD/tools/rspoolctl turn pid

	turn=$(cat "$4")
	echo $((turn + 1)) >"$4"
	if [ $((turn % 2)) = 0 ]; then
		"$ctl" umount "$2"
	else
		pid=$({ "$ctl" status "$2" --json || [ $? = 4 ]; } |
			python3 -c 'import json,sys
print(json.load(sys.stdin)["pid"])')
		"$ctl" sync "$2"
		kill -KILL "$pid"
		while kill -0 "$pid" 2>/dev/null; do
			sleep 0.1
		done
		umount -l "$2"
		"$ctl" recover "$1" >/dev/null
	fi
	"$ctl" mount "$1" "$2" -o "$3"
}
if [ "${1:-}" = between ]; then
	shift
	between "$@"
	exit
fi

. "$(dirname "$0")/lib.sh"

# run_lockstep STEPS MOUNT-OPTIONS BALLAST OPTION...: with so many bytes
# beside the tree that is compared
run_lockstep()
{
	local steps=$1 options=$2 ballast=$3 sum
	local calls=(-c $((steps / 6))
		-C "bash '$0' between '$store' '$mnt' '$options' '$work/turn'")

	shift 3
	# what is volatile does not outlive the mount
	[[ $options != *:volatile* ]] || calls=()
	"$ctl" init "$store" --ring-size 16M --capacity 256M >/dev/null
	up "$options"
	mkdir -p "$work/tmpfs" "$mnt/tree"
	head -c "$ballast" /dev/urandom >"$mnt/ballast"
	sum=$(sha256sum <"$mnt/ballast")
	mount -t tmpfs -o noatime,inode64,mode=755,dev lockstep "$work/tmpfs"
	echo 0 >"$work/turn"
	"$RS_BUILD/tests/lockstep/lockstep" -s "${RS_SEED:-1}" -n "$steps" \
		"${calls[@]}" "$@" "$mnt/tree" "$work/tmpfs"
	umount "$work/tmpfs"
	same "$sum" "$(sha256sum <"$mnt/ballast")" "the ballast"
	daemon=$(status pid)
	down
	rm -r "$store"
}

run_lockstep "$(scaled 100000)" dev,suid 0
run_lockstep "$(scaled 20000)" dev,suid,xattr,noatime 0 -x -A
# more data than RAM: it goes to the store and comes back
run_lockstep "$(scaled 20000)" dev,suid,ram=16M 50M
# directories of all policies, and everything moves between them
run_lockstep "$(scaled 20000)" "dev,suid,xattr,policy=/tree/a:volatile,\
policy=/tree/**/c:volatile,policy=/tree/a/b:fsync,policy=/tree/d:interval,\
policy=/tree/**/b:rename" 0 -x
