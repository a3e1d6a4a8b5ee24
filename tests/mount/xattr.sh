#!/bin/bash
# Extended attributes with the option; without it one question at most, and
# never again (B15).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" mkfiles "$mnt" 50 f >/dev/null
for _ in {1..200}; do
	echo line >>"$mnt/f000001"
done
[ "$(requests GETXATTR)" -le 1 ] ||
	fail "$(requests GETXATTR) GETXATTR requests for 200 writes"
for _ in 1 2 3; do
	if setfattr -n user.a -v x "$mnt/f000001" 2>"$work/err"; then
		fail "an xattr was set without the option"
	fi
	grep -q 'not supported' "$work/err" || fail "$(cat "$work/err")"
	getfattr -d "$mnt/f000002" >/dev/null 2>&1 || true
done
for opcode in GETXATTR SETXATTR LISTXATTR; do
	[ "$(requests $opcode)" -le 1 ] ||
		fail "$(requests $opcode) requests of $opcode"
done
down

up xattr
"$posix" xattr "$mnt"
mkdir "$mnt/d"
echo text >"$mnt/d/f"
setfattr -n user.short -v value "$mnt/d/f"
setfattr -n trusted.binary -v 0x000102ff "$mnt/d/f"
setfattr -n user.on-dir -v there "$mnt/d"
setfattr -n user.long -v "$(head -c 4000 /dev/zero | tr '\0' L)" "$mnt/d/f"
setfattr -h -n trusted.link -v l "$(ln -s x "$mnt/l" && echo "$mnt/l")"
setfattr -n user.removed -v x "$mnt/d/f"
sync "$mnt/d/f"
setfattr -x user.removed "$mnt/d/f"
dump()
{
	(cd "$mnt" && getfattr -h -R -m - -d -e hex . | sort)
}
dump >"$work/before"
"$ctl" sync "$mnt"
crash
recover
up
dump >"$work/after"
same_tree "$work/before" "$work/after" "xattrs after a crash"
mv "$mnt/d/f" "$mnt/d/g"
ln "$mnt/d/g" "$mnt/d/h"
same value "$(getfattr --only-values -n user.short "$mnt/d/h")" \
	"an xattr by another name"
# gone with its file: a new one of the same name has none
rm "$mnt/d/g" "$mnt/d/h"
echo >"$mnt/d/f"
same "" "$(getfattr -m - -d "$mnt/d/f")" "xattrs of a new file"
down
# still there after a mount without the option in between
up ""
down
up xattr
same there "$(getfattr --only-values -n user.on-dir "$mnt/d")" \
	"an xattr after a mount without them"
# they count against the capacity, whose disk space is reserved: they end with
# ENOSPC, and all comes back
free=$(stat -f -c %f "$mnt")
python3 -I - "$mnt" <<'END'
import errno, os, sys
value, taken = os.urandom(60000), 0
for i in range(40):
    path = '%s/full%d' % (sys.argv[1], i)
    open(path, 'w').close()
    for k in range(60):
        try:
            os.setxattr(path, 'user.%d' % k, value)
        except OSError as e:
            assert e.errno == errno.ENOSPC, e
            assert 55 << 20 < taken <= 64 << 20, taken
            sys.exit(0)
        taken += len(value)
sys.exit('%d bytes of xattrs in a spool of 64 MiB' % taken)
END
within 0 16 "$(stat -f -c %f "$mnt")" "free blocks of a spool full of xattrs"
rm "$mnt"/full*
within $((free - 16)) "$free" "$(stat -f -c %f "$mnt")" "free blocks afterwards"
down
