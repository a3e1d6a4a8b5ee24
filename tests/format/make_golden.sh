#!/usr/bin/env bash
# Make the golden stores of the present format version, once for each version:
# they stay in the tree for ever, so that later versions prove that they read
# them. usage: make_golden.sh BUILD-DIR OUT-DIR
#
#	clean     an orderly end: all in data.mdb
#	crashed   some in data.mdb, some in frames, the daemon killed
set -euo pipefail

build=$1
out=$2
ctl=$build/tools/rspoolctl
export RSPOOL_TEST_RING=1
work=$(mktemp -d)

clean_up()
{
	umount -l "$work/mnt" 2>/dev/null || true
	rm -rf "$work"
}
trap clean_up EXIT

# A tree with every kind of object and of record.
fill()
{
	mkdir incoming active deferred
	chmod 1730 deferred
	printf 'short' >incoming/A1
	head -c 20000 /dev/zero | tr '\0' q >incoming/A2
	truncate -s 5G active/sparse
	printf end >>active/sparse
	ln incoming/A1 active/A1-link
	ln -s ../incoming/A1 active/soft
	ln -s "$(head -c 4000 /dev/zero | tr '\0' s)" active/far
	mkfifo incoming/pipe
	mknod incoming/null c 1 3
	: >"$(printf 'name \377\001')"
	setfattr -n user.note -v "$(head -c 3000 /dev/zero | tr '\0' x)" \
		incoming/A2
	chown 1000:2000 incoming/A2
	chmod 0700 incoming/A1
	touch -d '2033-05-18 03:33:20.123456789' incoming/A1
}

# What comes after the checkpoint in the store that crashes.
change()
{
	mv incoming/A2 active/A2
	printf more >>active/A2
	rm incoming/pipe
	truncate -s 3 incoming/A1
	printf new >incoming/A3
}

make()
{
	local name=$1 daemon

	mkdir "$work/store" "$work/mnt"
	"$ctl" init "$work/store" --ring-size 256K --capacity 1M \
		--inodes 64 >/dev/null
	"$ctl" mount "$work/store" "$work/mnt" -o xattr
	(cd "$work/mnt" && fill)
	"$ctl" umount "$work/mnt"
	"$ctl" mount "$work/store" "$work/mnt" -o xattr
	(cd "$work/mnt" && change)
	if [ "$name" = crashed ]; then
		"$ctl" sync "$work/mnt"
		daemon=$("$ctl" status "$work/mnt" --json |
			python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
		kill -9 "$daemon"
		umount -l "$work/mnt"
		while [ -d "/proc/$daemon" ]; do sleep 0.1; done
	else
		"$ctl" umount "$work/mnt"
	fi
	rm -f "$work/store/lock.mdb"
	tar -C "$work" -cSf - store | xz -9 >"$out/$name.tar.xz"
	"$ctl" recover --list "$work/store" >"$out/$name.list"
	rm -rf "${work:?}/store" "${work:?}/mnt"
}

mkdir -p "$out"
make clean
make crashed
