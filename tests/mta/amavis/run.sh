#!/bin/bash
# Debian's amavis behind Debian's Postfix, its work directory volatile, in one
# mount with Postfix's queue. What amavis unpacks writes nothing to the log;
# the daemon is killed in the traffic: the work directory is back empty, amavis
# starts again without a hand on it, none missing, none damaged.
# timeout: 600
# labels: long kill
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"
# shellcheck source=../power.sh
. "$here/../power.sh"
# shellcheck source=../postfix/postfix.sh
. "$here/../postfix/postfix.sh"
# shellcheck source=amavis.sh
. "$here/amavis.sh"
# shellcheck source=../killrun.sh
. "$here/../killrun.sh"

logged()
{
	{ rspoolctl status "$mnt" --json || [ $? = 4 ]; } | "$python" -c 'import json, sys
ring = json.load(sys.stdin)["ring"]
print(ring["frames"], ring["bytes"])'
}

# alone NAME: mails through amavis alone, which hands each on before it answers
# 250. What the log got meanwhile, as frames and bytes.
alone()
{
	local before after

	spool_sync
	before=$(logged)
	"$python" "$mta_dir/client.py" --port 10026 --sessions 2 --zip \
		--count "$alone" --prefix "$1" --seed "$seed" \
		--ledger "$work/alone" >"$log/alone" 2>&1 ||
		fail "the client: $(cat "$log/alone")"
	spool_sync
	after=$(logged)
	read -r frames bytes < <(echo "$before $after" |
		awk '{ print $3 - $1, $4 - $2 }')
}

# unpacked N: so many mails had the file that is within the zip file.
unpacked()
{
	[ "$(grep -c 'Passed BANNED.*inside\.txt' "$log/mail.log")" -ge "$1" ]
}

# Only amavis works, so all that is logged is for its directories.
nothing_written()
{
	background alone_sink "$python" "$mta_dir/sink.py" --port 10027 \
		--log "$work/alone_got"
	wait_for 10 listens 10027 || fail "the sink doesn't listen"
	alone a
	[ "$frames" = 0 ] || fail "$frames frames, $bytes bytes were logged"
	wait_for 10 unpacked $alone || fail "not all mails were unpacked"
	[ -n "$(find "$mnt/tmp" -name email.txt)" ] ||
		fail "amavis unpacks elsewhere"
	[ -s "$mnt/db/nanny.db" ] || fail "amavis has its databases elsewhere"
	say "amavis alone: $alone mails unpacked, $frames frames logged"
}

# The same where it isn't volatile, to see that this would be noticed.
much_written()
{
	amavis_start
	rspoolctl policy "$mnt" /tmp fsync >>"$log/policy" 2>&1 ||
		fail "policy: $(cat "$log/policy")"
	alone b
	if [ "$frames" = 0 ] || [ "$bytes" -lt 100000 ]; then
		fail "only $frames frames, $bytes bytes under fsync"
	fi
	say "the same under fsync: $frames frames, $bytes bytes"
	amavis_stop
	# Its children, which outlive it for a moment, work in the mount.
	wait_for 30 root_empty || fail "amavis' children don't stop"
}

# What was answered 250 had been passed on: amavis keeps no mail.
alone_passed_on()
{
	rm -rf "$work/queue"
	mkdir "$work/queue" "$work/none"
	"$python" "$mta_dir/verify.py" --ledger "$work/alone" \
		--dumps "$work/none" --sink "$work/alone_got" \
		--queue "$work/queue" || fail "amavis alone lost mail, seed $seed"
}

alone=20
mta_enter
[ $# -gt 0 ] || set -- --messages 120 --kills 1 --local 5 --rate 8
kill_options "$@"
say "$mta_packages on $backend, $messages messages, seed $seed"
# shellcheck disable=SC2086 # a list
root_make $mta_paths
spool_init
spool_mount
mta_setup
ready "before the start"
mta_start
nothing_written
traffic_start
accidents
traffic_end
quiet_crash
count
much_written
alone_passed_on
spool_umount
