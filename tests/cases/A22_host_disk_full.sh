#!/bin/bash
# A22, C04: the store's disk fills up with other things. The room that the
# spool was promised is there all the same; beyond it the call that asks for
# space says so and nothing else; when there is room, all goes on by itself.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4
new_spool --capacity 24M
up -o stall=2
head -c 1G /dev/zero >"$DISK_MNT/other" 2>/dev/null || true
sync -f "$DISK_MNT" || true
[ "$(stat -f -c %a "$DISK_MNT")" -lt 100 ] || fail "the disk isn't full"
py <<'END'
acked = []
for i in range(100000):
    try:
        put('m%d' % i, pattern(i, 64000))
    except OSError as error:
        same('ENOSPC', errno.errorcode[error.errno], 'full')
        break
    os.rename('m%d' % i, 'q%d' % i)
    acked.append(i)
true(len(acked) * 64000 > 20 << 20, 'only %d files of 24 MiB' % len(acked))
os.path.exists('m%d' % i) and os.unlink('m%d' % i)
for i in acked[::2]:
    os.unlink('q%d' % i)
for i in acked[::2]:
    put('again%d' % i, pattern(i + 7, 64000))
END
[ "$(status state)" != red ] || fail "status is red: $(status why)"
list "$mnt" >"$work/before"
crash
# Recovery needs no room of the disk either.
recover
spool_verify
up
list "$mnt" >"$work/after"
diff "$work/before" "$work/after" || fail "the tree isn't the same"
rm "$DISK_MNT/other"
py <<'END'
for name in os.listdir('.'):
    os.unlink(name)
for i in range(300):
    put('new%d' % i, pattern(i, 64000))
END
down

# Too little room for a new store is said at once, and nothing is left.
head -c 1G /dev/zero >"$DISK_MNT/other" 2>/dev/null || true
refused rspoolctl init "$DISK_MNT/second" --ring-size 1M --capacity 64M
[[ $said = *room* ]] || fail "init on a full disk: '$said'"
[ ! -e "$DISK_MNT/second/rspool.id" ] || fail "a half store is left"
