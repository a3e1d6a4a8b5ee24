#!/bin/bash
# The option protect: the bare directory takes no files while nothing is
# mounted; umount --unprotect takes that back.
# labels: san
. "$(dirname "$0")/lib.sh"

loop_fs ext4 16M "$work/fs"
mkdir "$work/fs/spool"
mnt=$work/fs/spool
new_store
up
! lsattr -d "$mnt" 2>/dev/null | cut -d' ' -f1 | grep -q i ||
	fail "protected without being asked"
down
touch "$mnt/file"
rm "$mnt/file"
up protect
echo mail >"$mnt/mail"
# by a crash, which is when it matters
sync_and_crash
expect 1 touch "$mnt/file"
grep -q 'not permitted' <<<"$err" || fail "a bare directory: $err"
expect 1 mkdir "$mnt/dir"
up protect
same mail "$(cat "$mnt/mail")" "the spool over a protected directory"
down
lsattr -d "$mnt" | cut -d' ' -f1 | grep -q i || fail "not immutable: $(lsattr -d "$mnt")"
expect 1 touch "$mnt/file"
# without the option it stays: somebody wanted it once
up
down
expect 1 touch "$mnt/file"
up
down --unprotect
touch "$mnt/file"
rm "$mnt/file"
# with nothing mounted
chattr +i "$mnt"
expect 3 "$ctl" umount "$mnt" --unprotect
touch "$mnt/file"
rm "$mnt/file"
umount "$work/fs"
# where the filesystem has no such flag that is said, and it serves
mkdir "$work/bare"
mount -t ramfs bare "$work/bare"
mkdir "$work/bare/spool"
mnt=$work/bare/spool
expect 0 "$ctl" mount "$store" "$mnt" -o protect
grep -q 'cannot protect' <<<"$err" || fail "no warning: $err"
daemon=$(status pid)
status warnings | grep -q 'cannot protect' || fail "no warning in status"
down
umount "$work/bare"
