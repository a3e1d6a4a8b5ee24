#!/bin/bash
# statfs tells the limits that apply and moves both ways at once (A12, B13).
# labels: san
. "$(dirname "$0")/lib.sh"

# field LETTER: one number of "stat -f"
field()
{
	stat -f -c "%$1" "$mnt"
}

new_store --capacity 64M
up
same "$(field s)" "$(field S)" "block size and fragment size"
same 255 "$(field l)" "longest name"
sane()
{
	within 1 "$(field c)" "$(field d)" "free inodes"
	within 0 "$(field f)" "$(field a)" "available blocks"
	within 0 "$(field b)" "$(field f)" "free blocks"
}
sane
total=$(($(field b) * $(field s)))
within $((60 << 20)) $((65 << 20)) $total "bytes in all"
df "$mnt" | grep -q "$mnt" || fail "df doesn't show the mount"
df -i "$mnt" >/dev/null
same "$(field c)" "$(df --output=itotal "$mnt" | tail -1 | tr -d ' ')" \
	"inodes in df -i"

# Inodes move at once.
free=$(field d)
"$posix" mkfiles "$mnt" 2000 f >/dev/null
same $((free - 2000)) "$(field d)" "free inodes with 2,000 files"
sane
"$posix" rmfiles "$mnt" 2000 f >/dev/null
back()
{
	[ "$(field d)" = "$free" ]
}
# the kernel forgets an inode in its own time
wait_for 20 back || fail "free inodes $(field d) instead of $free again"

# Bytes too: half full is half full.
blocks=$(field a)
head -c 32M /dev/zero >"$mnt/half"
used=$(((blocks - $(field a)) * $(field s)))
within $((32 << 20)) $((34 << 20)) $used "bytes used by 32M"
same "$(stat -c %b "$mnt/half")" $((32 * 2048)) "st_blocks of 32M"
percent=$(($(field a) * 100 / $(field b)))
within 45 53 $percent "percent free of a half-full mount"
# du agrees with df
du=$(du -s -B1 "$mnt" | cut -f1)
within $((used - (1 << 20))) $((used + (1 << 20))) "$du" "bytes by du"
same 13 "$(printf 'hello world\n\n' | tee "$mnt/a" | wc -c)" "bytes"
[ "$(stat -c %b "$mnt/a")" -gt 0 ] || fail "no blocks for 13 bytes (B12)"
rm "$mnt/half" "$mnt/a"
same_space()
{
	[ "$(field a)" -ge "$blocks" ]
}
wait_for 20 same_space || fail "space doesn't come back"

# Full: ENOSPC comes from write, and what is there can still be used.
got=$("$posix" grow "$mnt" big 100000000)
same ENOSPC "${got#* }" "the end of 100 MB in 64 MiB"
[ "${got% *}" -gt $((40 << 20)) ] || fail "full after ${got% *} bytes"
same "${got% *}" "$(stat -c %s "$mnt/big")" "bytes of the file that filled it"
sane
sync "$mnt/big"
mv "$mnt/big" "$mnt/renamed"
chmod 600 "$mnt/renamed"
touch -d @5000000000 "$mnt/renamed"
head -c 1M "$mnt/renamed" >/dev/null
same "${got% *}" "$(tr -d g <"$mnt/renamed" | wc -c |
	awk -v n="${got% *}" '{ print n - $1 }')" "bytes that read back"
rm "$mnt/renamed"
wait_for 20 same_space || fail "space doesn't come back after ENOSPC"
echo again >"$mnt/again"
sync "$mnt/again"

# Inodes run out as well, and not before they should.
rm "$mnt/again"
inodes=$(field d)
if "$posix" mkfiles "$mnt" $((inodes + 1)) i >/dev/null 2>"$work/err"; then
	fail "more files than inodes"
fi
grep -q 'No space left' "$work/err" || fail "no inodes: $(cat "$work/err")"
same "$inodes" "$("$posix" list "$mnt")" "files that fitted"
down
