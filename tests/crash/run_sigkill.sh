#!/bin/bash
# The daemon killed at random moments, started again at once: run_sigkill.sh
# [ROUNDS [SEED]]. The dead mount is detached by the start itself; each start
# recovers; each time the tree is compared with the ledger, whose inode
# numbers have to differ over all rounds. Now and then the kill comes so early
# that the start's own recovery is hit.
# timeout: 900
# labels: slow kill san
. "$(dirname "$0")/../crash/lib.sh"
enter "$@"

rounds=${1:-200}
seed=${2:-1}
if [ -n "${RS_SANITIZE:-}" ]; then
	rounds=${1:-15}
fi

# A kill while the start isn't over yet.
kill_the_start()
{
	local starter pid

	"$RS_BUILD/tools/rspoolctl" mount "$store" "$mnt" \
		>"$work/start.log" 2>&1 &
	starter=$!
	roll 0 120
	sleep "$(printf '0.%03d' "$rolled")"
	for pid in $(spool_pid); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait "$starter" || true
	for pid in $(spool_pid); do
		kill -KILL "$pid" 2>/dev/null || true
		wait_for 30 gone "$pid" || fail "daemon $pid doesn't die"
	done
}

round()
{
	local pid

	phase_begin "$1"
	roll 1 8
	writers_start -s "$1" -n "$rolled" -c 100000 -t 60
	roll 0 350
	sleep "$(printf '0.%03d' "$rolled")"
	pid=$(spool_pid)
	[ -n "$pid" ] || fail "round $1: no daemon"
	kill -KILL "$pid"
	writers_wait
	[ "$writers_rc" = 3 ] || fail "round $1: the writers saw no end"
	wait_for 30 gone "$pid" || fail "round $1: daemon $pid doesn't die"
	if [ $(($1 % 7)) = 0 ]; then
		kill_the_start
	fi
	if [ $(($1 % 10)) = 0 ]; then
		spool_kill
		spool_recover
		spool_verify
	fi
	spool_mount
	[ "$(awk -v at="$mnt" '$5 == at' /proc/self/mountinfo | wc -l)" = 1 ] ||
		fail "round $1: mounts are stacked"
	judge
}

work_begin
chance "$seed"
spool_init 1M 24M
spool_mount
for ((i = 1; i <= rounds; i++)); do
	say "round $i (run_sigkill.sh $i $seed)"
	round "$i"
done
say "$rounds rounds, then the end in order"
go_on "$seed"
