#!/bin/bash
# Every rule that posixhelp checks holds on tmpfs, or it is no rule.
set -euo pipefail

help=$RS_BUILD/tests/posix/posixhelp
work=$(mktemp -d "${TMPDIR:-/tmp}/posix.XXXXXX")
clean_up()
{
	cd /
	umount "$work" 2>/dev/null || true
	rmdir "$work"
}
trap clean_up EXIT
[ "${TMPDIR:-/tmp}" = /tmp ] || chmod 711 "$TMPDIR"
mount -t tmpfs -o mode=755,inode64 posix "$work"
cd "$work"

run()
{
	echo "posixhelp $*"
	"$help" "$1" "$work" "${@:2}"
}

for command in ctime utimes orphan rename map sparse setid xattr locks \
	lock-move; do
	run $command
	[ "$(ls -A)" = "" ] || { echo "$command left $(ls -A)"; exit 1; }
done
run append 4 500
run flip 2000
run link-pairs 300 1
run scan-rename 2000
run scan-churn 500 1
run seekdir 1000
run signals 500
run special
run links 1000
run list
run mkfiles 1000 n
run statfiles 1000 n 500
run rmfiles 1000 n
run deep 120 50
run deep-check 120 50
run sync-storm 4 10
for kind in o_sync o_dsync rwf_dsync rwf_sync fsync fdatasync fsyncdir; do
	run sync-call $kind $kind
done
run map-sync map
[ "$(run grow big 100000 | tail -1)" = "100000 0" ]
cd /
