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

# Not by chroot: it is no part of the mail server, and goes on. Now and then it
# dies of a broken connection (SIGSEGV); its trace so far counts, and the next
# one goes on. It draws its mail by the second.
postal_run()
{
	local n=0

	cd "$work/postal"
	while [ ! -e end ]; do
		n=$((n + 1))
		"$root/usr/sbin/postal" -t 20 -c 3 -M 1 -m 40 \
			-r "$((rate * 60))" -z "$work/postal/z$n." 127.0.0.1 \
			"$work/postal/users" || true
		sleep 1.1
	done
}

postal_start()
{
	mkdir "$work/postal"
	printf 'u%d@ok.test\n' 1 2 3 4 5 6 7 8 9 >"$work/postal/users"
	background postal postal_run
	client=$!
}

postal_end()
{
	touch "$work/postal/end"
	pkill -KILL -P "$client" || true
	wait_for 20 gone "$client" || fail "postal doesn't end"
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
postal_end
wait_for 120 drained || fail "$(mta_pending) messages queued after 120 s"
"$python" "$mta_dir/postal.py" --ledger "$ledger" \
	--sink "$work/refusals" "$work"/postal/z* ||
	fail "postal got nothing through"
count
mta_stop
spool_umount
