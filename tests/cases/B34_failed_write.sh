#!/bin/bash
# B34: a write that failed doesn't turn up later: size and bytes stay as they
# were, live and after a crash.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool --capacity 8M
up -o stall=1
py <<'END'
# Whole pages: in the rest of one there would be room.
put('keep', pattern(1, 49152))
fd = os.open('keep', os.O_RDWR)
fill = os.open('fill', os.O_CREAT | os.O_RDWR, 0o600)
try:
    while True:
        os.write(fill, b'f' * 65536)
except OSError as error:
    same(errno.ENOSPC, error.errno, 'errno')
try:
    while True:
        os.write(fill, b'f' * 4096)
except OSError as error:
    same(errno.ENOSPC, error.errno, 'errno')
same('ENOSPC', code(os.pwrite, fd, b'BAD' * 30000, 49152), 'the write')
same(49152, os.fstat(fd).st_size, 'size after the failed write')
same('ENOSPC', code(os.pwrite, fd, b'BAD' * 3000, 1 << 20), 'the far write')
same(49152, os.fstat(fd).st_size, 'size after the far write')
os.ftruncate(fill, 100000)
os.pwrite(fd, b'good', 49152)
os.fsync(fd)
END
for live in live recovered; do
	py "$live" <<'END'
same(pattern(1, 49152) + b'good', get('keep'), 'content ' + sys.argv[1])
END
	if [ "$live" = live ]; then
		crash
		recover
		up
	fi
done
down
