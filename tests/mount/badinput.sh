#!/bin/bash
# Bad input: one clear line each, the right exit code, the store byte for byte
# as it was.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
echo content >"$mnt/file"
sync "$mnt/file"
down
sum_of "$store" >"$work/before"

unchanged()
{
	sum_of "$store" >"$work/after"
	same_tree "$work/before" "$work/after" "the store was changed by: $*"
	! mountpoint -q "$mnt" || fail "mounted by: $*"
}

# refused RC COMMAND...: usage errors may add a hint as their second line
refused()
{
	expect "$@"
	[ -n "$err" ] || fail "says nothing: ${*:2}"
	if [ "$1" = 2 ]; then
		[ "$(wc -l <"$work/err")" -le 2 ] || fail "many words: '$err'"
	else
		one_line
	fi
	same "" "$out" "stdout of a refusal"
	unchanged "${@:2}"
}

# usage
refused 2 "$ctl"
refused 2 "$ctl" nonsense
refused 2 "$ctl" mount
refused 2 "$ctl" mount "$store"
refused 2 "$ctl" mount "$store" "$mnt" extra
refused 2 "$ctl" mount "$store" "$mnt" --nonsense
refused 2 "$ctl" mount "$store" "$mnt" -o nonsense
refused 2 "$ctl" mount "$store" "$mnt" -o nonsense=1
refused 2 "$ctl" mount "$store" "$mnt" -o policy=nonsense
refused 2 "$ctl" mount "$store" "$mnt" -o flush_interval=
refused 2 "$ctl" mount "$store" "$mnt" -o flush_interval=-1
refused 2 "$ctl" mount "$store" "$mnt" -o flush_interval=1x
refused 2 "$ctl" mount "$store" "$mnt" -o flush_interval=99999999999999999999
refused 2 "$ctl" mount "$store" "$mnt" -o ram=-5
refused 2 "$ctl" mount "$store" "$mnt" -o ram=12Q
refused 2 "$ctl" mount "$store" "$mnt" -o ram=0
refused 2 "$ctl" mount "$store" "$mnt" -o stall=abc
refused 2 "$rspoold"
refused 2 "$rspoold" "$store"
refused 2 "$rspoold" "$store" "$mnt" -f -o nonsense
refused 2 "$rspoold" "$store" "$mnt" -X
for verb in umount sync recover verify dump init; do
	refused 2 "$ctl" $verb
	refused 2 "$ctl" $verb "$store" --nonsense
done

# sizes that make no sense, and a directory that is taken
for size in -1 0 1 1K 99999999999G 12Q abc "" 1.5.2M " 5M"; do
	refused 2 "$ctl" init "$work/new" --ring-size "$size"
	[ ! -e "$work/new" ] || [ -z "$(ls -A "$work/new")" ] ||
		fail "init with --ring-size '$size' left files"
	refused 2 "$ctl" init "$work/new" --ring-size 16M --capacity "$size"
	[ ! -e "$work/new" ] || [ -z "$(ls -A "$work/new")" ] ||
		fail "init with --capacity '$size' left files"
done
refused 2 "$ctl" init "$work/new" --inodes 0
refused 2 "$ctl" init "$work/new" --inodes -7
refused 2 "$ctl" init "$work/new" --inodes 63
refused 2 "$ctl" init "$work/new" --inodes
refused 1 "$ctl" init "$store"
mkdir "$work/taken"
echo precious >"$work/taken/file"
refused 1 "$ctl" init "$work/taken"
same precious "$(cat "$work/taken/file")" "a file in the way of init"
same 1 "$(find "$work/taken" -mindepth 1 | wc -l)" "files in the way of init"
refused 1 "$ctl" init "$work/absent/below"
# more than the disk has
loop_fs ext4 64M "$work/tiny"
refused 1 "$ctl" init "$work/tiny/s" --ring-size 16M --capacity 1G
[ -z "$(ls -A "$work/tiny/s" 2>/dev/null)" ] || fail "init on a full disk left files"
umount "$work/tiny"

# places that aren't
refused 1 "$ctl" mount "$work/absent" "$mnt"
refused 1 "$ctl" mount "$store" "$work/absent"
refused 1 "$ctl" mount "$store" "$work/taken/file"
refused 1 "$ctl" mount "$work/taken/file" "$mnt"
refused 1 "$ctl" mount "$work/taken" "$mnt"
mkdir "$work/empty"
refused 1 "$ctl" mount "$work/empty" "$mnt"
same "" "$(ls -A "$work/empty")" "what mount leaves in an empty directory"
for verb in recover verify dump; do
	refused 1 "$ctl" $verb "$work/absent"
	refused 1 "$ctl" $verb "$work/empty"
	refused 1 "$ctl" $verb "$work/taken"
	same "" "$(ls -A "$work/empty")" "what $verb leaves"
done
refused 3 "$ctl" umount "$mnt"
refused 3 "$ctl" sync "$mnt"
refused 3 "$ctl" status "$mnt"
refused 3 "$ctl" status "$store"

# a line break in a name stays one line of message
refused 1 "$ctl" mount "$work/ab"$'\n'"sent"$'\033[2J' "$mnt"

# files of the store missing, empty, foreign, cut off, from a newer version
copy=$work/copy
# broken RC WHAT: mount, recover and verify refuse it and leave it as it is
broken()
{
	local verb

	sum_of "$copy" >"$work/copy.before"
	for verb in mount recover verify; do
		case $verb in
		mount) set -- "$1" "$2" "$ctl" mount "$copy" "$mnt" ;;
		*) set -- "$1" "$2" "$ctl" $verb "$copy" ;;
		esac
		expect "$1" "${@:3}"
		[ -n "$err" ] || fail "$2: $verb says nothing"
		[ $verb != mount ] || one_line
		! mountpoint -q "$mnt" || fail "$2: mounted"
		sum_of "$copy" >"$work/copy.after"
		same_tree "$work/copy.before" "$work/copy.after" \
			"$2: $verb changed the store"
	done
	rm -r "$copy"
}
for file in rspool.id intent.log data.mdb; do
	# without its marker it is no store at all; with it, it is damaged
	rc=5
	[ $file != rspool.id ] || rc=1
	cp -a "$store" "$copy"
	rm "$copy/$file"
	broken $rc "$file missing"
	[ $file != rspool.id ] || rc=5
	cp -a "$store" "$copy"
	: >"$copy/$file"
	broken $rc "$file empty"
	cp -a "$store" "$copy"
	size=$(stat -c %s "$copy/$file")
	head -c "$size" /dev/urandom >"$copy/$file"
	broken $rc "$file foreign"
	cp -a "$store" "$copy"
	# most of data.mdb is room held in reserve: cut into what is used
	[ $file != data.mdb ] || size=16384
	truncate -s $((size / 2)) "$copy/$file"
	broken $rc "$file cut off"
done
# of another store
"$ctl" init "$work/another" --ring-size 16M --capacity 64M --inodes 20000 \
	>/dev/null
for file in intent.log data.mdb; do
	cp -a "$store" "$copy"
	cp "$work/another/$file" "$copy/$file"
	broken 5 "$file of another store"
done
unchanged "all of these"

# a configuration file: init makes what it names, one without a store is wrong
mkdir "$work/etc"
printf 'store = %s\ncapacity = 32M\ninodes = 2000\n' "$work/named" \
	>"$work/etc/rspooltest.conf"
echo 'capacity = 32M' >"$work/etc/rspoolbad.conf"
named()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount sh -c 'cd "$1" && mount -t tmpfs none /run &&
		mkdir -p /run/up/rspool /run/wk && cp etc/* /run/up/rspool &&
		mount -t overlay none /etc -o \
			lowerdir=/etc,upperdir=/run/up,workdir=/run/wk &&
		"$2" init "$3" --ring-size 16M' sh "$work" "$ctl" "$1"
}
refused 2 named rspoolbad
named rspooltest >/dev/null || fail "init by a name"
[ -f "$work/named/rspool.id" ] || fail "init by a name made another store"
[ ! -e "$work/rspooltest" ] || fail "init took a name for a directory"

# no permission
chmod 755 "$work"
cp -a "$store" "$copy"
mkdir "$work/his"
chown "$alice" "$work/his"
expect 1 as "$alice" "$alice" "$ctl" mount "$copy" "$work/his"
one_line
expect 1 as "$alice" "$alice" "$ctl" recover "$copy"
one_line
expect 1 as "$alice" "$alice" "$ctl" verify "$copy"
one_line
rm -r "$copy"
unchanged "somebody without permission"

# no /dev/fuse
expect 1 unshare --mount sh -c "mount --bind /dev/null /dev/fuse &&
	exec '$ctl' mount '$store' '$mnt'"
one_line
grep -q '/dev/fuse' "$work/err" || fail "no word about /dev/fuse: '$err'"
mkdir "$work/dev"
expect 1 unshare --mount sh -c "mount -t tmpfs none /dev &&
	exec '$ctl' mount '$store' '$mnt'"
one_line
grep -q '/dev/fuse' "$work/err" || fail "no word about /dev/fuse: '$err'"
unchanged "mounts without /dev/fuse"

# and after all that it works
up
same content "$(cat "$mnt/file")" "the file"
down
