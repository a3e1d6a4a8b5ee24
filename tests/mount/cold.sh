#!/bin/bash
# A spool larger than RAM: data goes cold and comes back, and writes that wait
# for RAM don't wait for the flush interval.
# labels: san
. "$(dirname "$0")/lib.sh"

"$ctl" init "$store" --ring-size 16M --capacity 256M >/dev/null
up ram=16M,flush_interval=3600000
mkdir "$mnt/queue"
# one file larger than RAM, and many that are together
head -c 60M /dev/urandom >"$mnt/large"
for i in {1..200}; do
	head -c 300000 /dev/urandom >"$mnt/queue/$i"
done
# also one in the middle of which RAM ends in a single call
python3 -I - "$mnt/once" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
assert os.write(fd, b"once" * (10 << 20)) == 40 << 20
END
within $((16 << 20)) $((160 << 20)) "$(status space cold)" "cold bytes"
within 0 $((16 << 20)) "$(status ram used)" "bytes of RAM"
sums()
{
	(cd "$mnt" && sha256sum large once queue/*)
}
sums >"$work/before"
echo 3 >/proc/sys/vm/drop_caches
sums >"$work/after"
same_tree "$work/before" "$work/after" "cold data"
# a change in the middle of what is cold
printf changed | dd of="$mnt/large" bs=1 seek=30000001 conv=notrunc status=none
printf more >>"$mnt/queue/7"
truncate -s 100001 "$mnt/queue/8"
fallocate -p -o 4097 -l 50000 "$mnt/queue/9"
sums >"$work/before"
"$ctl" sync "$mnt"
crash
recover
up
sums >"$work/after"
same_tree "$work/before" "$work/after" "cold data after a crash"
same changed "$(tail -c +30000002 "$mnt/large" | head -c 7)" "the change"
same 0 "$(tail -c +4098 "$mnt/queue/9" | head -c 50000 | tr -d '\0' | wc -c)" \
	"bytes in the hole"
down
