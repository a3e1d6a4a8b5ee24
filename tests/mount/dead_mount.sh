#!/bin/bash
# A dead mount is found and replaced; open files and directories of the old one
# give errors (B01).
# labels: san kill
. "$(dirname "$0")/lib.sh"

new_store
up
mkdir "$mnt/dir"
echo kept >"$mnt/file"
sync "$mnt/file"
sync "$mnt/dir"
exec 7>>"$mnt/file"
cd "$mnt/dir"
kill -KILL "$daemon"
wait_for 60 ended "$daemon"
if ls "$mnt" 2>"$work/err"; then
	fail "the mount of a killed daemon works"
fi
grep -q 'not connected' "$work/err" || fail "$(cat "$work/err")"

# No umount by hand: mount does it.
up
same 1 "$(grep -c " $mnt fuse" /proc/self/mounts)" "mounts on the mount point"
same kept "$(cat "$mnt/file")" "the file"
if echo more >&7 2>/dev/null; then
	fail "a descriptor of the dead mount can be written"
fi
if python3 -I -c 'import os; os.fsync(7)' 2>/dev/null; then
	fail "a descriptor of the dead mount can be fsynced"
fi
if touch ./there 2>/dev/null; then
	fail "a directory of the dead mount can be written"
fi
[ ! -e "$mnt/dir/there" ] || fail "an old directory leads to the new mount"
cd /
exec 7>&-

# status and umount on a dead mount: clear words, the right exit code
kill -KILL "$daemon"
wait_for 60 ended "$daemon"
expect 3 "$ctl" status "$mnt"
one_line
expect 3 "$ctl" sync "$mnt"
one_line
"$ctl" umount "$mnt" 2>/dev/null || true
! grep -q " $mnt fuse" /proc/self/mounts || fail "umount leaves a dead mount"
up

# Detached by somebody, but still in use: status and umount say so (4, 1).
exec 7>>"$mnt/file"
umount -l "$mnt"
expect 4 "$ctl" status "$mnt"
grep -q detached "$work/out" || fail "status: $(cat "$work/out")"
expect 1 "$ctl" umount "$mnt"
grep -q detached "$work/err" || fail "umount: $(cat "$work/err")"
exec 7>&-
wait_for 60 ended "$daemon" || fail "the daemon outlives its last user"
up
down
