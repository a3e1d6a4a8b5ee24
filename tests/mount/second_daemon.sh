#!/bin/bash
# One store, one owner: everybody else is refused and changes nothing (A23).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
echo mine >"$mnt/file"
sync "$mnt/file"
mkdir "$work/other"
# Things settle (a seal follows when the log falls idle), then stay.
sealed()
{
	local before

	before=$(sum_of "$store")
	sleep 1
	[ "$before" = "$(sum_of "$store")" ]
}
wait_for 60 sealed || fail "an idle store keeps changing"

# On a slow machine the owner's checkpoint may fall into it: once more then.
refused()
{
	local again

	for again in 1 2 3; do
		sum_of "$store" >"$work/before"
		expect 1 "$@"
		one_line
		! mountpoint -q "$work/other" || fail "a second mount: $*"
		sum_of "$store" >"$work/after"
		! cmp -s "$work/before" "$work/after" || return 0
	done
	same_tree "$work/before" "$work/after" "changed $again times by: $*"
}
refused "$ctl" mount "$store" "$work/other"
refused "$rspoold" "$store" "$work/other" -f
refused "$ctl" recover "$store"
# mounted where it is mounted already: nothing to do, and said (D02)
expect 0 "$ctl" mount "$store" "$mnt"
one_line
same 1 "$(grep -c " $mnt fuse" /proc/self/mounts)" "mounts on the mount point"
# another pid namespace
refused unshare --pid --fork --mount "$ctl" mount "$store" "$work/other"
same mine "$(cat "$mnt/file")" "the first mount's file"
down

# A directory that somebody stands in: an error after the remount, not another
# directory.
up
mkdir "$mnt/mqueue"
(
	cd "$mnt/mqueue"
	touch "$work/inside"
	wait_for 60 test -e "$work/remounted"
	if touch ./through 2>/dev/null; then
		echo "an old directory can be written" >"$work/bad"
	fi
) &
wait_for 60 test -e "$work/inside"
"$ctl" sync "$mnt"
crash
up
touch "$work/remounted"
wait
[ ! -e "$work/bad" ] || fail "$(cat "$work/bad")"
[ ! -e "$mnt/mqueue/through" ] || fail "written through an old directory"
down
