#!/bin/bash
# B29: one fsync of a directory saves every entry change made in it before;
# of a renamed or removed directory it gives 0.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4
new_spool
up -o flush_interval=30000
py <<'END'
os.mkdir('d')
for i in range(110):
    put('d/%d' % i, pattern(i, 100), sync=False)
sync_dir('d')
for i in range(110, 210):
    put('d/%d' % i, pattern(i, 100), sync=False)
for i in range(50):
    os.rename('d/%d' % i, 'd/r%d' % i)
for i in range(100, 110):
    os.unlink('d/%d' % i)
sync_dir('d')
END
power 0
recover
up -o flush_interval=30000
py <<'END'
want = {'r%d' % i for i in range(50)} | {'%d' % i for i in range(50, 100)} | \
    {'%d' % i for i in range(110, 210)}
same(want, set(os.listdir('d')), 'entries')
for name in want:
    same(pattern(int(name.strip('r')), 100), get('d/' + name), name)

os.mkdir('gone')
os.mkdir('moved')
gone = os.open('gone', os.O_RDONLY)
moved = os.open('moved', os.O_RDONLY)
os.rmdir('gone')
os.rename('moved', 'elsewhere')
put('elsewhere/x', b'x', sync=False)
os.fsync(gone)
os.fsync(moved)
END
seed=2
power 0
recover
up
same x "$(cat "$mnt/elsewhere/x")" "in the renamed directory"
[ ! -e "$mnt/moved" ] || fail "the old name is back"
down
