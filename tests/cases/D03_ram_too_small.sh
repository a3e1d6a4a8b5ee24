#!/bin/bash
# D03: less room is configured than the store holds: refused before anything
# is visible, with the numbers; or served whole. Nothing stored is touched.
# timeout: 300
. "$(dirname "$0")/lib.sh"

plain
new_spool --capacity 64M
up
py <<'END'
for i in range(40):
    put('m%d' % i, pattern(i, 1 << 20), sync=False)
END
down
for option in capacity=20M ram=16M inodes=64; do
	rc=0
	rspoolctl mount "$store" "$mnt" -o "$option" >"$work/out" \
		2>"$work/err" || rc=$?
	if [ $rc = 0 ]; then
		say "$option: served"
		py <<'END'
for i in range(40):
    same(pattern(i, 1 << 20), get('m%d' % i), 'm%d' % i)
    os.stat('m%d' % i)
END
		daemon=$(spool_pid)
		down
	else
		say "$option: $(cat "$work/err")"
		! mountpoint -q "$mnt" || fail "$option: half a mount"
		[ -z "$(spool_pid)" ] || fail "$option: a daemon is left"
		grep -q '[0-9]' "$work/err" || fail "$option: no numbers"
	fi
done
spool_verify
up
py <<'END'
for i in range(40):
    same(pattern(i, 1 << 20), get('m%d' % i), 'm%d' % i)
END
down
