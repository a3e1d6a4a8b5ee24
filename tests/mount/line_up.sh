#!/bin/bash
# Large files in small writes, more than the ring holds, on a slow disk:
# writers that stand in line for room are let through in batches, not one write
# each for a frame or a checkpoint that makes some.
# timeout: 300
# labels: san
# shellcheck source=lib_disk.sh
. "$(dirname "$0")/lib_disk.sh"

disk_store --capacity 100M --inodes 20000
up
disk_ctl times hdd >/dev/null
writers=32
rounds=5
python3 -I - "$mnt" $writers "$rounds" <<'END'
import os, sys
mnt, writers, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
page = os.urandom(4096)
for w in range(writers):
    if os.fork() == 0:
        for i in range(rounds):
            name = "%s/%d-%d" % (mnt, w, i)
            fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
            for k in range(128):
                os.write(fd, page)
            os.fsync(fd)
            os.close(fd)
        os._exit(0)
codes = [os.wait()[1] for w in range(writers)]
sys.exit(any(codes))
END
disk_ctl times none >/dev/null
writes=$(requests WRITE)
waits=$(status waits)
[ "$writes" = $((writers * rounds * 128)) ] || fail "$writes writes"
same 0 "$(status stalled)" "calls that got ENOSPC"
say "$writes writes, room was awaited $waits times"
[ $((waits * writers * 2)) -lt "$writes" ] ||
	fail "room was awaited $waits times for $writes writes"
down
