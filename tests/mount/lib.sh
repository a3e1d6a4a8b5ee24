# shellcheck shell=bash
# lib.sh - a store, a mount of it and ways to lose it, for the scripts beside
# it. Source it first:
#
#	. "$(dirname "$0")/lib.sh"
#	new_store                  "$store", small
#	up noatime                 mounted on "$mnt", daemon is "$daemon"
#	crash                      the daemon killed, the mount detached
#	recover; up                replayed and mounted again
#	down                       unmounted, all on disk
#
# Everything is below "$work" and goes when the script ends in any way. A
# script ends with "down", so that a daemon under a sanitizer can report.
# shellcheck disable=SC2034 # variables for the scripts
set -euo pipefail

: "${RS_BUILD:?the build directory, set by tests/run}"
ctl=$RS_BUILD/tools/rspoolctl
rspoold=$RS_BUILD/tools/rspoold
posix=$RS_BUILD/tests/posix/posixhelp
work=$(mktemp -d "${TMPDIR:-/tmp}/m.XXXXXX")
store=$work/store
mnt=$work/mnt
daemon=
mount_options=

# Two users and their groups; numbers without an account do.
alice=61001
bob=61002
staff=62001

mkdir "$mnt"
# Other users have to get to the mount.
chmod 711 "$work"
[ "${TMPDIR:-/tmp}" = /tmp ] || chmod 711 "$TMPDIR"

say()
{
	printf '%s\n' "$*"
}

fail()
{
	printf 'FAILED at line %s: %s\n' "${BASH_LINENO[-2]:-?}" "$*" >&2
	exit 1
}

# same WANT GOT WHAT
same()
{
	[ "$1" = "$2" ] || fail "$3: '$2' instead of '$1'"
}

# within LOW HIGH GOT WHAT: a number, both ends included
within()
{
	if [ "$3" -lt "$1" ] || [ "$3" -gt "$2" ]; then
		fail "$4: $3, not $1 to $2"
	fi
}

# True under a sanitizer, where everything is several times slower.
sanitized()
{
	[ -n "${RS_SANITIZE:-}" ]
}

# scaled N: N, or a fifth of it under a sanitizer
scaled()
{
	if sanitized; then
		echo $(($1 / 5))
	else
		echo "$1"
	fi
}

# wait_for SECONDS COMMAND...: until it succeeds; fails when it never does.
# The time is an upper bound for a loaded machine, not what is expected.
wait_for()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

ended()
{
	! kill -0 "$1" 2>/dev/null
}

mounts_below_work()
{
	awk -v top="$work/" 'index($2, top) == 1 { print $2 }' \
		/proc/self/mounts | tac
}

daemons_of_work()
{
	pgrep -f "rspoold .*$work" || true
}

clean_up()
{
	local it rc=$?

	trap - EXIT
	cd /
	# shellcheck disable=SC2046 # numbers
	kill $(jobs -p) 2>/dev/null || true
	mounts_below_work | while read -r it; do
		umount -l "$it" 2>/dev/null || true
	done
	for it in $(daemons_of_work); do
		kill -TERM "$it" 2>/dev/null || continue
		wait_for 5 ended "$it" || kill -KILL "$it" 2>/dev/null || true
	done
	# after the store's daemon: tests/disk/disk.sh, where it was sourced
	! declare -F disk_cleanup >/dev/null || disk_cleanup || true
	losetup -l -n -O NAME,BACK-FILE 2>/dev/null |
		awk -v top="$work/" 'index($2, top) == 1 { print $1 }' |
		while read -r it; do
			losetup -d "$it" || true
		done
	if [ -n "${RS_KEEP:-}" ]; then
		echo "kept $work" >&2
	else
		rm -rf --one-file-system "$work" 2>/dev/null || true
	fi
	exit $rc
}
set_traps()
{
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
set_traps

# new_store [INIT-OPTION...]: small, so that it is made in no time
new_store()
{
	"$ctl" init "$store" --ring-size 16M --capacity 64M --inodes 20000 \
		"$@" >/dev/null
}

# json KEY...: the value of nested keys in the JSON on standard input
json()
{
	python3 -I -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[int(key)] if isinstance(value, list) else value[key]
print(json.dumps(value) if isinstance(value, (dict, list)) else
      str(value).lower() if isinstance(value, bool) else value)' "$@"
}

# The whole status as JSON; a degraded mount (4) has one too.
status_json()
{
	local rc=0

	"$ctl" status "$mnt" --json || rc=$?
	[ $rc = 0 ] || [ $rc = 4 ]
}

status()
{
	status_json | json "$@"
}

# requests OPCODE: how many of them the daemon has seen
requests()
{
	status_json | python3 -I -c '
import json, sys
print(json.load(sys.stdin)["requests"].get(sys.argv[1], 0))' "$1"
}

# up [OPTIONS]: mount; without an argument with the options of before
up()
{
	mount_options=${1-$mount_options}
	if [ -n "$mount_options" ]; then
		"$ctl" mount "$store" "$mnt" -o "$mount_options"
	else
		"$ctl" mount "$store" "$mnt"
	fi
	daemon=$(status pid)
	mountpoint -q "$mnt" || fail "mount came back, but '$mnt' is no mount"
}

# down: unmount in order; the daemon has to end by itself
down()
{
	"$ctl" umount "$mnt" "$@"
	! mountpoint -q "$mnt" || fail "still mounted after umount"
	wait_for 60 ended "$daemon" || fail "the daemon goes on after umount"
}

# crash: the daemon dies at once; what the page cache of the store's disk
# has got survives, as it does on a machine that goes on running
crash()
{
	kill -KILL "$daemon"
	wait_for 60 ended "$daemon" || fail "can't kill the daemon"
	umount -l "$mnt"
}

recover()
{
	"$ctl" recover "$store" "$@" >"$work/recovered" ||
		fail "recover: $(cat "$work/recovered")"
}

# all that was done so far, durable, then a crash
sync_and_crash()
{
	"$ctl" sync "$mnt"
	crash
}

# as UID GROUPS COMMAND...: GROUPS is one number or several with commas
as()
{
	setpriv --reuid "$1" --regid "${2%%,*}" --groups "$2" \
		--inh-caps=-all "${@:3}"
}

# expect RC COMMAND...: leaves what it printed in $out and $err
expect()
{
	local want=$1 rc=0

	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
	out=$(tr -d '\0' <"$work/out")
	err=$(tr -d '\0' <"$work/err")
	[ $rc = "$want" ] ||
		fail "exit code $rc instead of $want: $* (stderr: $err)"
}

# One line on stderr, with nothing on it that a terminal would obey.
one_line()
{
	[ "$(wc -l <"$work/err")" = 1 ] ||
		fail "not one line on stderr: '$err'"
	! grep -q '[[:cntrl:]]' "$work/err" || fail "control bytes: '$err'"
}

# Every file of a directory by name, size and content.
sum_of()
{
	(cd "$1" && find . -type f -printf '%p %s %m %U\n' -exec sha256sum {} + |
		sort)
}

# The whole tree as a list: names, types, attributes, times, content.
snapshot()
{
	(
		cd "${1:-$mnt}"
		find . -printf '%p %y %m %U %G %n %i %T@ %l %C@\0' \
			\( -type d -printf '\0' -o -printf '%s %b\0' \) |
			sort -z | tr '\0' '\n'
		find . -type f -print0 | sort -z | xargs -0r sha256sum
	)
}

# Same list before and after, or the difference.
same_tree()
{
	diff "$1" "$2" >"$work/diff" || {
		head -40 "$work/diff" >&2
		fail "$3"
	}
}

# loop_fs TYPE SIZE DIR: an empty filesystem in a file, mounted on DIR
loop_fs()
{
	mkdir -p "$3"
	truncate -s "$2" "$3.img"
	case $1 in
	ext4) mkfs.ext4 -q -F "$3.img" ;;
	xfs) mkfs.xfs -q -f "$3.img" ;;
	*) fail "no filesystem '$1'" ;;
	esac
	mount -o loop "$3.img" "$3"
}
