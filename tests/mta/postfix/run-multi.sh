#!/bin/bash
# Two instances of Postfix by postmulti, each with a store and a mount of its
# own: the first takes the mail and gives it to the second, which gives it to
# the sink. The daemon of each is killed in turn; the other instance goes on
# meanwhile. No message is lost.
# timeout: 300
# labels: slow kill
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"
# shellcheck source=../power.sh
. "$here/../power.sh"
# shellcheck source=postfix.sh
. "$here/postfix.sh"
# shellcheck source=../killrun.sh
. "$here/../killrun.sh"

# The functions of lib.sh are for one spool: exchange it with the other.
other_store=
other_mnt=
other_daemon=
exchange()
{
	local it

	it=$store store=$other_store other_store=$it
	it=$mnt mnt=$other_mnt other_mnt=$it
	it=$daemon daemon=$other_daemon other_daemon=$it
	it=$mta_spool mta_spool=$other_spool other_spool=$it
}

second_spool()
{
	other_store=$work/store2
	other_spool=/var/spool/postfix-two
	exchange
	spool_init
	spool_mount
	exchange
}

# What postmulti makes of the first instance's files; then what differs.
second_instance()
{
	local etc=$root/etc/postfix-two

	ip addr add 127.0.0.2/32 dev lo

	in_root postmulti -e init >>"$log/multi" 2>&1 || fail "postmulti -e init"
	in_root postmulti -I postfix-two -G mta -e create \
		>>"$log/multi" 2>&1 || fail "postmulti -e create"
	cp "$root/etc/postfix/main.cf" "$root/etc/postfix/master.cf" "$etc/"
	in_root postconf -c /etc/postfix-two -X multi_instance_wrapper \
		multi_instance_enable multi_instance_directories
	in_root postconf -c /etc/postfix-two -e \
		'queue_directory = /var/spool/postfix-two' \
		'data_directory = /var/lib/postfix-two' \
		'multi_instance_name = postfix-two' \
		'multi_instance_enable = yes' \
		'myhostname = two.rspool.test' \
		'inet_interfaces = 127.0.0.2' \
		'mynetworks = 127.0.0.0/8'
	# The first gives all to the second.
	in_root postconf -X transport_maps
	in_root postconf -e 'relayhost = [127.0.0.2]:25' \
		'inet_interfaces = 127.0.0.1'
	in_root postmulti -i postfix-two -p check >>"$log/multi" 2>&1 ||
		fail "postmulti -p check: $(cat "$log/multi")"
}

# start INSTANCE ADDRESS
start_instance()
{
	in_root /usr/lib/postfix/configure-instance.sh "$1" >>"$log/start" 2>&1
	in_root postmulti -i "$1" -p start >>"$log/start" 2>&1 ||
		fail "'$1' doesn't start: $(tail -n 5 "$log/start")"
	wait_for 30 answers_at "$2" || fail "'$1' doesn't listen"
}

answers_at()
{
	ss -Hltn "src $1 sport = :25" | grep -q .
}

# All processes of an instance work in its queue directory.
instance_gone()
{
	local link pid left=0

	for link in /proc/[0-9]*/cwd; do
		[ "$(readlink "$link" 2>/dev/null)" = "$mnt" ] || continue
		pid=${link#/proc/}
		kill -KILL "${pid%/cwd}" 2>/dev/null || true
		left=1
	done
	[ $left = 0 ]
}

# lose INSTANCE ADDRESS: of the spool that is the current one.
lose()
{
	local at

	say "$(acked) answered 250, the daemon of '$1' is killed"
	echo "$EPOCHREALTIME" >"$work/began"
	spool_kill
	at=$(acked)
	sleep 1
	# The other instance doesn't notice, as far as it is asked.
	if [ "$1" = postfix-two ]; then
		[ "$(acked)" -gt "$at" ] ||
			fail "the first instance stopped with the second"
	fi
	wait_for 20 instance_gone || fail "'$1' doesn't die"
	echo "$(cat "$work/began") $EPOCHREALTIME kill $1" >>"$work/accidents"
	spool_recover "$work/recovered"
	spool_mount
	start_instance "$1" "$2"
}

pending_in_both()
{
	local here there

	here=$(mta_pending)
	exchange
	there=$(mta_pending)
	exchange
	[ $((here + there)) = 0 ] && return 0
	in_root postmulti -x postqueue -f >/dev/null 2>&1 || true
	sleep 0.5
	return 1
}

mta_enter
kill_options --messages 200 --kills 4 --local 0 --rate 25 "$@"
say "two instances of postfix, $messages messages, seed $seed"
# shellcheck disable=SC2086 # a list
root_make $mta_paths /etc/postfix-two /var/spool/postfix-two
spool_init
spool_mount
mta_setup
second_spool
second_instance
start_instance postfix-two 127.0.0.2
start_instance - 127.0.0.1
traffic_start
for ((i = 1; i <= kills; i++)); do
	wait_acked $((i * messages / (kills + 1)))
	if [ $((i % 2)) = 1 ]; then
		exchange
		lose postfix-two 127.0.0.2
		exchange
	else
		lose - 127.0.0.1
	fi
done
: >"$work/crashed"
wait "$client" || fail "the client: $(tail -n 3 "$log/client")"
wait_for 120 pending_in_both || fail "mail is still queued after 120 s"
in_root postmulti -x postqueue -p >"$log/tools" 2>&1
[ "$(grep -c 'Mail queue is empty' "$log/tools")" = 2 ] ||
	fail "postmulti -x postqueue -p: $(cat "$log/tools")"
mkdir "$work/queue"
"$python" "$mta_dir/verify.py" --ledger "$ledger" --dumps "$work/dumps" \
	--sink "$work/refusals" --queue "$work/queue" \
	--accidents "$work/accidents" --json "$log/result.json" ||
	fail "mail was lost or damaged, seed $seed"
in_root postmulti -p stop >>"$log/start" 2>&1
wait_for 30 root_empty || fail "postfix doesn't stop"
spool_umount
exchange
spool_umount
