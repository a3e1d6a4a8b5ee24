#!/bin/bash
# import takes a queue in with its inode numbers, export gives it back; both
# can be killed anywhere and repeated; a store imported by half is not mounted.
# labels: san
. "$(dirname "$0")/lib.sh"

# attributes of all but sockets; %i only where numbers are kept
list()
{
	local numbers=$1

	shift
	(
		cd "$1"
		find . -mindepth 1 ! -type s ! -name .rspool-export \
			-printf "%p %y %m %U %G %n $numbers %T@ %l\n" | sort
		find . -type f -printf '%p %s\n' | sort
		find . -type f ! -name .rspool-export -print0 | sort -z |
			xargs -0r sha256sum
		find . \( -type c -o -type b \) -exec stat -c '%n %t %T' {} +
		stat -c '%a %u %g %Y' .
	)
}

src=$work/src
mkdir -p "$src/active/A" "$src/deferred" "$src/empty" "$src/odd name"$'\n'
for i in {1..60}; do
	head -c $((RANDOM * 3)) /dev/urandom >"$src/active/A/$i"
	chmod $((i % 2 ? 700 : 640)) "$src/active/A/$i"
	chown "$alice:$staff" "$src/active/A/$i"
	touch -d "@17000000$i.123456789" "$src/active/A/$i"
done
: >"$src/deferred/nothing"
head -c 20000001 /dev/urandom >"$src/deferred/large"
ln "$src/deferred/large" "$src/active/second"
ln "$src/deferred/large" "$src/empty/third"
ln -s ../active/second "$src/deferred/link"
chown -h "$bob:$staff" "$src/deferred/link"
mkfifo -m 622 "$src/fifo"
mknod -m 600 "$src/null" c 1 3
python3 -I - "$src" <<'END'
import os, socket, sys
os.chdir(sys.argv[1])
socket.socket(socket.AF_UNIX).bind("sock")
with open("sparse", "wb") as f:
    f.seek(200 << 20)
    f.write(b"x")
END
setfattr -n user.mail -v yes "$src/deferred/large" 2>"$work/err" ||
	fail "no xattrs here: $(cat "$work/err")"
chmod 2775 "$src/active"
chown "$alice:$staff" "$src/active"
chmod 1730 "$src/deferred"
chmod 4755 "$src/deferred/nothing"
touch -d '2031-02-03 04:05:06.7' "$src/active" "$src/empty"
chmod 711 "$src"
chown "$bob:$staff" "$src"
list %i "$src" >"$work/want"

# --- as a whole
new_store
expect 0 "$ctl" import "$store" "$src" --xattr
grep -q "socket 'sock'" <<<"$err" || fail "the socket is not named: $err"
[ ! -e "$store/import" ] || fail "the mark of the import is left"
up xattr
list %i "$mnt" >"$work/got"
same_tree "$work/want" "$work/got" "what was imported"
[ "$(stat -c %b "$mnt/sparse")" -lt 1000 ] || fail "holes were filled"
same yes "$(getfattr --absolute-names --only-values -n user.mail "$mnt/active/second")" "xattr"
touch "$mnt/new"
highest=$(find "$src" -mindepth 1 -printf '%i\n' | sort -n | tail -1)
[ "$(stat -c %i "$mnt/new")" -gt "$highest" ] ||
	fail "a number below the imported ones was given away"
rm "$mnt/new"
touch -r "$src" "$mnt"

# --- out again, from the mount and from the store
expect 0 "$ctl" export "$mnt" "$work/out1"
list "" "$src" >"$work/want_out"
list "" "$work/out1" >"$work/got"
same_tree "$work/want_out" "$work/got" "what came out of the mount"
same yes "$(getfattr --absolute-names --only-values -n user.mail "$work/out1/empty/third")" \
	"xattr"
expect 1 "$ctl" export "$mnt" "$work/out1"
one_line
# a store that is mounted goes through its mount
expect 0 "$ctl" export "$store" "$work/out2"
down
expect 0 "$ctl" export "$store" "$work/out3"
for i in 2 3; do
	list "" "$work/out$i" >"$work/got"
	same_tree "$work/want_out" "$work/got" "what came out ($i)"
done
# what was cut short is completed, what is wrong or not ours is mended
touch "$work/out3/.rspool-export"
rm -r "$work/out3/active/A/7" "$work/out3/empty"
truncate -s 10 "$work/out3/active/A/8"
printf X | dd of="$work/out3/active/A/9" bs=1 conv=notrunc status=none
mkdir -p "$work/out3/active/more/dir"
touch "$work/out3/active/more/dir/file"
rm "$work/out3/fifo"
ln -s /etc/passwd "$work/out3/fifo"
rm "$work/out3/active/second"
mkdir "$work/out3/active/second"
expect 0 "$ctl" export "$store" "$work/out3"
list "" "$work/out3" >"$work/got"
same_tree "$work/want_out" "$work/got" "what a second export completed"
[ ! -e "$work/out3/.rspool-export" ] || fail "the mark of the export is left"

# Killed anywhere. What it wrote is whole as soon as its mark is gone, also
# where it had no time to end.
is_half_out()
{
	[ -e "$work/out4/.rspool-export" ]
}
# export_killed SECONDS: after its mark is there
export_killed()
{
	"$ctl" export "$store" "$work/out4" >/dev/null 2>&1 &
	until is_half_out || ended $!; do
		sleep 0.002
	done
	sleep "$1"
	kill -KILL $! 2>/dev/null || true
	wait $! 2>/dev/null || true
}
# also before there is a mark
for pause in 0.002 0.005 0.01; do
	rm -rf "$work/out4"
	timeout -s KILL $pause "$ctl" export "$store" "$work/out4" \
		>/dev/null 2>&1 || true
	is_half_out || [ -z "$(ls -A "$work/out4" 2>/dev/null)" ] || continue
	expect 0 "$ctl" export "$store" "$work/out4"
	list "" "$work/out4" >"$work/got"
	same_tree "$work/want_out" "$work/got" "an export killed after $pause s"
done
for i in {1..20}; do
	rm -rf "$work/out4"
	export_killed 0
	! is_half_out || break
done
is_half_out || fail "no export was killed in time"
export_killed 0.02
! is_half_out || expect 0 "$ctl" export "$store" "$work/out4"
list "" "$work/out4" >"$work/got"
same_tree "$work/want_out" "$work/got" "an export that was killed"

# --- not into a store that was used
expect 1 "$ctl" import "$store" "$src"
one_line
grep -q 'in use' <<<"$err" || fail "a used store: $err"

# --- killed at any time and repeated
is_marked()
{
	[ -e "$store/import" ]
}
# import_killed SECONDS: after its mark is there
import_killed()
{
	local pid rc=0

	"$ctl" import "$store" "$src" --xattr >/dev/null 2>&1 &
	pid=$!
	until is_marked || ended $pid; do
		sleep 0.002
	done
	sleep "$1"
	kill -KILL $pid 2>/dev/null || true
	wait $pid 2>/dev/null || rc=$?
	[ $rc != 137 ] || ! is_marked || kills=$((kills + 1))
}
kills=0
for pause in 0 0 0.01 0.03 0.1; do
	rm -rf "$store"
	new_store
	import_killed $pause
	if is_marked; then
		expect 1 "$ctl" mount "$store" "$mnt"
		one_line
		grep -q 'not finished: repeat' <<<"$err" || fail "half: $err"
		expect 1 "$ctl" export "$store" "$work/half"
		expect 1 "$ctl" import "$store" "$work/out1"
		one_line
		[ $pause != 0.03 ] || "$ctl" recover "$store" >/dev/null
		import_killed 0.05
	fi
	! is_marked || expect 0 "$ctl" import "$store" "$src" --xattr
	up xattr
	list %i "$mnt" >"$work/got"
	same_tree "$work/want" "$work/got" "an import that was killed"
	down
done
[ $kills -ge 2 ] || fail "only $kills imports were killed in time"
"$ctl" verify "$store" >/dev/null || fail "verify after import"

# --- what moved between two runs is not mixed up
# A run that was killed before it came to that file has nothing to mix up.
seen=
for pause in 0.05 0.02 0.1 0.15 0.2 0.3 0.4 0.6 0.8 1.2 1.6 2.4; do
	rm -rf "$store"
	new_store
	import_killed $pause
	is_marked || continue
	mv "$src/active/A/1" "$src/active/A/0"
	rc=0
	err=$("$ctl" import "$store" "$src" --xattr 2>&1 >/dev/null) || rc=$?
	mv "$src/active/A/0" "$src/active/A/1"
	[ $rc != 0 ] || continue
	same 1 $rc "import of a changed source: $err"
	grep -q 'has changed since' <<<"$err" || fail "a changed source: $err"
	seen=yes
	break
done
[ -n "$seen" ] || fail "no import was killed behind the file that changed"

# --- too small a store
rm -rf "$store"
"$ctl" init "$store" --ring-size 16M --capacity 4M --inodes 64 >/dev/null
expect 1 "$ctl" import "$store" "$src"
one_line
expect 1 "$ctl" mount "$store" "$src"
one_line
grep -q 'rspoolctl import' <<<"$err" || fail "a queue at the mount point: $err"
