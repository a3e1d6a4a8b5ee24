#!/bin/bash
# A13: a limit is seen before mail is refused: status names RAM, inodes and
# ring, and statvfs counts the scarcer of what limits.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool --capacity 16M --inodes 1000
up
before=$(status space used)
py <<'END'
first = os.statvfs('.')
for i in range(800):
    put('f%d' % i, b'', sync=False)
st = os.statvfs('.')
same(800, first.f_ffree - st.f_ffree, 'inodes that went')
true(st.f_ffree * 100 < 25 * st.f_files, 'df -i: %d of %d free' %
     (st.f_ffree, st.f_files))
put('big', pattern(1, 15 << 20))
st = os.statvfs('.')
true(st.f_bavail * 100 < 10 * st.f_blocks, 'df: %d of %d blocks free' %
     (st.f_bavail, st.f_blocks))
END
[ "$(status space used)" -ge $((before + 15 * 1024 * 1024)) ] ||
	fail "status: space used is $(status space used)"
[ "$(status inodes used)" -ge 800 ] || fail "status: inodes"
for key in ram ring space inodes; do
	status "$key" >/dev/null || [ $? = 4 ] || fail "status without '$key'"
done
[ "$(status ring size)" -gt 0 ] || fail "status: ring size"
[ "$(status state)" != green ] ||
	fail "status is green at 94 % of the space and 80 % of the inodes"
down
