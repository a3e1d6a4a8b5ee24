#!/bin/bash
# C05: LMDB's file is opened once, after the daemon has forked for the last time;
# the lock is a flock of another file, which no close of data.mdb can drop.
# labels: slow
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || fail "no strace, run tools/deps"
plain
new_spool
strace -f -qq -o "$work/trace" -e trace=openat,open,fork,vfork,clone,clone3 \
	"$RS_BUILD/tools/rspoold" "$store" "$mnt" >"$work/mount.log" 2>&1 &
wait_for 60 mountpoint -q "$mnt" || fail "no mount: $(cat "$work/mount.log")"
daemon=$(spool_pid)
for i in 1 2 3 4 5; do
	put=$mnt/f$i
	head -c 300000 /dev/urandom >"$put"
	sync "$put"
	rspoolctl status "$mnt" >/dev/null
done
down
wait
# LMDB itself opens data.mdb and, for its metas, once more with O_DSYNC. There
# is no lock.mdb.
awk '
	/\/data\.mdb"/ && /O_RDWR|O_WRONLY/ && !/ENOENT/ { n[$1]++ }
	END { for (pid in n) print pid, n[pid] }
' "$work/trace" >"$work/opens"
same 1 "$(wc -l <"$work/opens")" "processes that write data.mdb"
[ "$(cut -d' ' -f2 "$work/opens")" -le 2 ] ||
	fail "data.mdb was opened $(cut -d' ' -f2 "$work/opens") times"
[ ! -e "$store/lock.mdb" ] || fail "there is a lock.mdb"
# No process is forked off by the one that has the environment open.
owner=$(cut -d' ' -f1 "$work/opens")
awk -v pid="$owner" '
	$1 == pid && /data\.mdb".*O_RDWR/ { open = 1 }
	open && $1 == pid && /(fork|clone)/ && !/CLONE_THREAD/ { bad = 1 }
	END { exit bad }
' "$work/trace" || fail "a process was forked with the environment open"
