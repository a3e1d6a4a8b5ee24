#!/bin/bash
# A09: link in the outgoing queue, then unlink in the incoming one: at no
# moment of a crash is a message in neither.
# timeout: 400
# labels: kill san
. "$(dirname "$0")/lib.sh"

rounds=20
if sanitized; then
	rounds=5
fi
plain
new_spool
up
py <<'END'
os.mkdir('in')
os.mkdir('out')
for i in range(2000):
    put('in/%d' % i, b'%d' % i, sync=False)
END
rspoolctl sync "$mnt"
for ((round = 1; round <= rounds; round++)); do
	py >/dev/null 2>&1 <<'END' &
a, b = 'in', 'out'
while True:
    for name in sorted(os.listdir(a)):
        os.link(a + '/' + name, b + '/' + name)
        os.unlink(a + '/' + name)
    a, b = b, a
END
	sleep "0.$((round * 37 % 90 + 10))"
	crash
	wait $! 2>/dev/null || true
	recover
	up
	py <<'END'
a, b = set(os.listdir('in')), set(os.listdir('out'))
same(2000, len(a | b), 'messages')
true(len(a & b) < 2, 'more than one is in both')
for name in a & b:
    x, y = os.stat('in/' + name), os.stat('out/' + name)
    same(x.st_ino, y.st_ino, 'inode of both names')
    same(2, x.st_nlink, 'link count')
for top, names in (('in', a - b), ('out', b - a)):
    for name in names:
        same(1, os.stat(top + '/' + name).st_nlink, 'link count of one name')
        same(name.encode(), get(top + '/' + name), 'content')
for name in a & b:
    os.unlink('in/' + name)
END
done
down
