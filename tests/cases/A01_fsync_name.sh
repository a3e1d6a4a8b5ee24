#!/bin/bash
# A01: fsync of the file alone also saves its name, and that of the directories
# above, also when nothing but those has changed. Postfix never fsyncs a
# directory.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4
new_spool
up
mkdir "$mnt/incoming"
sync "$mnt/incoming"
for keep in 0 50 100; do
	seed=$keep
	py "$keep" <<'END'
put('incoming/X' + sys.argv[1], pattern(int(sys.argv[1]), 4096))
END
	power "$keep"
	recover
	up
	py "$keep" <<'END'
for keep in (0, 50, 100):
    if keep <= int(sys.argv[1]):
        same(pattern(keep, 4096), get('incoming/X%d' % keep), 'X%d' % keep)
END
done
down

up -o flush_interval=30000
py <<'END'
os.makedirs('a/b')
put('a/b/file', b'mail')
os.rename('a', 'c')
fd = os.open('c/b/file', os.O_RDONLY)
os.fsync(fd)
END
power 0
recover
up
same mail "$(cat "$mnt/c/b/file")" "under the renamed directory"
[ ! -e "$mnt/a" ] || fail "the old name of the directory is back"
down
