#!/bin/bash
# Postfix's calls from 20 processes, the daemon killed in them five times.
# After each recovery every acknowledged message is there: name = inode
# number, mode 0700, time, every byte; and what was removed before the last
# acknowledged one began is gone.
# timeout: 300
# labels: kill san
set -euo pipefail

replay=$RS_BUILD/tests/replay/replay
ctl=$RS_BUILD/tools/rspoolctl
kills=${RS_KILLS:-5}
seed=${RS_SEED:-$(($(date +%s) % 100000))}
work=$(mktemp -d "${TMPDIR:-/tmp}/kill.XXXXXX")
store=$work/store
mnt=$work/mnt
ledger=$work/ledger
daemon=
traffic=

fail()
{
	echo "FAILED (seed $seed): $*" >&2
	exit 1
}

leave()
{
	local rc=$?

	trap - EXIT
	set +e
	[ -z "$traffic" ] || kill -KILL "$traffic" 2>/dev/null
	if mountpoint -q "$mnt"; then
		"$ctl" umount "$mnt" || umount -l "$mnt"
	fi
	[ -z "$daemon" ] || gone || kill -KILL "$daemon"
	rm -rf --one-file-system "$work"
	exit $rc
}

# The first thread is a zombie while others still hold the store's lock.
gone()
{
	local states

	states=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$daemon/task/"*/status \
		2>/dev/null) || true
	[ -z "${states//[ZX[:space:]]/}" ]
}

mount_it()
{
	"$ctl" mount "$store" "$mnt" || fail "mount: exit code $?"
	mountpoint -q "$mnt" || fail "'$mnt' isn't mounted"
	# 4: degraded, as with a full ring to replay
	daemon=$({ "$ctl" status "$mnt" --json || [ $? = 4 ]; } | python3 -c \
		'import json, sys; print(json.load(sys.stdin)["pid"])')
	[ -n "$daemon" ] || fail "status: no pid"
}

kill_it()
{
	local i

	kill -KILL "$daemon"
	for ((i = 0; i < 300; i++)); do
		! gone || break
		sleep 0.1
	done
	gone || fail "the daemon $daemon doesn't die"
	daemon=
}

check()
{
	"$replay" --check "$ledger" --unique-inodes "$mnt" ||
		fail "the tree isn't what the ledger says, after kill $1"
}

trap leave EXIT
trap 'exit 143' TERM
RANDOM=$seed
echo "seed $seed, $kills kills"
mkdir "$mnt"
"$ctl" init "$store" --ring-size 64M --capacity 1G ||
	fail "init: exit code $?"
for ((i = 1; i <= kills; i++)); do
	mount_it
	[ "$i" = 1 ] || check $((i - 1))
	"$replay" --run "$i" --seed "$seed" --procs 20 --seconds 60 \
		--size 1000:100000 --keep 20 --set-times --ledger "$ledger" \
		"$mnt" >"$work/json" &
	traffic=$!
	sleep "$((RANDOM % 3)).$((RANDOM % 10))$((RANDOM % 10))"
	! [ -s "$work/json" ] || fail "it ended: $(cat "$work/json")"
	kill_it
	rc=0
	wait "$traffic" || rc=$?
	traffic=
	cat "$work/json"
	# 3: a call failed, as it must. Anything else isn't the dead mount.
	[ $rc = 3 ] || fail "replay ended with exit code $rc"
	# Every second time mount alone has to do it.
	[ $((i % 2)) = 0 ] || "$ctl" recover "$store" ||
		fail "recover: exit code $?"
done
mount_it
check "$kills"
"$ctl" umount "$mnt" || fail "umount: exit code $?"
daemon=

# And once more from the store alone, after an orderly end.
mount_it
check "$kills"
"$ctl" umount "$mnt" || fail "umount: exit code $?"
daemon=
