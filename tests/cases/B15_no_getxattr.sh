#!/bin/bash
# B15: writing doesn't ask for security.capability each time: a guard for the
# round trips.
# labels: san
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
for i in range(20):
    fd = os.open('f%d' % i, os.O_CREAT | os.O_RDWR, 0o600)
    for k in range(500):
        os.pwrite(fd, b'x' * 4096, 4096 * (k % 20))
    os.close(fd)
END
asked=$({ rspoolctl status "$mnt" --json || [ $? = 4 ]; } | python3 -c '
import json, sys
print(json.load(sys.stdin)["requests"].get("GETXATTR", 0))')
written=$(status requests WRITE)
[ "$written" -ge 10000 ] || fail "only $written writes were counted"
[ "$asked" -le 1 ] || fail "$asked GETXATTR for $written writes"
down
