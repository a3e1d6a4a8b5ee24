#!/bin/bash
# Sparse and large files: holes cost nothing, old bytes never come back, also
# not after a crash (B21).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" sparse "$mnt"

rss()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"
}
before=$(rss)
python3 - "$mnt" <<'END'
import os, sys
os.chdir(sys.argv[1])
with open("far", "wb") as f:
    f.seek(5 << 30)
    f.write(b"x")
    os.fsync(f.fileno())
with open("cut", "wb") as f:
    f.write(b"old" * 10000)
    os.ftruncate(f.fileno(), 5000)
    os.ftruncate(f.fileno(), 30000)
    os.fsync(f.fileno())
with open("punched", "wb") as f:
    f.write(b"P" * 50000)
END
if ! sanitized && [ $(($(rss) - before)) -gt 4096 ]; then
	fail "a file of 5 GiB that holds a byte costs $(($(rss) - before)) KiB"
fi
fallocate -p -o 4096 -l 20000 "$mnt/punched"
fallocate -z -n -o 30000 -l 5000 "$mnt/punched"
fallocate -n -l 100000 "$mnt/cut"
cp --sparse=auto "$mnt/far" "$mnt/copy"
same "$(stat -c %b "$mnt/far")" "$(stat -c %b "$mnt/copy")" "the copy's blocks"
same $(((5 << 30) + 1)) "$(stat -c %s "$mnt/copy")" "the copy's size"
# grep looks for holes to tell text from binary
printf 'text\n' >"$mnt/text"
same text "$(grep text "$mnt/text")" "grep's answer"
sums()
{
	(cd "$mnt" && sha256sum cut punched && stat -c '%n %s %b' ./* &&
		tail -c 10 far | od -An -c &&
		head -c 1M copy | sha256sum)
}
sums >"$work/before"
"$ctl" sync "$mnt"
crash
recover
up
sums >"$work/after"
same_tree "$work/before" "$work/after" "sparse files after a crash"
[ "$(tail -c 25000 "$mnt/cut" | tr -d '\0' | wc -c)" = 0 ] ||
	fail "bytes that were cut off came back"
down
up
sums >"$work/after"
same_tree "$work/before" "$work/after" "sparse files after a remount"
down
