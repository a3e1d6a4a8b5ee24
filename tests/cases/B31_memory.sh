#!/bin/bash
# B31: memory of deleted files comes back, and so does the space that statfs
# and status show.
# timeout: 400
. "$(dirname "$0")/lib.sh"

plain
new_spool --ring-size 16M --capacity 64M --inodes 20000
up
used=$(status space used)
for round in 1 2 3 4 5 6 7 8; do
	py <<'END'
for i in range(5000):
    put('f%d' % i, pattern(1, 4096), sync=False)
for i in range(5000):
    same(4096, len(get('f%d' % i)), 'size')
    os.unlink('f%d' % i)
END
	rspoolctl sync "$mnt"
	rss=$(rss_kb)
	say "round $round: $rss kB"
	[ "$round" != 3 ] || third=$rss
done
[ "$rss" -le $((third + third / 5)) ] ||
	fail "RSS grows: $third kB in round 3, $rss kB in round 8"
py <<'END'
for i in range(40000):
    put('a', b'', sync=False)
    os.rename('a', 'b')
    os.unlink('b')
END
[ "$(rss_kb)" -le $((third + third / 5)) ] || fail "RSS grew: $(rss_kb) kB"
echo 2 >/proc/sys/vm/drop_caches
rspoolctl sync "$mnt"
same "$used" "$(status space used)" "used space after all"
down
