#!/bin/bash
# A16: owners, groups, modes, sizes, times and inode numbers of everything
# inside come back exactly; recovery by root makes nothing root's.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
n = 0
for uid in (0, 65534, 1000, 61001, 4000000000):
    top = 'u%d' % uid
    os.mkdir(top)
    for mode in (0o600, 0o700, 0o640, 0o1777, 0o4711, 0o2755):
        n += 1
        path = '%s/f%o' % (top, mode)
        put(path, pattern(n, 100 * n), sync=False)
        os.chown(path, uid, uid // 2)
        os.chmod(path, mode)
        os.utime(path, ns=(n, 1700000000123456789 + n))
        os.mkdir(path + '.d')
        os.chmod(path + '.d', mode)
        os.chown(path + '.d', uid, 7)
    os.symlink('f600', top + '/link')
    os.lchown(top + '/link', uid, 9)
    os.link(top + '/f600', top + '/hard')
    os.chown(top, uid, uid)
    os.chmod(top, 0o700)
END
rspoolctl sync "$mnt"
list "$mnt" >"$work/before"
crash
recover
up
list "$mnt" >"$work/after"
diff "$work/before" "$work/after" || fail "the tree isn't the same"
down
up
list "$mnt" >"$work/after"
diff "$work/before" "$work/after" || fail "the tree isn't the same later"
down
