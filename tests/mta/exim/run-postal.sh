#!/bin/bash
# postal from Debian as the source of the load, its own trace as the ledger:
# the daemon killed and the power cut under Exim, nothing acknowledged is lost.
# timeout: 300
# labels: slow kill
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"
# shellcheck source=../power.sh
. "$here/../power.sh"
# shellcheck source=exim.sh
. "$here/exim.sh"
# shellcheck source=../killrun.sh
. "$here/../killrun.sh"

mta_packages="exim4-daemon-light postal"

# Final dots so far: about as many as were answered.
acked()
{
	{ grep -hac '^\.' "$work"/postal/z* 2>/dev/null || true; } |
		awk '{ n += $1 } END { print n + 0 }'
}

# Not by chroot: it is no part of the mail server, and goes on.
postal_start()
{
	mkdir "$work/postal"
	printf 'u%d@ok.test\n' 1 2 3 4 5 6 7 8 9 >"$work/postal/users"
	background postal env -C "$work/postal" \
		"$root/usr/sbin/postal" -t 20 -c 3 -M 1 -m 40 \
		-r "$((rate * 60))" -z "$work/postal/z" 127.0.0.1 \
		"$work/postal/users"
	client=$!
}

mta_enter
kill_options --messages 400 --kills 1 --cuts 1 --local 0 --rate 40 "$@"
say "$mta_packages, $messages messages, seed $seed"
# shellcheck disable=SC2086 # a list
root_make $mta_paths
power_on
spool_init
spool_mount
mta_setup
mta_start
sinks_start
postal_start
accidents
wait_acked "$messages"
kill -KILL "$client"
wait_for 10 gone "$client" || fail "postal doesn't end"
wait_for 120 drained || fail "$(mta_pending) messages queued after 120 s"
"$python" "$mta_dir/postal.py" --ledger "$ledger" "$work"/postal/z* ||
	fail "postal got nothing through"
count
mta_stop
spool_umount
