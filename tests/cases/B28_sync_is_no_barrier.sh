#!/bin/bash
# B28: sync(2) doesn't reach a FUSE daemon; rspoolctl sync is a true barrier,
# for data, names and directories, fsynced or not.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4 --times flush=2000
new_spool
up -o flush_interval=30000
py <<'END'
os.mkdir('d')
for i in range(50):
    put('d/%d' % i, pattern(i, 7000), sync=False)
os.rename('d/0', 'moved')
os.symlink('target', 'link')
END
rspoolctl sync "$mnt"
power 0
recover
up -o flush_interval=30000
py <<'END'
same(49, len(os.listdir('d')), 'files')
same(pattern(0, 7000), get('moved'), 'moved')
same('target', os.readlink('link'), 'link')
for i in range(1, 50):
    same(pattern(i, 7000), get('d/%d' % i), 'd/%d' % i)
END
down
