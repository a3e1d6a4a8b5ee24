#!/bin/bash
# MailScanner isn't in Debian: its pattern of calls between two queues of
# sendmail's and two of Exim's kind, all on one mount with the directory of its
# batches volatile (replay.py). The daemon is killed and the power cut: no
# message is lost, none is half, nothing is in the volatile directory.
#
#	run.sh [ACCIDENTS [SEED]]	(4)
# timeout: 300
# labels: slow kill
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"
# shellcheck source=../power.sh
. "$here/../power.sh"

# shellcheck disable=SC2034 # for lib.sh
{
	mta_spool=/spool
	mta_options=profile=sendmail+mailscanner
}
replay=
accidents=${1:-4}
seed=${2:-$(($(date +%s) % 100000))}

# The replay's processes are a group, so that all can be ended.
mta_kill()
{
	[ -n "$replay" ] || return 0
	kill -KILL -- "-$replay" 2>/dev/null || true
	wait "$replay" 2>/dev/null || true
	replay=
}

replay()
{
	"$python" "$here/replay.py" "$@"
}

replay_start()
{
	set -m
	"$python" "$here/replay.py" run "$mnt" --ledger "$work/ledger" \
		--sink "$work/sink" --seed $((seed + $1)) >>"$log/replay" 2>&1 &
	replay=$!
	set +m
}

accident()
{
	local before began kind='kill'

	before=$(grep -c '^ack' "$work/ledger" || true)
	replay_start "$1"
	sleep "2.$((RANDOM % 10))"
	began=$EPOCHREALTIME
	if [ $(($1 % 2)) = 0 ]; then
		spool_kill
	else
		kind='cut'
		power_cut $((seed + $1))
	fi
	# They end of the errors that they expect and tell of others; those that
	# only read can go on after a cut.
	wait_for 2 gone "$replay" || true
	mta_kill
	[ ! -s "$log/replay" ] || fail "$(tail -n 5 "$log/replay")"
	echo "$began $EPOCHREALTIME $kind $1" >>"$work/accidents"
	power_back
	spool_recover "$work/recovered"
	spool_mount
	replay check "$mnt" >"$log/check" || fail "after $kind $1: $(cat "$log/check")"
	say "$kind $1: $(($(grep -c '^ack' "$work/ledger") - before)) accepted," \
		"$(find "$mnt" -type f | wc -l) files left in the queues"
}

mta_enter
RANDOM=$seed
say "MailScanner's pattern, $accidents accidents, seed $seed"
mkdir "$root"
power_on
spool_init
spool_mount
mkdir -p "$mnt"/{mqueue,mqueue.in,exim4/input,exim4_incoming/input}
mkdir -p "$mnt/MailScanner/incoming" "$work/queue" "$work/dumps"
# Owner and mode come back.
chmod 750 "$mnt/MailScanner/incoming"
spool_sync
: >"$work/ledger"
: >"$work/sink"
: >"$work/accidents"
for ((i = 1; i <= accidents; i++)); do
	accident "$i"
done
replay drain "$mnt" --ledger "$work/ledger" --sink "$work/sink" ||
	fail "the queues can't be drained"
"$python" "$mta_dir/verify.py" --ledger "$work/ledger" \
	--dumps "$work/dumps" --sink "$work/sink" --queue "$work/queue" \
	--accidents "$work/accidents" --moved --json "$log/result.json" ||
	fail "mail was lost or damaged, seed $seed"
spool_umount
