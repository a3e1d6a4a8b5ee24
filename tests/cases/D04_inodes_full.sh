#!/bin/bash
# D04: the inodes end before the bytes: ENOSPC where one is asked for, seen
# in df -i and status; all of it comes back.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool --inodes 2000
up
py <<'END'
first = os.statvfs('.')
n = 0
while True:
    result = code(put, 'f%d' % n, b'', 0o600, False)
    if result != 'ok':
        break
    n += 1
same('ENOSPC', result, 'the first that failed')
true(1900 <= n <= 2000, 'full after %d' % n)
same('ENOSPC', code(os.mkdir, 'd'), 'mkdir')
same('ENOSPC', code(os.symlink, 'x', 'l'), 'symlink')
st = os.statvfs('.')
same(0, st.f_favail, 'df -i')
true(st.f_bavail * 2 > st.f_blocks, 'bytes are free')
# What needs no inode goes on.
put('f0', pattern(1, 100000), flags=os.O_TRUNC)
os.rename('f1', 'f2')
os.link('f3', 'hard')
os.unlink('hard')
for i in range(2, n):
    os.unlink('f%d' % i)
os.unlink('f0')
st = os.statvfs('.')
same(first.f_ffree, st.f_ffree, 'free inodes after all')
for i in range(n):
    put('g%d' % i, b'', sync=False)
END
[ "$(status state)" != green ] || fail "status is green without an inode"
down
