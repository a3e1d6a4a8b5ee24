#!/bin/bash
# A02: mode 0700 means "message complete": it is kept, and never stands on a
# message that isn't. noexec doesn't forbid to set it.
# timeout: 300
. "$(dirname "$0")/lib.sh"

plain
new_spool
up -o noexec
py <<'END'
fd = os.open('done', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
write_all(fd, pattern(1, 9000))
os.fchmod(fd, 0o700)
os.fsync(fd)
same(0o100700, os.fstat(fd).st_mode, 'live mode')
END
crash
recover
up
same "700 9000" "$(stat -c '%a %s' "$mnt/done")" "mode and size"

# Killed between fchmod and fsync, and at whatever moment comes.
for round in 1 2 3 4 5 6; do
	py "$round" >"$work/out" 2>&1 <<'END' &
os.mkdir('r' + sys.argv[1])
for i in range(100000):
    name = 'r%s/%d' % (sys.argv[1], i)
    fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    for k in range(3):
        write_all(fd, pattern(i, 9000)[3000 * k:3000 * k + 3000])
    os.fchmod(fd, 0o700)
    os.close(fd)
    if i % 7 == int(sys.argv[1]):
        sync_dir('r' + sys.argv[1])
END
	sleep "0.$((round * 13 % 8))5"
	crash
	wait $! 2>/dev/null || true
	recover
	up
	py <<'END'
for top, _, names in os.walk('.'):
    for name in names:
        path = os.path.join(top, name)
        if name == 'done' or os.stat(path).st_mode & 0o777 != 0o700:
            continue
        same(pattern(int(name), 9000), get(path), path)
END
done
down
