#!/bin/bash
# D05, B02: more RAM than the memory cgroup allows is refused or warned about
# at the start; below it a full spool kills nobody.
# timeout: 300
. "$(dirname "$0")/lib.sh"

top=/sys/fs/cgroup
if [ -f $top/memory/memory.limit_in_bytes ]; then
	own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
	group=$top/memory${own%/}/rspool-test.$$
	[ -d "${group%/*}" ] || group=$top/memory/rspool-test.$$
	limit=memory.limit_in_bytes
	kills()
	{
		sed -n 's/^oom_kill //p' "$group/memory.oom_control"
	}
elif grep -qw memory $top/cgroup.controllers 2>/dev/null; then
	echo +memory >$top/cgroup.subtree_control || true
	group=$top/rspool-test.$$
	limit=memory.max
	kills()
	{
		sed -n 's/^oom_kill //p' "$group/memory.events"
	}
else
	echo "no memory cgroups here" >&2
	exit 77
fi
plain
new_spool --ring-size 4M --capacity 512M
mkdir "$group" || {
	echo "memory cgroups can't be made here" >&2
	exit 77
}
leave()
{
	local rc=$?

	echo $$ >"${group%/*}/cgroup.procs"
	spool_kill || true
	rmdir "$group" || true
	(exit $rc)
	work_end
}
trap leave EXIT
echo 320M >"$group/$limit"
echo $$ >"$group/cgroup.procs"
rc=0
rspoolctl mount "$store" "$mnt" -o ram=1G >"$work/out" 2>"$work/err" || rc=$?
[ $rc != 0 ] || [ -s "$work/err" ] || fail "ram=1G in 320M: no word about it"
say "ram=1G in 320M: exit code $rc $(cat "$work/err")"
if [ $rc = 0 ]; then
	daemon=$(spool_pid)
	down
fi
up -o ram=200M,stall=1
# The writer outside: its page cache isn't the daemon's.
echo $$ >"${group%/*}/cgroup.procs"
py <<'END'
try:
    for i in range(2000):
        put('m%d' % i, b'x' * 400000, sync=False)
except OSError as error:
    same(errno.ENOSPC, error.errno, 'errno')
END
same "$daemon" "$(spool_pid)" "the daemon"
same 0 "$(kills)" "processes killed for memory"
down
