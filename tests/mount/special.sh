#!/bin/bash
# FIFOs, sockets and device nodes (B18): usable, and back after a crash.
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up dev
"$posix" special "$mnt"
mknod "$mnt/null" c 1 3
mknod "$mnt/zero" c 1 5
mknod -m 600 "$mnt/block" b 4095 1048575
chown "$alice:$staff" "$mnt/fifo"
echo gone >"$mnt/null"
same "" "$(cat "$mnt/null")" "what /dev/null gives"
same 5 "$(head -c 5 "$mnt/zero" | wc -c)" "bytes from /dev/zero"
snapshot >"$work/before"
sync_and_crash
recover
up
snapshot >"$work/after"
same_tree "$work/before" "$work/after" "special files after a crash"
same "1:3" "$(stat -c %t:%T "$mnt/null")" "the device's numbers"

# Left-over sockets and FIFOs can be removed and made again.
rm "$mnt/fifo" "$mnt/sock" "$mnt/log"
"$posix" special "$mnt"
down

# Without "dev" the nodes are there but dead; FIFOs and sockets work.
up ""
rm "$mnt/fifo" "$mnt/sock" "$mnt/log"
"$posix" special "$mnt"
if cat "$mnt/null" 2>/dev/null; then
	fail "a device works on a mount without 'dev'"
fi
down
