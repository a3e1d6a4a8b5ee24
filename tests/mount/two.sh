#!/bin/bash
# Several instances on one machine: a store and a mount each, started,
# killed and ended apart.
# labels: san kill
. "$(dirname "$0")/lib.sh"

store_a=$work/store store_b=$work/store_b
mnt_a=$mnt mnt_b=$work/mnt_b
mkdir "$mnt_b"
new_store
store=$store_b
new_store
daemon_a='' daemon_b=''
for it in a b; do
	declare -n s=store_$it m=mnt_$it
	store=$s mnt=$m
	up
	echo "$it" >"$mnt/who"
	sync "$mnt/who"
	declare "daemon_$it=$daemon"
done
[ "$daemon_a" != "$daemon_b" ] || fail "one daemon for two"
same 2 "$("$ctl" status --json | python3 -I -c '
import json, sys
print(sum(s["mount"] in sys.argv[1:] for s in json.load(sys.stdin)))' \
	"$mnt_a" "$mnt_b")" "mounts in status"
# a store is one daemon's, a mount point one store's
expect 1 "$ctl" mount "$store_a" "$work/fs"
expect 1 "$ctl" mount "$store_a" "$mnt_b"
one_line
# one dies, the other goes on
kill -KILL "$daemon_a"
wait_for 60 ended "$daemon_a" || fail "can't kill a"
same b "$(cat "$mnt_b/who")" "the other's file"
echo more >"$mnt_b/more"
sync "$mnt_b/more"
expect 1 cat "$mnt_a/who"
store=$store_a mnt=$mnt_a
up
same a "$(cat "$mnt_a/who")" "the file of the one that died"
daemon_a=$daemon
store=$store_b mnt=$mnt_b daemon=$daemon_b
down
same a "$(cat "$mnt_a/who")" "a after the end of b"
store=$store_a mnt=$mnt_a daemon=$daemon_a
down
