#!/bin/bash
# A08: mail moves between two queues under one mount by link and unlink:
# never EXDEV, and a lock goes with the inode.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
os.mkdir('mqueue.in')
os.mkdir('mqueue')
for name in ('dfA', 'qfA'):
    put('mqueue.in/' + name, b'x')
LOCK = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)

def taken(path):
    """In another process: are both locks refused?"""
    pid = os.fork()
    if not pid:
        fd = os.open(path, os.O_RDWR)
        one = code(fcntl.fcntl, fd, fcntl.F_SETLK, LOCK)
        two = code(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os._exit(0 if one != 'ok' and two != 'ok' else 1)
    return os.waitpid(pid, 0)[1] == 0

fd = os.open('mqueue.in/qfA', os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLK, LOCK)
fcntl.flock(fd, fcntl.LOCK_EX)
true(taken('mqueue.in/qfA'), 'not locked under the old name')
os.link('mqueue.in/dfA', 'mqueue/dfA')
os.link('mqueue.in/qfA', 'mqueue/qfA')
true(taken('mqueue/qfA'), 'not locked under both names')
os.unlink('mqueue.in/qfA')
os.unlink('mqueue.in/dfA')
true(taken('mqueue/qfA'), 'not locked under the new name')
os.rename('mqueue/qfA', 'mqueue.in/qfB')
true(taken('mqueue.in/qfB'), 'not locked after a rename')
os.close(fd)
true(not taken('mqueue.in/qfB'), 'locked after close')
END
down
