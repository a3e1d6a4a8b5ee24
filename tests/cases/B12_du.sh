#!/bin/bash
# B12: st_blocks and link counts are true: du and find believe them.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
printf 'hello world\n' >"$mnt/a"
same "12 8 512 1" "$(stat -c '%s %b %B %h' "$mnt/a")" "stat"
same 4096 "$(du -B1 "$mnt/a" | cut -f1)" "du"
mkdir -p "$mnt"/n/{1,2,3}
same 5 "$(stat -c %h "$mnt/n")" "links of a directory with three"
same 4 "$(find "$mnt/n" -type d | wc -l)" "directories that find sees"
head -c 1000000 /dev/urandom >"$mnt/b"
ln "$mnt/b" "$mnt/c"
same $(((1000000 + 4095) / 4096 * 4096)) "$(du -B1 "$mnt/c" | cut -f1)" \
	"du of a megabyte"
py <<'END'
st = os.statvfs('.')
used = (st.f_blocks - st.f_bfree) * st.f_frsize
total = 0
seen = set()
for top, dirs, names in os.walk('.'):
    for name in names:
        info = os.lstat(os.path.join(top, name))
        if info.st_ino not in seen:
            total += info.st_blocks * 512
        seen.add(info.st_ino)
true(total <= used <= total + (64 << 10), 'df says %d, du %d' % (used, total))
END
down
