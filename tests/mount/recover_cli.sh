#!/bin/bash
# recover --list, --dry-run and --to look and copy, and change nothing;
# recover replays.
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
mkdir -m 700 "$mnt/deferred"
chown "$alice:$staff" "$mnt/deferred"
for i in {1..20}; do
	echo "mail $i" >"$mnt/deferred/$i"
	chown "$alice:$staff" "$mnt/deferred/$i"
	chmod 700 "$mnt/deferred/$i"
	touch -d "@170000000$((i % 10)).5" "$mnt/deferred/$i"
done
head -c 3000000 /dev/urandom >"$mnt/large"
ln "$mnt/large" "$mnt/second"
ln -s deferred/1 "$mnt/link"
mkfifo "$mnt/fifo"
python3 -c 'import sys; f = open(sys.argv[1], "wb"); f.seek(1 << 30); f.write(b"x")' \
	"$mnt/sparse"
list()
{
	(cd "$1" && find . -mindepth 1 -printf '%p %y %m %U %G %n %T@ %l\n' |
		sort && find . -type f -size -100M -print0 | sort -z |
		xargs -0 sha256sum)
}
list "$mnt" >"$work/live"
sync_and_crash
sum_of "$store" >"$work/before"
same_store()
{
	sum_of "$store" >"$work/after"
	same_tree "$work/before" "$work/after" "the store was changed by $1"
}

expect 0 "$ctl" recover "$store" --list
same_store --list
for name in deferred/1 deferred/20 large second link fifo; do
	grep -q "$name" "$work/out" || fail "--list doesn't name '$name'"
done
expect 0 "$ctl" recover "$store" --dry-run
same_store --dry-run
[ -n "$out" ] || fail "--dry-run says nothing"
expect 0 "$ctl" recover "$store" --to "$work/out.d"
same_store "--to"
list "$work/out.d" >"$work/copied"
same_tree "$work/live" "$work/copied" "what --to wrote"
[ "$(stat -c %b "$work/out.d/sparse")" -lt 1000 ] || fail "holes were filled"
[ "$work/out.d/large" -ef "$work/out.d/second" ] || fail "a hard link became two"
# a target that is taken
expect 1 "$ctl" recover "$store" --to "$work/out.d"
one_line
# one inside the store
expect 1 "$ctl" recover "$store" --to "$store/out"
one_line
[ ! -e "$store/out" ] || fail "--to wrote into the store"
expect 0 "$ctl" verify "$store"
same_store verify
expect 0 "$ctl" dump "$store"
same_store dump

expect 0 "$ctl" recover "$store"
[ -n "$out" ] || fail "recover reports nothing"
# again: nothing is left to do
expect 0 "$ctl" recover "$store"
up
list "$mnt" >"$work/recovered"
same_tree "$work/live" "$work/recovered" "the tree after recover"

nobody_recovers()
{
	! pgrep -f "rspoolctl recover $store" >/dev/null
}
# killed in the middle and run again, at whatever point
for i in 1 2 3 4; do
	head -c 2000000 /dev/urandom >"$mnt/more$i"
	list "$mnt" >"$work/live"
	sync_and_crash
	timeout -s KILL 0.0$((i * 2)) "$ctl" recover "$store" >/dev/null 2>&1 ||
		true
	# its helper dies with it, but not in the same instant
	wait_for 20 nobody_recovers || fail "a killed recover lives on"
	expect 0 "$ctl" recover "$store"
	up
	list "$mnt" >"$work/recovered"
	same_tree "$work/live" "$work/recovered" "after a killed recover"
done
down
