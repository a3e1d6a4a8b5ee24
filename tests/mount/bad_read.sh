#!/bin/bash
# A message whose data has rotted in the store: reading it gives EIO, and
# nobody has to find out by reading. Status is red at once, the next recovery
# says so with exit code 5, until it is accepted. All other mail is served.
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
python3 - "$mnt" <<'END'
import os, sys
for i in range(20):
    fd = os.open('%s/m%d' % (sys.argv[1], i), os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, (b'message %04d ' % i) * 400)
    os.fsync(fd)
    os.close(fd)
END
down
# one byte of message 7, wherever the store keeps it
python3 - "$store/data.mdb" <<'END'
import sys
with open(sys.argv[1], 'r+b') as f:
    data = f.read()
    at = data.rindex(b'message 0007 message 0007')
    f.seek(at + 9)
    f.write(b'9')
END
up
if cat "$mnt/m7" >"$work/out" 2>"$work/err"; then
	fail "a damaged message was served"
fi
grep -q 'Input/output error' "$work/err" || fail "$(cat "$work/err")"
for i in {0..6} {8..19}; do
	same "$(printf 'message %04d ' "$i")" "$(head -c 13 "$mnt/m$i")" "m$i"
done
same red "$(status_json | json state)" "state after the read"
same 1 "$(status_json | json damage)" "damage after the read"
down
code=0
"$RS_BUILD/tools/rspoolctl" recover "$store" >"$work/out" 2>&1 || code=$?
same 5 "$code" "recover: $(cat "$work/out")"
code=0
"$RS_BUILD/tools/rspoolctl" recover --accept "$store" >"$work/out" 2>&1 ||
	code=$?
same 0 "$code" "recover --accept: $(cat "$work/out")"
up
same green "$(status_json | json state)" "state after --accept"
rm "$mnt/m7"
down
