#!/bin/bash
# The daemon is killed under a running Postfix and nobody lifts a hand: on_lost
# does what the units would do, in their order, and mail flows again. The times
# are reported, not judged.
# timeout: 400
# lock: mta
# labels: kill
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

mta_enter
kill_options --messages 300 --kills 2 --local 0 --rate 60 "$@"

# BindsTo= stops Postfix: its ExecStop=, then the control group's processes.
# Restart= starts the daemon again, which recovers. After= starts Postfix when
# the mount serves: the two commands of postfix@.service.
write_on_lost()
{
	{
		echo '#!/bin/bash'
		declare -p root log work mta_spool mnt store
		declare -f in_root wait_for now_ms fail gone mta_kill \
			root_kill_once root_empty root_pids
		cat <<-END
		[ "\$1 \$2 \$3" = "lost $store $mnt" ] || exit 9
		in_root postmulti -i - -p stop >>$log/on_lost 2>&1 || true
		mta_kill
		"$RS_BUILD/tools/rspoolctl" mount "$store" "$mnt" \
			-o "$mount_options" >>$log/on_lost 2>&1 || exit 8
		in_root /usr/lib/postfix/configure-instance.sh - \
			>>$log/on_lost 2>&1
		in_root postmulti -i - -p start >>$log/on_lost 2>&1
		END
	} >"$work/on_lost"
	chmod 755 "$work/on_lost"
}

daemon_of()
{
	{ rspoolctl status "$1" --json || [ $? = 4 ]; } | "$python" -c 'import json, sys
print(json.load(sys.stdin)["pid"])'
}

flows_again()
{
	[ "$(acked)" -gt "$1" ]
}

# Postfix is dead before the mount is new, so what counts is answered by the
# new one.
lose()
{
	local at before=$daemon t0

	kill -KILL "$daemon"
	t0=$(now_ms)
	wait_for 60 gone "$before" || fail "the daemon $before doesn't die"
	at=$(acked)
	wait_for 120 flows_again "$at" ||
		fail "no mail after the loss: $(tail -n 5 "$log/on_lost")"
	daemon=$(daemon_of "$mnt")
	[ "$daemon" != "$before" ] || fail "the same daemon"
	say "kill $1: after $at messages, mail again after" \
		"$(($(now_ms) - t0)) ms"
}

mount_options=$mta_options,on_lost=$work/on_lost,protect
# shellcheck disable=SC2086 # a list
root_make $mta_paths
spool_init
write_on_lost
spool_mount
mta_setup
ready "before the start"
mta_start
traffic_start
for ((i = 1; i <= kills; i++)); do
	wait_acked $((i * messages / (kills + 1)))
	lose $i
done
traffic_end
rm -rf "$work/queue"
mkdir "$work/queue"
mta_queue "$work/queue"
"$python" "$mta_dir/verify.py" --ledger "$ledger" --dumps "$work/dumps" \
	--sink "$work/refusals" --queue "$work/queue" \
	--json "$log/result.json" || fail "mail was lost or damaged, seed $seed"
mta_stop
spool_umount
