#!/bin/bash
# B30: the daemon needs no descriptor for an open file: 20,000 of them and a
# storm of open and close with a limit of 1024.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

files=20000
if sanitized; then
	files=4000
fi
plain
new_spool --capacity 128M --inodes 30000
ulimit -S -n 1024
up
py "$((files / 40))" <<'END' &
each = int(sys.argv[1])
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2000), hard))
pids = []
for k in range(40):
    pid = os.fork()
    if pid:
        pids.append(pid)
        continue
    bad = 0
    try:
        fds = [os.open('%d-%d' % (k, i), os.O_CREAT | os.O_RDWR, 0o600)
               for i in range(each)]
        put('ready%d' % k, b'')
        while not os.path.exists('stop'):
            time.sleep(0.1)
        for fd in fds:
            os.write(fd, b'x')
    except OSError as error:
        print(error, file=sys.stderr)
        bad = 1
    os._exit(bad)
for pid in pids:
    same(0, os.waitpid(pid, 0)[1], 'a holder')
END
holder=$!
all_open()
{
	[ "$(find "$mnt" -name 'ready*' | wc -l)" = 40 ]
}
wait_for 120 all_open || fail "not all are open"
open=$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)
[ "$open" -lt 100 ] || fail "the daemon has $open descriptors"
py <<'END'
def storm(k):
    for i in range(2000):
        os.close(os.open('%d-%d' % (k, i % 50), os.O_RDWR))
import threading
threads = [threading.Thread(target=storm, args=(k,)) for k in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
touch "$mnt/stop"
wait "$holder" || fail "a holder failed"
down
