# shellcheck shell=bash
# shellcheck disable=SC2154 # work, root, mnt and log are those of lib.sh
# The run of every mail server: mail in from 20 sessions, out to the sinks,
# and under it the daemon killed, or the power of the store's disk cut. For
# sourcing after lib.sh, power.sh and the mail server's own file, which may
# also give
#
#	mta_sink	starts what takes the mail on port 2525, into $work/dumps;
#			without it all goes to sink.py
#	mta_submit	the command for local mail, a recipient is added to it
#	mta_client	more options of client.py
#	mta_verify	more options of verify.py
#
# Options of killrun:
#	--messages N	answered 250 before it ends (2000)
#	--kills N	of the daemon (5)
#	--cuts N	of the power (0); then the store is on a simulated disk, and
#			the last accident, with no traffic, is a cut too
#	--poisons N	a write or a flush of the disk fails (0), and the poisoned
#			mount stays for some seconds; then no message may have more
#			than one delivery for each accident and one
#	--local N	messages submitted locally beside (40)
#	--rate N	messages a second, at most (0: as fast as it goes)
#	--seed N
#	--sabotage yes	after the last accident remove one queued message of the
#			ledger and change a byte of another: the run must fail
#
# Before each accident the run notes which delivered messages are out of the
# queue, then calls sync: none of these may be delivered again, whatever the
# times are. Any other duplicate must have come from an accident, and not have
# been delivered long before it.
quiet_kills=0 quiet_cuts=0
messages=2000 kills=5 cuts=0 poisons=0 local_messages=40 rate=0 seed=${RS_SEED:-} sabotage=

kill_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--messages) messages=$2 ;;
		--kills) kills=$2 ;;
		--cuts) cuts=$2 ;;
		--poisons) poisons=$2 ;;
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
	records_make
}

# What count reads at the end.
records_make()
{
	ledger=$work/ledger
	: >"$ledger"
	: >"$work/refusals"
	: >"$work/accidents"
	: >"$work/buried"
	mkdir "$work/dumps"
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
	# An address that no mail server takes for its own.
	ip addr add 10.25.0.1/32 dev lo
	if declare -F mta_sink >/dev/null; then
		mta_sink
	fi
	background sink "$python" "$mta_dir/sink.py" --port 2526 --host 0.0.0.0 \
		--log "$work/refusals"
	wait_for 10 listens 2526 || fail "the sink doesn't listen"
}

traffic_start()
{
	sinks_start
	background client "$python" "$mta_dir/client.py" --port 25 \
		--ledger "$ledger" --count "$messages" --seed "$seed" \
		--rate "$rate" --until "$work/crashed" \
		--banner "${mta_banner:-60}" \
		--share defer.test=10 --share bounce.test=47 \
		"${mta_client[@]}"
	client=$!
	if [ "$local_messages" -gt 0 ]; then
		background submit "$python" "$mta_dir/submit.py" \
			--ledger "$ledger" --count "$local_messages" \
			--seed "$seed" --stop "$work/stop" --pause "$work/pause" \
			"${mta_submit[@]}"
		submit=$!
	fi
}

# Which delivered messages have left the queue, for good: see the top. A file
# that is renamed while grep looks may be overlooked, but then the message had
# not been delivered before.
bury()
{
	local delivered=$work/delivered

	{
		sed -n 's/^got \([^ ]*\) .*/\1/p' "$work/refusals"
		{ grep -rhoaE '^X-Rspool-Id: [ml]-[0-9-]+' "$work/dumps" ||
			true; } | cut -d' ' -f2
	} | sort -u >"$delivered"
	{ grep -rhoaE '[ml]-[0-9-]+@(ok|defer|sender)\.test' "$mnt" \
		2>/dev/null || true; } | cut -d@ -f1 | sort -u >"$work/present"
	spool_sync
	comm -23 "$delivered" "$work/present" |
		sed "s/^/$EPOCHREALTIME /" >>"$work/buried"
}

# poisoned SEED: one of the next writes or flushes fails, and the mail server
# goes on as long as it likes on a spool that has turned read-only.
poisoned()
{
	local active

	if [ $(($1 % 2)) = 0 ]; then
		disk_ctl fail flush $((1 + $1 % 13)) >>"$log/cuts"
	else
		disk_ctl fail write $((1 + $1 % 13)) >>"$log/cuts"
	fi
	wait_for 30 spool_red || fail "the failed request didn't poison the log"
	active=$(find "$mnt/active" -type f 2>/dev/null | wc -l) || true
	[ ! -d "$mnt/active" ] || [ "$active" -gt 0 ] ||
		fail "no mail in active"
	sleep 3
	spool_red || fail "a poisoned mount isn't red any more"
	say "poisoned: $(spool_says why), $active in active"
}

# spool_says KEY: of the status, whose exit code tells how bad it is.
spool_says()
{
	{ rspoolctl status "$mnt" --json 2>/dev/null || true; } |
		"$python" -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1" 2>/dev/null
}

spool_red()
{
	[ "$(spool_says state)" = red ]
}

# accident KIND NUMBER: what happens, and all that an administrator does
# about it.
accident()
{
	local kind=$1 number=$2 at began t0 t1 t2 t3 queued

	bury
	sleep "0.$((RANDOM % 5))"
	at=$(acked)
	began=$EPOCHREALTIME
	case $kind in
	kill) spool_kill ;;
	cut) power_cut $((seed + number)) ;;
	poison) poisoned $((seed + number)) ;;
	esac
	t0=$(now_ms)
	: >"$work/pause"
	# Time enough for the mail server to see the dead mount.
	[ "$kind" = poison ] || sleep "0.$((RANDOM % 9 + 1))"
	mta_kill
	echo "$began $EPOCHREALTIME $kind $number" >>"$work/accidents"
	if [ "$kind" != kill ]; then power_back; fi
	t1=$(now_ms)
	spool_recover "$work/recovered"
	t2=$(now_ms)
	spool_mount
	t3=$(now_ms)
	ready "after $kind $number"
	queued=$(mta_pending)
	if [ "$number" = $((kills + cuts + poisons)) ] && [ -n "$sabotage" ]; then
		sabotage_now remove
		sabotage_now corrupt
	fi
	mta_start
	rm -f "$work/pause"
	printf '%4d %-7s %8d %8d %10d %8d %10d\n' "$number" "$kind" "$at" \
		"$queued" $((t2 - t1)) $((t3 - t2)) $(($(now_ms) - t0))
}

ready()
{
	local said

	said=$(mta_ready) || fail "the mail server's own check $1: $said"
	[ -z "$said" ] || fail "the mail server's own check $1: $said"
}

# Accident number i falls into the i-th of as many equal parts of the traffic
# and one more; the moment in it is drawn, and the order of the kinds.
accidents()
{
	local i n=$((kills + cuts + poisons)) part at now pick
	local -a kinds=()

	for ((i = 0; i < kills; i++)); do kinds+=(kill); done
	for ((i = 0; i < cuts; i++)); do kinds+=(cut); done
	for ((i = 0; i < poisons; i++)); do kinds+=(poison); done
	part=$((messages / (n + 1)))
	say "accident      at 250   queued  recover ms mount ms  outage ms"
	for ((i = 1; i <= n; i++)); do
		at=$((i * part - part / 2 + RANDOM % (part + 1)))
		# The clients may be ahead: some traffic there shall be.
		now=$(($(acked) + 1 + RANDOM % 40))
		[ $at -gt $now ] || at=$now
		wait_acked "$at"
		sleep "0.0$((RANDOM % 10))"
		pick=$((RANDOM % ${#kinds[@]}))
		accident "${kinds[pick]}" "$i"
		unset "kinds[pick]"
		kinds=("${kinds[@]}")
	done
}

# sabotage_now HARM: what this test is there to find. A byte in the middle of a
# large file, so that it is one of the body.
sabotage_now()
{
	local harm=$1 path ident files

	while read -r path; do
		ident=$(grep -a -o -E -m 1 '[ml]-[0-9-]+@(ok|defer)\.test' \
			"$path" | head -n 1) || continue
		ident=${ident%@*}
		grep -q "^ack $ident " "$ledger" || continue
		grep -q "^got $ident " "$work/refusals" && continue
		grep -q -r "^X-Rspool-Id: $ident\$" "$work/dumps" && continue
		[ "$ident" != "${sabotaged:-}" ] || continue
		mapfile -t files < <(mta_files "$path")
		if [ "$harm" = remove ]; then
			rm -f "${files[@]}"
		else
			path=$(find "${files[@]}" -maxdepth 0 -size +20k)
			[ -n "$path" ] || continue
			"$python" "$mta_dir/corrupt.py" "$path"
		fi
		say "sabotage: $harm $ident"
		sabotaged=$ident
		return
	done < <(find "$mnt" -type f | grep -E "$mta_queue_files")
	fail "no queued message to sabotage"
}

traffic_end()
{
	: >"$work/crashed"
	wait "$client" || fail "the client: $(tail -n 3 "$log/client")"
	: >"$work/stop"
	[ "$local_messages" = 0 ] || wait "$submit" ||
		fail "local submission: $(tail -n 3 "$log/submit")"
	wait_for 120 drained || {
		find "$mnt" -type f -ls >"$log/left"
		fail "$(mta_pending) messages still queued after 120 s"
	}
}

# Mail that stays: deferred with a retry time to come. A crash with nothing
# going on must then change nothing at all.
quiet_crash()
{
	local stay=20 id kind='kill'

	mta_retry_later
	"$python" "$mta_dir/client.py" --port 25 --ledger "$ledger" \
		--count $stay --domain stay.test --prefix s --seed "$seed" \
		--banner "${mta_banner:-60}" \
		>"$log/stay" 2>&1 || fail "the client: $(cat "$log/stay")"
	wait_for 60 pending_is "$stay" || fail "deferred mail isn't queued"
	sleep 1
	tools_work
	mta_stop
	spool_sync
	# shellcheck disable=SC2086 # a list
	"$python" "$mta_dir/snap.py" "$mnt" $mta_volatile >"$work/before"
	future_times $stay
	if [ "$cuts" -gt 0 ]; then
		kind='cut'
		quiet_cuts=1
		power_cut "$seed"
		power_back
	else
		quiet_kills=1
		spool_kill
	fi
	spool_recover "$work/recovered"
	spool_mount
	# shellcheck disable=SC2086 # a list
	"$python" "$mta_dir/snap.py" "$mnt" $mta_volatile \
		>"$work/after"
	diff -u "$work/before" "$work/after" >"$log/changed" ||
		fail "the tree isn't the same: $(cat "$log/changed")"
	ready "at the end"
	say "quiet $kind: $(wc -l <"$work/after") paths unchanged, $stay" \
		"deferred with their retry time"
}

# One message is removed by the tools. It stays away.
tools_work()
{
	local id

	id=$(mta_tools "$stay") || fail "the queue's tools: $id"
	[[ $id =~ ^s-[0-9-]+$ ]] || fail "the queue's tools: '$id'"
	echo "drop $id" >>"$ledger"
	stay=$((stay - 1))
	wait_for 20 pending_is "$stay" ||
		fail "$(mta_pending) messages queued, not $stay"
	say "queue tools: listed, shown, held, released, $id removed"
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
	local -a most=()

	rm -rf "$work/queue"
	mkdir "$work/queue"
	mta_queue "$work/queue"
	[ "$poisons" = 0 ] ||
		most=(--most $((1 + kills + cuts + poisons)))
	printf '  %-34s %6d\n' "daemon killed" \
		$((kills + quiet_kills)) "power cut" $((cuts + quiet_cuts)) \
		"log poisoned" "$poisons"
	"$python" "$mta_dir/verify.py" --ledger "$ledger" \
		--dumps "$work/dumps" --sink "$work/refusals" \
		--queue "$work/queue" --accidents "$work/accidents" \
		--buried "$work/buried" "${most[@]}" "${mta_verify[@]}" \
		--json "$log/result.json" ||
		fail "mail was lost or damaged, seed $seed"
}

killrun()
{
	kill_options "$@"
	say "$mta_packages on $backend, $messages messages, seed $seed"
	# shellcheck disable=SC2086 # a list
	root_make $mta_paths
	[ $((cuts + poisons)) = 0 ] || power_on
	spool_init
	spool_mount
	mta_setup
	ready "before the start"
	mta_start
	traffic_start
	accidents
	traffic_end
	quiet_crash
	count
	spool_umount
}
