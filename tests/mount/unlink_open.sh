#!/bin/bash
# Files and directories without a name: usable to the last close, their memory
# comes back, and they don't (B35, G8).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" orphan "$mnt"
same "" "$(ls -A "$mnt")" "entries left"
find "$mnt" -name '.fuse_hidden*' | grep -q . && fail ".fuse_hidden is there"

# Memory is freed at close, not at unlink.
"$ctl" sync "$mnt"
used=$(status space used)
exec 7<>"$mnt/big"
head -c 8M /dev/urandom >&7
rm "$mnt/big"
[ "$(status space used)" -ge $((used + 8 * 1024 * 1024)) ] ||
	fail "an open file without a name costs nothing"
exec 7>&-
freed()
{
	[ "$(status space used)" -le "$used" ]
}
wait_for 20 freed || fail "the space of a closed orphan doesn't come back"

# Removed and replaced while open, then a crash: they stay away.
echo one >"$mnt/removed"
echo two >"$mnt/replaced"
echo new >"$mnt/fresh"
"$ctl" sync "$mnt"
exec 7<>"$mnt/removed" 8<>"$mnt/replaced"
inodes=$(status inodes used)
rm "$mnt/removed"
mv "$mnt/fresh" "$mnt/replaced"
echo more >&7
echo more >&8
python3 -c 'import os; os.fsync(7); os.fsync(8)'
"$ctl" sync "$mnt"
crash
exec 7>&- 8>&-
recover
up
same "replaced" "$(ls -A "$mnt")" "entries after the crash"
same new "$(cat "$mnt/replaced")" "the file that replaced"
same $((inodes - 2)) "$(status inodes used)" "inodes after the crash"
down
