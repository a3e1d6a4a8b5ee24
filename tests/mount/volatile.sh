#!/bin/bash
# Volatile directories: nothing of what happens in them reaches the disk, they
# come back empty with owner and mode, what is moved out of them is durable.
# timeout: 300
# shellcheck source=lib_disk.sh
. "$(dirname "$0")/lib_disk.sh"

disk_store --capacity 48M --inodes 20000
rules=policy=/v:volatile,policy=/w/named:volatile

# Bytes that the disk was asked to write; once a sync adds none any more.
written()
{
	local now=-1 before=-2

	while [ "$now" != "$before" ]; do
		before=$now
		sync -f "$DISK_MNT"
		sleep 1
		now=$(disk_count written_bytes)
	done
	echo "$now"
}

# what a scanner does, all of it; synced, as if it was worth something
scratch()
{
	local i

	for ((i = 0; i < 40; i++)); do
		mkdir "$1/batch$i"
		head -c 150000 /dev/urandom >"$1/batch$i/part"
		cp "$1/batch$i/part" "$1/batch$i/copy"
		sync "$1/batch$i/copy" "$1/batch$i"
		ln "$1/batch$i/part" "$1/batch$i/link"
		mv "$1/batch$i/copy" "$1/moved$i"
		chmod 640 "$1/moved$i"
		chown "$alice:$staff" "$1/moved$i"
		touch -d '2001-02-03 04:05:06' "$1/moved$i"
		truncate -s 100 "$1/batch$i/part"
		ln -s moved "$1/batch$i/symlink"
		mkfifo "$1/batch$i/fifo"
	done
	rm -r "$1"/batch?
}

up "flush_interval=500,$rules"
mkdir "$mnt/v" "$mnt/q" "$mnt/w"
chown "$alice:$staff" "$mnt/v"
chmod 2750 "$mnt/v"
echo mail >"$mnt/q/before"
"$ctl" sync "$mnt"

# what came before is folded at some moment: at most one of these meets it
for _ in first second; do
	rm -rf "${mnt:?}/v/"*
	before=$(written)
	frames=$(status ring frames)
	scratch "$mnt/v"
	"$ctl" sync "$mnt"
	same "$frames" "$(status ring frames)" "frames written for scratch"
	[ "$before" != "$(written)" ] || break
done
same "$before" "$(written)" "bytes on the disk after 12 MB of scratch"
# the same in a queue does write
cp "$mnt/v/moved1" "$mnt/q/copy"
sync "$mnt/q/copy"
[ "$(written)" -gt "$before" ] || fail "a synced copy wrote nothing"

# a volatile directory below one, and one with a name of its own
mkdir "$mnt/w/plain" "$mnt/w/named" "$mnt/w/named/sub"
chmod 711 "$mnt/w/named"
echo x >"$mnt/w/named/file"
echo x >"$mnt/w/plain/file"

# out of it: by rename, by link, a whole directory
sum=$(sha256sum <"$mnt/v/moved2")
mv "$mnt/v/moved2" "$mnt/q/renamed"
ln "$mnt/v/moved3" "$mnt/q/linked"
mkdir "$mnt/v/tree" "$mnt/v/tree/a"
echo deep >"$mnt/v/tree/a/b"
mv "$mnt/v/tree" "$mnt/q/tree"
sync "$mnt/q/renamed" "$mnt/q/linked" "$mnt/q/tree/a/b"
# and into it: gone from the log
echo going >"$mnt/q/going"
sync "$mnt/q/going"
mv "$mnt/q/going" "$mnt/v/gone"
"$ctl" sync "$mnt"

# checked HOW
checked()
{
	same "$alice:$staff 2750" "$(stat -c '%u:%g %a' "$mnt/v")" "v after $1"
	same "" "$(ls -A "$mnt/v")" "what is in v after $1"
	same "711" "$(stat -c %a "$mnt/w/named")" "w/named after $1"
	same "" "$(ls -A "$mnt/w/named")" "what is in w/named after $1"
	same x "$(cat "$mnt/w/plain/file")" "a file beside it after $1"
	same "before copy linked renamed tree" "$(cd "$mnt/q" && echo ./* |
		sed 's,\./,,g')" "what is in q after $1"
	same "$sum" "$(sha256sum <"$mnt/q/renamed")" "q/renamed after $1"
	same 150000 "$(stat -c %s "$mnt/q/linked")" "q/linked after $1"
	same "1 $alice" "$(stat -c '%h %u' "$mnt/q/linked")" "q/linked after $1"
	same deep "$(cat "$mnt/q/tree/a/b")" "q/tree/a/b after $1"
	same green "$(status state)" "state after $1"
	same 2 "$(status came_back_empty)" "directories told after $1"
}
crash
up "flush_interval=500,$rules"
checked "a crash"
scratch "$mnt/v"
mkdir "$mnt/v/again"
echo x >"$mnt/w/named/file"
down
expect 0 "$ctl" verify "$store"
up
checked "an orderly end"
down

# --- a broken log: volatile has promised nothing, interval a time
up "$rules,policy=/i:interval"
mkdir "$mnt/i"
cat >"$work/broken.py" <<'END'
import errno, os, subprocess, sys

os.chdir(sys.argv[1])
fds = {name: os.open(name + '/file', os.O_CREAT | os.O_RDWR, 0o600)
       for name in ('v', 'i', 'q')}
for fd in fds.values():
    os.write(fd, b'x')
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)


def sync(name):
    try:
        os.fsync(fds[name])
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'done'


got = [sync(name) for name in ('q', 'q', 'i', 'v')]
if got != ['EIO', 'EIO', 'EIO', 'done']:
    sys.exit('q q i v: %s' % got)
END
python3 -I "$work/broken.py" "$mnt" "$(disk__program)" ctl \
	"$DISK_ROOT/$DISK_NAME/sock" fail flush 1 forever
"$ctl" umount "$mnt" >/dev/null 2>&1 || true
