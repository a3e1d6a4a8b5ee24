#!/bin/bash
# Small things that an administrator meets: an init that was killed, control
# clients that ask nothing, an OUT that can't be written.
# labels: san
. "$(dirname "$0")/lib.sh"

# --- init, killed
mkdir "$store"
: >"$store/intent.log"
expect 1 "$ctl" init "$store" --capacity 16M
one_line
grep -q 'init was cut short' <<<"$err" || fail "an unfinished init: $err"
[ -e "$store/intent.log" ] || fail "init removed what it found"
rm "$store/intent.log"
: >"$store/notes"
expect 1 "$ctl" init "$store" --capacity 16M
grep -q 'not empty' <<<"$err" || fail "foreign files: $err"
rm "$store/notes"

# --- the daemon's memory is its own: no core, no other reader
new_store
up
grep -q '^Max core file size *0 ' "/proc/$daemon/limits" || fail "core limit"
# (a sanitizer's mlock does nothing)
if ! sanitized; then
	grep -q '^VmLck:.* [1-9][0-9]* kB' "/proc/$daemon/status" ||
		fail "nothing is locked"
	awk '/^[0-9a-f]+-/ { big = 0 }
		/^Size:/ && $2 >= 2048 { big = 1 }
		/^Locked:/ && big && $2 > 1024 { locked = 1 }
		/^VmFlags:/ && locked { if (!/ dd/) bad = 1; locked = 0; n++ }
		END { exit bad || !n }' "/proc/$daemon/smaps" ||
		fail "locked memory would be in a core dump"
fi

# --- 32 clients that ask nothing
python3 -I - /run/rspool/"$(status id)".sock <<'END'
import json, socket, sys, time
idle = []
for i in range(32):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    idle.append(s)
time.sleep(0.5)
begin = time.monotonic()
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.sendall(b'{"cmd":"sync"}\n')
    if not json.loads(s.makefile().readline())["ok"]:
        sys.exit("no answer")
print("an answer after %.1f s beside 32 idle clients" %
      (time.monotonic() - begin))
closed = 0
for s in idle:
    s.setblocking(False)
    try:
        closed += s.recv(1) == b""
    except BlockingIOError:
        pass
if not 1 <= closed <= 8:
    sys.exit("%d idle clients were ended for one that asks" % closed)
END
head -c 3000000 /dev/urandom >"$mnt/mail"
sync_and_crash

# --- an OUT without room is no damage of the store
mkdir "$work/small"
mount -t tmpfs -o size=1M small "$work/small"
expect 1 "$ctl" recover "$store" --to "$work/small/out"
grep -q 'No space left' <<<"$err" || fail "a full OUT: $err"
umount "$work/small"
mkdir "$work/dir"
expect 0 "$ctl" recover "$store" --to "$work/dir/a"
