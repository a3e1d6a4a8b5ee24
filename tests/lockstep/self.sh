#!/bin/bash
# lockstep on two tmpfs trees: whatever differs there, the program made up.
set -euo pipefail

work=$(mktemp -d "${TMPDIR:-/tmp}/lockstep.XXXXXX")
clean_up()
{
	umount "$work/a" "$work/b" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT

mkdir "$work/a" "$work/b"
mount -t tmpfs -o noatime,inode64,mode=755,dev lockstep "$work/a"
mount -t tmpfs -o noatime,inode64,mode=755,dev lockstep "$work/b"
"$RS_BUILD/tests/lockstep/lockstep" -A -x -s "${RS_SEED:-11}" -n 30000 \
	"$work/a" "$work/b"
# It must also be able to fail: a yardstick that has no room.
umount "$work/b"
mount -t tmpfs -o noatime,inode64,mode=755,dev,size=64k lockstep "$work/b"
rm -rf "${work:?}/a/"* "$work/a/".[!.]*
rc=0
"$RS_BUILD/tests/lockstep/lockstep" -A -s 12 -n 5000 "$work/a" "$work/b" \
	>"$work/out" || rc=$?
if [ $rc != 1 ] || ! grep -q '^replay: ' "$work/out"; then
	echo "self: a full yardstick was not noticed" >&2
	exit 1
fi
