#!/bin/bash
# B05: the daemon is frozen (suspend, a cgroup's freezer) while others call
# sync and look at the mount: all come back when it goes on, nothing is lost.
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
fd = os.open('mapped', os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(fd, 1 << 20)
END
export STOP=$work/stop
# Dirty pages, a lock and writes when it stops.
py 2>"$work/writer.err" <<'END' &
fd = os.open('mapped', os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
area = mmap.mmap(fd, 1 << 20)
put('ready', b'')
while not os.path.exists(os.environ['STOP']):
    area[:] = pattern(1, 1 << 20)
    put('n%d' % time.monotonic_ns(), pattern(2, 5000), sync=False)
area.flush()
END
writer=$!
wait_for 20 test -e "$mnt/ready" || fail "no writer"
kill -STOP "$daemon"
sync &
syncer=$!
ls -l "$mnt" >/dev/null &
lister=$!
flock -n "$mnt/mapped" true & # kernel-local: may or may not need the daemon
locker=$!
sleep 2
kill -CONT "$daemon"
touch "$STOP"
for pid in $syncer $lister; do
	wait_for 60 gone "$pid" || fail "$pid hangs after the thaw"
	wait "$pid" || fail "$pid failed"
done
if wait "$locker"; then
	fail "the lock was lost"
fi
kill "$writer" 2>/dev/null || true
wait "$writer" 2>/dev/null || true
rspoolctl sync "$mnt"
crash
recover
up
py <<'END'
for name in os.listdir('.'):
    if name.startswith('n'):
        data = get(name)
        same(pattern(2, 5000)[:len(data)], data, name)
END
down
