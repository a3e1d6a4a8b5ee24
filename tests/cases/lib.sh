# shellcheck shell=bash
# What the field cases share; source it first:
#
#	. "$(dirname "$0")/lib.sh"
#	on_disk ext4         the store on a simulated disk: power can fail
#	plain                the store on the machine's own disk
#	new_spool [OPTIONS]  init
#	up [-o OPTIONS]      mount; the working directory stays outside
#	crash; recover; up   kill -9 and umount -l; rspoolctl recover
#	power KEEP; recover; up   the power goes; of what wasn't flushed KEEP
#	                     per cent of the sectors stay
#	down                 orderly unmount
#	py <<'END'           python3 in $mnt, with fs.py's names
#
# A script ends with "down", so that a daemon under a sanitizer can report.
. "$(dirname "${BASH_SOURCE[0]}")/../crash/lib.sh"
enter "$@"

cases_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

plain()
{
	work_begin
	chmod 711 "$work"
	[ "${TMPDIR:-/tmp}" = /tmp ] || chmod 711 "$TMPDIR"
}

# on_disk FS [DISKSIM OPTIONS]
on_disk()
{
	case_begin "$@"
}

new_spool()
{
	rspoolctl init "$store" --ring-size 16M --capacity 32M "$@" \
		>"$work/init.log" 2>&1 || fail "init: $(cat "$work/init.log")"
}

up()
{
	spool_mount "$@"
	daemon=$(spool_pid)
}

down()
{
	spool_umount
	wait_for 60 gone "$daemon" || fail "the daemon goes on after umount"
}

crash()
{
	spool_kill
}

recover()
{
	spool_recover
}

power()
{
	disk_ctl cut "${seed:-1}" "keep=$1" >/dev/null
	spool_kill
	power_back
}

# same WANT GOT WHAT
same()
{
	[ "$1" = "$2" ] || fail "$3: '$2' instead of '$1'"
}

py()
{
	(cd "${py_dir:-$mnt}" &&
		PYTHONPATH=$cases_dir PYTHONDONTWRITEBYTECODE=1 \
		python3 -c "from fs import *
$(cat)" "$@") || fail "python: line ${BASH_LINENO[0]}"
}

# list DIR: all that a recovery has to bring back, sorted.
list()
{
	(cd "$1" && find . -mindepth 1 \
		-printf '%p %y %U %G %m %s %T@ %i %n %l\n' | sort)
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0r sha256sum)
}

# KEY... of rspoolctl status --json; a degraded mount (4) has one too.
status()
{
	{ rspoolctl status "$mnt" --json || [ $? = 4 ]; } | python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[key]
print(json.dumps(value) if isinstance(value, (dict, list)) else value)' "$@"
}

rss_kb()
{
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon/status"
}

# refused COMMAND...: fails with one line on stderr, left in $said.
refused()
{
	local rc=0

	"$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
	said=$(cat "$work/err")
	[ $rc != 0 ] || fail "'$*' was taken"
	[ $rc -lt 124 ] || fail "'$*' ended with $rc"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line: '$said'"
}

sanitized()
{
	[ -n "${RS_SANITIZE:-}" ]
}
