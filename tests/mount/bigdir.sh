#!/bin/bash
# 300,000 files in one directory: no operation gets slow, and recovery is
# linear in time and memory (A21).
# timeout: 900
# labels: slow
. "$(dirname "$0")/lib.sh"

"$ctl" init "$store" --ring-size 64M --capacity 64M --inodes 400000 >/dev/null
up
mkdir "$mnt/small" "$mnt/big"

# µs each, small directory first: the factor shows what a search would cost
small_make=$("$posix" mkfiles "$mnt/small" 10000 f)
big_make=$("$posix" mkfiles "$mnt/big" 300000 f)
echo 2 >/proc/sys/vm/drop_caches
small_stat=$("$posix" statfiles "$mnt/small" 10000 f 5000)
big_stat=$("$posix" statfiles "$mnt/big" 300000 f 5000)
say "create: $small_make µs each of 10,000, $big_make of 300,000"
say "stat:   $small_stat µs each of 10,000, $big_stat of 300,000"
# A linear search would be 30 times slower; the bound leaves room for noise.
flat()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(b < 15 * a) }'
}
flat "$small_make" "$big_make" || fail "create gets slow"
flat "$small_stat" "$big_stat" || fail "stat gets slow"
same 300000 "$(find "$mnt/big" -type f | wc -l)" "entries listed"
same 300000 "$("$posix" list "$mnt/big")" "entries with the right inode"

"$ctl" sync "$mnt"
crash
kib=$("$posix" rss / "$ctl" recover "$store" 2>"$work/recovered")
say "recover with 310,000 files: $kib KiB at most"
[ "$kib" -lt $((700 * 1024)) ] || fail "recovery takes $kib KiB"
up
same 300000 "$("$posix" list "$mnt/big")" "entries after the crash"
big_remove=$("$posix" rmfiles "$mnt/big" 300000 f)
small_remove=$("$posix" rmfiles "$mnt/small" 10000 f)
say "unlink: $small_remove µs each of 10,000, $big_remove of 300,000"
flat "$small_remove" "$big_remove" || fail "unlink gets slow"
same 0 "$("$posix" list "$mnt/big")" "entries left"

# 4096 empty directories, as hashed queues have them
for i in {0..63}; do
	mkdir "$mnt/small/$i" "$mnt/small/$i/"{0..63}
done
same 4161 "$(find "$mnt/small" -type d | wc -l)" "directories"
down
