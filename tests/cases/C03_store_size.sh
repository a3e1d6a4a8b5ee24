#!/bin/bash
# C03: rounds of filling and draining with sizes from 1 KiB to 1 MiB: the
# store's file stays within what was reserved, and checkpoints go on.
# timeout: 400
. "$(dirname "$0")/lib.sh"

plain
new_spool --ring-size 4M --capacity 32M
reserved=$(stat -c %s "$store/data.mdb")
up
for round in {1..10}; do
	py "$round" <<'END'
random.seed(int(sys.argv[1]))
total = i = 0
while total < 24 << 20:
    size = 1 << random.randint(10, 20)
    put('f%d' % i, pattern(1, 4096) * (size // 4096), sync=False)
    total += max(size, 4096)
    i += 1
END
	rspoolctl sync "$mnt"
	find "$mnt" -type f -delete
	rspoolctl sync "$mnt"
done
[ "$(status store_db checkpoints)" -gt 5 ] || fail "hardly any checkpoint"
down
spool_verify
size=$(stat -c %s "$store/data.mdb")
[ "$size" -le $((reserved + 1048576)) ] ||
	fail "data.mdb grew from $reserved to $size bytes"
