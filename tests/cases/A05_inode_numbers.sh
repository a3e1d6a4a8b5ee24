#!/bin/bash
# A05: st_ino survives rename, a dropped cache, a remount and recovery, and
# is never given twice: Postfix and qmail name mail after it.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

check()
{
	py "$1" <<'END'
n = 0
for top, _, names in os.walk('.'):
    for name in names:
        path = os.path.join(top, name)
        same('%X' % os.stat(path).st_ino, name, path + ' ' + sys.argv[1])
        n += 1
same(500, n, 'files ' + sys.argv[1])
END
}

plain
new_spool
up
py <<'END'
for name in ('incoming', 'active', 'deferred'):
    os.mkdir(name)
for i in range(500):
    fd = os.open('incoming/tmp', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    name = '%X' % os.fstat(fd).st_ino
    os.rename('incoming/tmp', 'incoming/' + name)
    os.write(fd, b'mail')
    os.fsync(fd)
    os.close(fd)
    if i % 3:
        os.rename('incoming/' + name, 'active/' + name)
    if i % 3 == 2:
        os.rename('active/' + name, 'deferred/' + name)
sync_dir('.')
END
check live
echo 2 >/proc/sys/vm/drop_caches
check "after drop_caches"
crash
recover
up
check "after a crash"
down
up
check "after a remount"

# Numbers of files that were never logged count too.
py >"$work/first" <<'END'
for top, _, names in os.walk('.'):
    for name in names:
        print(os.stat(os.path.join(top, name)).st_ino)
        os.unlink(os.path.join(top, name))
for i in range(300):
    fd = os.open('incoming/x', os.O_CREAT | os.O_EXCL, 0o600)
    print(os.fstat(fd).st_ino)
    os.unlink('incoming/x')
    os.close(fd)
END
crash
recover
up
py >"$work/second" <<'END'
for i in range(800):
    put('incoming/n%d' % i, b'', sync=False)
    print(os.stat('incoming/n%d' % i).st_ino)
END
same 800 "$(sort -u "$work/first" | wc -l)" "different numbers at first"
same 1600 "$(sort -u "$work/first" "$work/second" | wc -l)" "numbers in all"
down
