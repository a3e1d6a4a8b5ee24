#!/bin/bash
# Scans: one that renames as it goes ends (B33); names that stay are seen once
# while others come and go; positions, d_type and d_ino are right.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up dev
mkdir "$mnt/scan"
"$posix" scan-rename "$mnt/scan" "$(scaled 2000)"
same "" "$(ls -A "$mnt/scan")" "entries left"
"$posix" scan-churn "$mnt/scan" 700 "$(scaled 10)"
same "" "$(ls -A "$mnt/scan")" "entries left"
"$posix" seekdir "$mnt" 3000
"$posix" seekdir "$mnt" 1

mkdir "$mnt/types" "$mnt/types/dir"
echo >"$mnt/types/file"
ln -s nowhere "$mnt/types/link"
mkfifo "$mnt/types/fifo"
mknod "$mnt/types/null" c 1 3
mknod "$mnt/types/block" b 4095 1
same 6 "$("$posix" list "$mnt/types")" "entries"
same 0 "$("$posix" list "$mnt/types/dir")" "entries"

# A listing that was read before shows what has changed since.
ls "$mnt/types" >/dev/null
touch "$mnt/types/new"
rm "$mnt/types/fifo"
mv "$mnt/types/link" "$mnt/types/renamed"
same "block dir file new null renamed" \
	"$(cd "$mnt/types" && echo *)" "a second listing"
down
