#!/bin/bash
# Stores into the holes of a mapping that the capacity has no room for: msync
# says so. The kernel's writeback takes no notice of a short count (G7, G10).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store --capacity 8M
up
python3 -I - "$mnt" <<'EOF' || fail "mapped bytes were lost unseen"
import errno, mmap, os, sys

PAGE = 4096
top = sys.argv[1]
fd = os.open(top + '/sparse', os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(fd, 16 * PAGE)
area = mmap.mmap(fd, 16 * PAGE)
fill = os.open(top + '/fill', os.O_RDWR | os.O_CREAT, 0o600)
for i in range(os.statvfs(top).f_bfree - 3):
    os.pwrite(fill, b'f' * PAGE, i * PAGE)
area[:] = b'x' * (16 * PAGE)
try:
    area.flush()
    sys.exit('msync: no error')
except OSError as err:
    if err.errno not in (errno.ENOSPC, errno.EIO):
        raise
os.ftruncate(fill, 0)
area[:] = b'y' * (16 * PAGE)
area.flush()
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
if os.pread(fd, 16 * PAGE, 0) != b'y' * (16 * PAGE):
    sys.exit('with room again: other bytes')
EOF
crash
recover
up
same 65536 "$(tr -dc y <"$mnt/sparse" | wc -c)" "mapped bytes after a crash"
down
