#!/bin/bash
# D01: the end comes while a writer still works: what was acknowledged to it
# is there, and it gets an error, not silence; the power goes right after.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4
new_spool
up -o stop_timeout=3
py >"$work/acked" 2>"$work/writer.err" <<'END' &
fd = os.open('counter', os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
for i in range(10**9):
    try:
        os.write(fd, b'%08d\n' % i)
        os.fsync(fd)
    except OSError as error:
        sys.exit(errno.errorcode[error.errno])
    print(i, flush=True)
END
writer=$!
sleep 1
# Busy: changes nothing and names the pids.
refused rspoolctl umount "$mnt"
echo alive >"$mnt/still" || fail "the refused umount broke the mount"
rc=0
kill -TERM "$daemon"
wait_for 60 gone "$daemon" || fail "the daemon doesn't end"
wait_for 20 gone "$writer" || fail "the writer hangs"
wait "$writer" && fail "the writer saw no error"
power 0
recover
up
# the end of the writer's shell says FAILED there too
last=$(grep -E '^[0-9]+$' "$work/acked" | tail -n 1)
[ "$last" -gt 3 ] || fail "hardly anything was acknowledged"
py "$last" <<'END'
lines = get('counter').split(b'\n')
true(len(lines) > int(sys.argv[1]), '%d lines, acknowledged were %s' %
     (len(lines), sys.argv[1]))
for i, line in enumerate(lines[:-1]):
    same(b'%08d' % i, line, 'line %d' % i)
END
down
