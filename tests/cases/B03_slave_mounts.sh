#!/bin/bash
# B03: a container with rslave propagation sees the new mount after a
# restart of the daemon.
. "$(dirname "$0")/lib.sh"

plain
mkdir "$work/shared"
mount --bind "$work/shared" "$work/shared"
mount --make-shared "$work/shared"
mnt=$work/shared/spool
mkdir "$mnt"
new_spool
up
echo one >"$mnt/file"
sync "$mnt/file"
mkfifo "$work/ask" "$work/answer"
# shellcheck disable=SC2016 # the container expands them
unshare --mount --propagation slave bash -c '
	while read -r path; do
		cat "$path" 2>&1 || true
	done <"$1" >"$2"' - "$work/ask" "$work/answer" &
container=$!
exec 7>"$work/ask" 8<"$work/answer"
echo "$mnt/file" >&7
read -r said <&8
same one "$said" "in the container"
crash
recover
up
echo "$mnt/file" >&7
read -r said <&8
same one "$said" "in the container after a restart"
exec 7>&- 8<&-
wait "$container"
down
umount "$work/shared"
