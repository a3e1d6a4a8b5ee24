#!/bin/bash
# Where a store may lie: not inside its own mount, with a warning on what a
# power cut empties (C10).
# labels: san
. "$(dirname "$0")/lib.sh"

# warned PATTERN COMMAND...: it works, and says so on stderr
warned()
{
	local pattern=$1

	shift
	expect 0 "$@"
	grep -qi "$pattern" "$work/err" ||
		fail "no word about $pattern on stderr: '$err'"
}

# below its own mount point: the store would be under the mount
mkdir "$work/over"
"$ctl" init "$work/over/store" --ring-size 16M --capacity 16M >/dev/null
expect 1 "$ctl" mount "$work/over/store" "$work/over"
one_line
! mountpoint -q "$work/over" || fail "mounted over its own store"
[ -e "$work/over/store/rspool.id" ] || fail "the store is gone"

# inside another rspool mount
new_store
up
expect 1 "$ctl" init "$mnt/inside" --ring-size 16M --capacity 16M
one_line
same "" "$(ls -A "$mnt")" "what a refused init leaves"
down

# tmpfs: works, with a warning
mkdir "$work/tmpfs"
mount -t tmpfs -o size=300m store "$work/tmpfs"
expect 0 "$ctl" init "$work/tmpfs/s" --ring-size 16M --capacity 16M
warned tmpfs "$ctl" mount "$work/tmpfs/s" "$mnt"
daemon=$(status pid)
echo works >"$mnt/file"
sync "$mnt/file"
same works "$(cat "$mnt/file")" "a file in a store on tmpfs"
down

# overlay: likewise
mkdir "$work/o" "$work/tmpfs/upper" "$work/tmpfs/work"
mount -t overlay store -o \
	"lowerdir=$work/o,upperdir=$work/tmpfs/upper,workdir=$work/tmpfs/work" \
	"$work/o"
expect 0 "$ctl" init "$work/o/s" --ring-size 16M --capacity 16M
warned overlay "$ctl" mount "$work/o/s" "$mnt"
daemon=$(status pid)
down
umount "$work/o"
umount "$work/tmpfs"

# ext4 and xfs: not a word
for type in ext4 xfs; do
	loop_fs $type 400M "$work/$type"
	expect 0 "$ctl" init "$work/$type/s" --ring-size 16M --capacity 16M
	same "" "$err" "what init says on $type"
	expect 0 "$ctl" mount "$work/$type/s" "$mnt"
	same "" "$err" "what mount says on $type"
	daemon=$(status pid)
	down
	umount "$work/$type"
done
