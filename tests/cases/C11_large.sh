#!/bin/bash
# C11: recovery works in bounded steps: many files, one large one, little
# memory; killed in the middle and run again it gives the same.
# timeout: 900
# labels: slow
. "$(dirname "$0")/lib.sh"

files=${1:-20000}
plain
new_spool --ring-size 256M --capacity 512M --inodes 40000
up
py "$files" <<'END'
for i in range(int(sys.argv[1])):
    if i % 1000 == 0:
        os.mkdir('d%d' % (i // 1000))
    put('d%d/%d' % (i // 1000, i), b'%d' % i * 50, sync=False)
fd = os.open('large', os.O_CREAT | os.O_RDWR, 0o600)
for i in range(64):
    write_all(fd, pattern(i, 4096) * 256)
os.fsync(fd)
END
rspoolctl sync "$mnt"
list "$mnt" | sha256sum >"$work/before"
crash
for i in 1 2 3 4; do
	"$RS_BUILD/tools/rspoolctl" recover "$store" >/dev/null 2>&1 &
	sleep "0.$((i * 2 - 1))"
	kill -KILL $! 2>/dev/null || true
	wait $! 2>/dev/null || true
done
python3 - "$RS_BUILD/tools/rspoolctl" "$store" <<'END'
import resource, subprocess, sys
subprocess.run([sys.argv[1], 'recover', sys.argv[2]], check=True,
               stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print('recover: %d kB at most' % peak)
# Pages of the store's map are counted too; far less than ring and spool.
if peak > 300000:
    sys.exit('recover took %d kB' % peak)
END
spool_verify
up
list "$mnt" | sha256sum >"$work/after"
same "$(cat "$work/before")" "$(cat "$work/after")" "the tree"
rm -rf "${mnt:?}"/*
same "" "$(ls -A "$mnt")" "what rm left"
down
spool_verify
