#!/bin/bash
# The power goes in the middle of an import, and of an export: repeated, both
# end as if nothing had been.
# labels: kill
# timeout: 240
. "$(dirname "$0")/lib.sh"
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"

# list DIR [%i]
list()
{
	(
		cd "$1"
		find . -mindepth 1 ! -name .rspool-export \
			-printf "%p %y %m %U %G %n ${2:-} %T@ %l\n" | sort
		find . -type f ! -name .rspool-export -print0 | sort -z |
			xargs -0r sha256sum
	)
}

src=$work/src
mkdir -p "$src/a/b" "$src/c"
for i in {1..120}; do
	head -c $((RANDOM * 2)) /dev/urandom >"$src/a/b/$i"
	chown "$alice:$staff" "$src/a/b/$i"
	touch -d "@17000000$i.5" "$src/a/b/$i"
done
head -c 5000000 /dev/urandom >"$src/c/large"
ln "$src/c/large" "$src/a/link"
list "$src" %i >"$work/want"
list "$src" >"$work/want_out"

disk_start "$work/disk.img" 256M --preset ssd
set_traps
disk_mkfs ext4
disk_mount
store=$DISK_MNT/store

# cut_during PAUSE SEED COMMAND...: the power goes PAUSE seconds after its
# mark, the file $mark, is there, or with "gone" as soon as it isn't any more
cut_during()
{
	local pid pause=$1 seed=$2

	shift 2
	"$@" >"$work/out" 2>"$work/err" &
	pid=$!
	until [ -e "$mark" ] || ended $pid; do
		sleep 0.002
	done
	if [ "$pause" = gone ]; then
		while [ -e "$mark" ] && ! ended $pid; do
			sleep 0.002
		done
	else
		sleep "$pause"
	fi
	disk_cut "$seed" >/dev/null
	wait $pid && whole=yes || whole=no
	disk_reopen
	say "$2: cut after $pause, ended: $whole, mark:" \
		"$([ -e "$mark" ] && echo there || echo gone)"
}

# again COMMAND...: done now, or it was before the power went and only its
# answer was lost
again()
{
	local rc=0

	"$@" >"$work/out" 2>"$work/err" || rc=$?
	[ $rc = 0 ] || grep -q 'was in use\|is not empty' "$work/err" ||
		fail "repeated: $(cat "$work/err")"
}

pauses=(0.01 0.1 0.3 gone)
for seed in 1 2 3 4; do
	rm -rf "$store" "$DISK_MNT/out"
	"$ctl" init "$store" --ring-size 16M --capacity 16M --inodes 500 \
		>/dev/null
	sync "$DISK_MNT"
	mark=$store/import
	cut_during "${pauses[seed - 1]}" $seed "$ctl" import "$store" "$src"
	# answered is durable
	[ "$whole" = no ] || [ ! -e "$mark" ] || fail "a whole import has a mark"
	# and so is what had its mark taken away
	if [ "$whole" = no ] &&
		{ [ "${pauses[seed - 1]}" != gone ] || [ -e "$mark" ]; }; then
		again "$ctl" import "$store" "$src"
	fi
	up
	list "$mnt" %i >"$work/got"
	same_tree "$work/want" "$work/got" "an import after a cut ($seed)"
	down
	mark=$DISK_MNT/out/.rspool-export
	cut_during "${pauses[seed - 1]}" $seed \
		"$ctl" export "$store" "$DISK_MNT/out"
	[ "$whole" = yes ] || again "$ctl" export "$store" "$DISK_MNT/out"
	list "$DISK_MNT/out" >"$work/got"
	same_tree "$work/want_out" "$work/got" "an export after a cut ($seed)"
done
"$ctl" verify "$store" >/dev/null
disk_stop
