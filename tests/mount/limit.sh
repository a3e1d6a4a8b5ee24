#!/bin/bash
# limit= and inodes= of a subtree: ENOSPC there, for volatile and for logged
# ones; the queue beside goes on; what was removed can be filled again; moves
# into it count; df shows it.
# timeout: 120
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up "policy=/small:volatile:limit=2M:inodes=40,policy=/log:limit=1M:inodes=20"
mkdir "$mnt/small" "$mnt/log" "$mnt/q" "$mnt/small/sub" "$mnt/log/sub"

# full WHAT COMMAND...: fails with ENOSPC
full()
{
	if "${@:2}" 2>"$work/err"; then
		fail "no ENOSPC: $1"
	fi
	grep -q 'No space left' "$work/err" || fail "$1: $(cat "$work/err")"
}

# bomb DIR BYTES FREE: fill a file in DIR
bomb()
{
	full "$2 bytes in $1" dd if=/dev/zero of="$1/bomb" bs=16k count=640
	within $(($2 - 65536)) "$2" "$(stat -c %s "$1/bomb")" "size of the bomb"
	within 0 64 "$(df -Pk "$1" | awk 'NR == 2 { print $4 }')" "room there"
	# the queue beside it
	[ "$(df -Pm "$mnt/q" | awk 'NR == 2 { print $4 }')" -gt 20 ] ||
		fail "no room in the queue"
	head -c 3000000 /dev/urandom >"$mnt/q/beside"
	sync "$mnt/q/beside"
	full "a move into the full place" mv "$mnt/q/beside" "$1/moved"
	[ ! -e "$1/moved" ] || rm "$1/moved" # mv copies then, and cleans up
	[ -s "$mnt/q/beside" ] || fail "the file that could not be moved is gone"
	rm "$1/bomb"
	head -c 500000 /dev/zero >"$1/again" || fail "no room after rm"
	rm "$1/again"
}
bomb "$mnt/small/sub" 2097152
bomb "$mnt/log/sub" 1048576

# many DIR MAX: its sub counts, DIR itself does not
many()
{
	local i

	for ((i = 0; i < $2 - 1; i++)); do
		: >"$1/sub/f$i" || fail "file $i of $2 inodes in $1"
	done
	full "one inode more in $1" touch "$1/more"
	full "a directory more in $1" mkdir "$1/more"
	: >"$mnt/q/one" || fail "the queue has no inode left"
	same 0 "$(df -Pi "$1" | awk 'NR == 2 { print $4 }')" "inodes left in $1"
	rm "$1/sub/f1"
	: >"$1/more" || fail "no inode after one was removed"
	rm "$1/more"
}
many "$mnt/small" 40
many "$mnt/log" 20
same 39 "$("$ctl" policy "$mnt" /small --json | json used_inodes)" "used inodes"

# raised at run time, until the rule counts again; where no rule is it is kept.
# A limit below what is there only stops what comes.
"$ctl" policy "$mnt" /log inodes=30
: >"$mnt/log/more"
"$ctl" policy "$mnt" /q limit=1M
full "growth over a limit that is set below" \
	dd if=/dev/zero of="$mnt/q/new" bs=16k count=1
rm -f "$mnt/q/new"
head -c 10 "$mnt/q/beside" >/dev/null
sync_and_crash
up 2>"$work/err"
grep -q "'/log' gives way" "$work/err" || fail "no word about /log"
full "one inode more than the rule allows" touch "$mnt/log/most"
full "growth after a crash" dd if=/dev/zero of="$mnt/q/new" bs=16k count=1
"$ctl" policy "$mnt" /q limit=none
head -c 16384 /dev/zero >"$mnt/q/new"
down
