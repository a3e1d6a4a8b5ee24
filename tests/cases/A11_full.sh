#!/bin/bash
# A11: the spool is full: an error at write or open, never at close alone; no
# crash; and everything that needs no space goes on.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool --capacity 16M
up -o stall=2
py <<'END'
for i in range(10):
    put('qf%d' % i, b'queued %d' % i)
fd = os.open('one', os.O_CREAT | os.O_RDWR, 0o600)
data = pattern(1, 20 << 20)
n = os.write(fd, data)
true(0 < n < len(data), 'a short count: %d' % n)
same('ENOSPC', code(os.write, fd, data), 'the write after it')
same(n, os.fstat(fd).st_size, 'size after the short write')
os.fsync(fd)
os.close(fd)
same(data[:n], get('one'), 'what was written')
os.unlink('one')

# Room is back for the very next write, though the kernel's FORGET, which
# gives it back, comes behind the unlink.
for i in range(30):
    fd = os.open('again%d' % i, os.O_CREAT | os.O_WRONLY, 0o600)
    same(n - (1 << 20), os.write(fd, data[:n - (1 << 20)]), 'round %d' % i)
    os.close(fd)
    os.unlink('again%d' % i)

# but what is removed and open holds its room
held = os.open('held', os.O_CREAT | os.O_RDWR, 0o600)
same(n - (1 << 20), os.write(held, data[:n - (1 << 20)]), 'held')
os.unlink('held')
fd = os.open('more', os.O_CREAT | os.O_WRONLY, 0o600)
true(os.write(fd, data[:4 << 20]) < 4 << 20, 'beside what is held')
same('ENOSPC', code(os.write, fd, data[:1 << 20]), 'beside what is held')
os.close(fd)
os.close(held)
os.unlink('more')

# by 4 KiB
fd = os.open('many', os.O_CREAT | os.O_RDWR, 0o600)
total = 0
while True:
    try:
        total += os.write(fd, data[:4096])
    except OSError as error:
        same(errno.ENOSPC, error.errno, 'errno')
        break
true(total > 8 << 20, 'full after %d bytes' % total)
os.fsync(fd)
os.close(fd)
st = os.statvfs('.')
true(st.f_bavail * st.f_frsize < 1 << 20, 'df at 100 %%: %d' % st.f_bavail)

os.rename('qf0', 'Qf0')
os.unlink('qf1')
os.chmod('qf2', 0o640)
os.utime('qf3', (1, 2000000000))
same(b'queued 4', get('qf4'), 'reading')
fd = os.open('qf5', os.O_RDONLY)
os.fsync(fd)
os.close(fd)
sync_dir('.')

os.truncate('many', total - (1 << 20))
put('again', pattern(2, 1 << 19))
END
# Still the same daemon, and all of it is on disk.
same "$daemon" "$(spool_pid)" "the daemon"
crash
recover
up
py <<'END'
same(pattern(2, 1 << 19), get('again'), 'what was written last')
same(True, os.path.exists('Qf0'), 'the rename')
same(False, os.path.exists('qf1'), 'the unlink')
same(2000000000, int(os.stat('qf3').st_mtime), 'the time')
END
down
