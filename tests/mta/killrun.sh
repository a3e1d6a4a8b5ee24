# shellcheck shell=bash
# shellcheck disable=SC2154 # work, root, mnt and log are those of lib.sh
# The run of every mail server: mail in from 20 sessions, out to the sinks,
# and the daemon killed under it. For sourcing after lib.sh and the mail
# server's own file, which also gives
#
#	mta_sink	starts what takes the mail on port 2525, into $work/dumps
#	mta_submit	the command for local mail, a recipient is added to it
#
# Options of killrun:
#	--messages N	answered 250 before it ends (2000)
#	--kills N	of the daemon (5)
#	--local N	messages submitted locally beside (40)
#	--rate N	messages a second, at most (0: as fast as it goes)
#	--seed N
#	--sabotage remove|corrupt	after the last kill do that to a queued
#			message of the ledger: the run must then fail
messages=2000 kills=5 local_messages=40 rate=0 seed=${RS_SEED:-} sabotage=

kill_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--messages) messages=$2 ;;
		--kills) kills=$2 ;;
		--local) local_messages=$2 ;;
		--rate) rate=$2 ;;
		--seed) seed=$2 ;;
		--sabotage) sabotage=$2 ;;
		*) echo "unknown option '$1'" >&2; exit 2 ;;
		esac
		shift 2
	done
	seed=${seed:-$(($(date +%s) % 100000))}
	RANDOM=$seed
	ledger=$work/ledger
	: >"$ledger"
	: >"$work/refusals"
}

acked()
{
	grep -c '^ack' "$ledger" || true
}

# wait_acked N: the client has that many, or has ended.
wait_acked()
{
	local end

	end=$(($(now_ms) + 300000))
	while [ "$(acked)" -lt "$1" ] && ! gone "$client"; do
		[ "$(now_ms)" -lt "$end" ] ||
			fail "only $(acked) messages after 300 s"
		sleep 0.02
	done
	! gone "$client" || fail "the client: $(tail -n 3 "$log/client")"
}

pending_is()
{
	[ "$(mta_pending)" = "$1" ]
}

drained()
{
	pending_is 0 && return 0
	mta_flush >/dev/null 2>&1 || true
	sleep 0.5
	return 1
}

sinks_start()
{
	mta_sink
	background sink "$python" "$mta_dir/sink.py" --port 2526 \
		--log "$work/refusals"
}

traffic_start()
{
	sinks_start
	background client "$python" "$mta_dir/client.py" --port 25 \
		--ledger "$ledger" --count "$messages" --seed "$seed" \
		--rate "$rate" --until "$work/crashed" \
		--share defer.test=10 --share bounce.test=47
	client=$!
	if [ "$local_messages" -gt 0 ]; then
		background submit "$python" "$mta_dir/submit.py" \
			--ledger "$ledger" --count "$local_messages" \
			--seed "$seed" --stop "$work/stop" --pause "$work/pause" \
			"${mta_submit[@]}"
		submit=$!
	fi
}

# One crash, and all that an administrator does about it.
crash()
{
	local number=$1 at t0 t1 t2 t3 queued

	at=$(acked)
	spool_kill
	t0=$(now_ms)
	: >"$work/pause"
	# Time enough for the mail server to see the dead mount.
	sleep "0.$((RANDOM % 9 + 1))"
	mta_kill
	t1=$(now_ms)
	spool_recover "$work/recovered"
	t2=$(now_ms)
	spool_mount
	t3=$(now_ms)
	ready "after kill $number"
	queued=$(mta_pending)
	if [ "$number" = "$kills" ] && [ -n "$sabotage" ]; then
		sabotage_now
	fi
	mta_start
	rm -f "$work/pause"
	printf '%4d %8d %8d %10d %8d %10d\n' "$number" "$at" "$queued" \
		$((t2 - t1)) $((t3 - t2)) $(($(now_ms) - t0))
}

ready()
{
	local said

	said=$(mta_ready) || fail "the mail server's own check $1: $said"
	[ -z "$said" ] || fail "the mail server's own check $1: $said"
}

# Kill number i falls into the i-th of kills + 1 equal parts of the traffic,
# the moment in it is drawn.
crashes()
{
	local i part=$((messages / (kills + 1))) at now

	say "kill    at 250   queued  recover ms mount ms  outage ms"
	for ((i = 1; i <= kills; i++)); do
		at=$((i * part - part / 2 + RANDOM % (part + 1)))
		# The clients may be ahead: some traffic there shall be.
		now=$(($(acked) + 1 + RANDOM % 40))
		[ $at -gt $now ] || at=$now
		wait_acked "$at"
		sleep "0.0$((RANDOM % 10))"
		crash "$i"
	done
}

# The harm that this test is there to find. Large files, so that a byte in
# the middle is one of the body.
sabotage_now()
{
	local path ident

	while read -r path; do
		ident=$(grep -a -o -E -m 1 '[ml]-[0-9-]+@(ok|defer)\.test' \
			"$path" | head -n 1) || continue
		ident=${ident%@*}
		grep -q "^ack $ident " "$ledger" || continue
		grep -q "^got $ident " "$work/refusals" && continue
		grep -q -r "^X-Rspool-Id: $ident\$" "$work/dumps" && continue
		if [ "$sabotage" = remove ]; then
			rm -f "$path"
		else
			"$python" "$mta_dir/corrupt.py" "$path"
		fi
		say "sabotage: $sabotage $ident"
		return
	done < <(find "$mnt" -type f -size +20k | grep -E "$mta_queue_files")
	fail "no queued message to sabotage"
}

traffic_end()
{
	: >"$work/crashed"
	wait "$client" || fail "the client: $(tail -n 3 "$log/client")"
	: >"$work/stop"
	[ "$local_messages" = 0 ] || wait "$submit" ||
		fail "local submission: $(tail -n 3 "$log/submit")"
	wait_for 120 drained ||
		fail "$(mta_pending) messages still queued after 120 s"
}

# Mail that stays: deferred with a retry time to come. A crash with nothing
# going on must then change nothing at all.
quiet_crash()
{
	local stay=20

	mta_retry_later
	"$python" "$mta_dir/client.py" --port 25 --ledger "$ledger" \
		--count $stay --domain stay.test --prefix s --seed "$seed" \
		>"$log/stay" 2>&1 || fail "the client: $(cat "$log/stay")"
	wait_for 60 pending_is $stay || fail "deferred mail isn't queued"
	sleep 1
	mta_stop
	spool_sync
	"$python" "$mta_dir/snap.py" "$mnt" >"$work/before"
	future_times $stay
	spool_kill
	spool_recover "$work/recovered"
	spool_mount
	"$python" "$mta_dir/snap.py" "$mnt" >"$work/after"
	diff -u "$work/before" "$work/after" >"$log/changed" ||
		fail "the tree isn't the same: $(cat "$log/changed")"
	ready "at the end"
	say "quiet kill: $(wc -l <"$work/after") paths unchanged, $stay" \
		"deferred with their retry time"
}

future_times()
{
	local found

	[ "$mta_retry_in_mtime" = yes ] || return 0
	found=$(find "$mnt" -type f -newermt now |
		grep -cE "$mta_queue_files") || true
	[ "$found" = "$1" ] || fail "$found of $1 have a time to come"
}

count()
{
	rm -rf "$work/queue"
	mkdir "$work/queue"
	mta_queue "$work/queue"
	printf '  %-34s %6d\n' "daemon killed" $((kills + 1))
	"$python" "$mta_dir/verify.py" --ledger "$ledger" \
		--dumps "$work/dumps" --sink "$work/refusals" \
		--queue "$work/queue" --json "$log/result.json" ||
		fail "mail was lost or damaged, seed $seed"
}

killrun()
{
	kill_options "$@"
	say "$mta_packages on $backend, $messages messages, seed $seed"
	# shellcheck disable=SC2086 # a list
	root_make $mta_paths
	spool_init
	spool_mount
	mta_setup
	ready "before the start"
	mta_start
	traffic_start
	crashes
	traffic_end
	quiet_crash
	count
	spool_umount
}
