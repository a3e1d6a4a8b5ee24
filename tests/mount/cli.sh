#!/bin/bash
# Command lines: help of every verb, JSON that parses, exit codes.
# labels: san
. "$(dirname "$0")/lib.sh"

# help and version: on stdout, 0, nothing on stderr
for verb in init mount umount status sync policy check recover verify dump; do
	expect 0 "$ctl" $verb --help
	same "" "$err" "stderr of $verb --help"
	grep -q "$verb" "$work/out" || fail "$verb --help doesn't name it"
	grep -qi usage "$work/out" || fail "$verb --help has no usage line"
	expect 0 "$ctl" --help
	grep -q "^ *$verb\|rspoolctl $verb" "$work/out" ||
		fail "--help doesn't list $verb"
done
expect 0 "$rspoold" --help
same "" "$err" "stderr of rspoold --help"
expect 0 "$ctl" --version
same "" "$err" "stderr of --version"

# json KIND COMMAND...: exit code 0 and one JSON value
is_json()
{
	expect 0 "$@"
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' \
		"$work/out" || fail "no JSON from: $*"
	same "" "$err" "stderr of: $*"
}
"$ctl" init "$store" --ring-size 16M --capacity 64M >"$work/out"
same "700 0:0" "$(stat -c '%a %u:%g' "$store")" "mode of a new store"
for file in rspool.id intent.log data.mdb; do
	[ -s "$store/$file" ] || fail "no '$file' in a new store"
done
is_json "$ctl" verify "$store" --json
is_json "$ctl" recover "$store" --dry-run --json
is_json "$ctl" recover "$store" --json
up
"$posix" sync-storm "$mnt" 2 5
is_json "$ctl" status "$mnt" --json
python3 - "$work/out" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
for key in ("store mount pid version state why policy "
            "flush_interval ram space inodes ring unsynced store_db durable "
            "requests damage errors uptime_s".split()):
    assert key in s, key
assert s["state"] == "green", s["state"]
assert s["requests"]["FSYNC"] >= 10, s["requests"]
assert s["ring"]["flushes"] >= 1, s["ring"]
assert s["inodes"]["used"] >= 11, s["inodes"]
END
expect 0 "$ctl" status "$mnt"
grep -q "$mnt" "$work/out" || fail "status doesn't name the mount"
# all mounts: also those of tests beside this one, whatever their state
"$ctl" status >"$work/out" 2>/dev/null || true
grep -q "$mnt" "$work/out" || fail "status without MNT doesn't list the mount"
expect 0 "$ctl" sync "$mnt"
same 0 "$(status unsynced bytes)" "unsynced bytes after sync"
down
is_json "$ctl" dump "$store" --json
expect 0 "$ctl" dump "$store"
[ -n "$out" ] || fail "dump says nothing"
expect 3 "$ctl" status "$mnt"

# Whoever opens the store right after umount finds it free.
for i in 1 2 3 4 5 6 7 8 9 10; do
	up
	echo "$i" >"$mnt/again"
	"$ctl" umount "$mnt"
	"$ctl" verify "$store" >/dev/null || fail "verify after umount $i"
done
# umount --fast leaves the rest to the next mount
up
echo fast >"$mnt/fast"
down --fast
up
same fast "$(cat "$mnt/fast")" "a file after umount --fast"
# plain umount, as umount(8) does it: the daemon saves all and ends
echo plain >"$mnt/plain"
umount "$mnt"
wait_for 60 ended "$daemon" || fail "the daemon goes on after umount(8)"
up
same plain "$(cat "$mnt/plain")" "a file after umount(8)"
down

# several -o add up, what comes later wins
"$ctl" mount "$store" "$mnt" -o flush_interval=900 -o noatime,policy=always \
	--options flush_interval=700
daemon=$(status pid)
same 700 "$(status flush_interval)" "flush_interval"
same always "$(status policy)" "policy"
findmnt -n -o OPTIONS "$mnt" | grep -q noatime || fail "no noatime"
down

# mount(8) with our helper, wherever it is installed
if [ -x /sbin/mount.rspool ]; then
	mount -t rspool "$store" "$mnt" -o noatime
else
	"$RS_BUILD/tools/mount.rspool" "$store" "$mnt" -o noatime
fi
mountpoint -q "$mnt" || fail "mount.rspool mounted nothing"
daemon=$(status pid)
down
