# shellcheck shell=bash
# What every mail server's test stands on. For sourcing; then call mta_enter.
#
# MODEL: the test runs in mount, pid and network namespaces of its own:
#
#	init (this script)
#	 |- rspoold            sees the machine's root, mounts on $root$mta_spool
#	 |- sinks, client      python3 on the machine's root, ports on lo
#	 `- chroot $root       the mail server
#
#	$root = overlay of the machine's / and a tmpfs into which the Debian
#	packages are unpacked. The machine keeps its files, users and ports;
#	several mail servers that exclude each other fit side by side.
#
# The daemon and the mail server share one mount namespace, so a remount after
# a crash is seen with no propagation to set up. When this script ends, for
# whatever reason, the kernel ends all processes of the pid namespace and with
# them the mounts: nothing can stay behind but the work directory.
#
# A mail server is a folder beside this file that defines:
#
#	mta_packages	Debian packages, by name
#	mta_spool	the mount point as the mail server sees it
#	mta_options	mount options: the profile; RS_MTA_OPTIONS overrules it
#	mta_volatile	directories of the spool that come back empty
#	mta_paths	what an installed one of the machine might have left
#	mta_queue_files	regular expression for the paths of queued mail
#	mta_retry_in_mtime	yes: deferred mail has its next try as mtime
#	mta_setup	once, with the empty spool mounted: users, configuration
#	mta_start	start, return when it listens
#	mta_stop	orderly stop
#	mta_kill	end all its processes, also with the spool gone
#	mta_ready	with the server stopped, after each recovery: its own
#			checks and repairs find nothing; prints what they found
#	mta_queue DIR	every queued message as DIR/<queue id>.eml
#	mta_pending	how many messages are queued
#	mta_flush	try deferred mail now
#	mta_retry_later	from now on, a next try is minutes away
#	mta_files PATH	all files of the queued message that PATH belongs to
#	mta_tools N	with N messages queued: the queue's tools work; removes
#			one message by them and prints its queue id
set -euo pipefail

mta_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mta_args=("$@")
: "${mta_packages:=}" "${mta_spool:=}" "${mta_paths:=}"
: "${mta_queue_files:=}" "${mta_retry_in_mtime:=no}"
: "${mta_options:=}" "${mta_volatile:=}"

# rspool or dir: a plain directory whose kill does nothing, to test the test.
backend=${RS_MTA_BACKEND:-rspool}
python=${RS_PYTHON:-/usr/bin/python3}

say()
{
	printf '%s\n' "$*"
}

fail()
{
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# Milliseconds of a clock that nobody sets.
now_ms()
{
	local up

	read -r up _ </proc/uptime
	up=${up/./}
	echo "${up}0"
}

# --- the namespaces and what they hold -----------------------------------

# The script starts over as pid 1 of its own namespaces. The death of whoever
# started it ends it too.
mta_enter()
{
	if [ -z "${RS_MTA_INSIDE:-}" ]; then
		if [ "$(id -u)" != 0 ]; then
			echo "needs root: mounts and namespaces" >&2
			exit 77
		fi
		# There is no network inside.
		# shellcheck disable=SC2086 # a list
		[ -z "$mta_packages" ] ||
			"$mta_dir/unpack" --fetch $mta_packages ||
			fail "no packages: $mta_packages"
		export RS_MTA_INSIDE=1
		exec setpriv --pdeathsig KILL unshare --mount --pid --net \
			--fork --kill-child --mount-proc \
			--propagation private bash "$0" "${mta_args[@]}"
	fi
	unset RS_MTA_INSIDE
	ip link set lo up
	# The control sockets are named by store; those of the machine's own
	# mounts stay out of sight.
	mkdir -p /run/rspool
	mount -t tmpfs -o mode=755 rspool-test /run/rspool
	work=$(mktemp -d "${TMPDIR:-/tmp}/mta.XXXXXX")
	chmod 755 "$work"
	root=$work/root
	store=$work/store
	log=$work/log
	mkdir "$log"
	helpers=()
	capacity=1G
	mount_options=${RS_MTA_OPTIONS-$mta_options}
	mta_traps
}

mta_traps()
{
	trap mta_leave EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

mta_leave()
{
	local rc=$? pid

	trap - EXIT
	set +e
	[ $rc = 0 ] || show_logs >&2
	if [ -n "${RS_MTA_KEEP:-}" ]; then
		cp -a "$log" "$RS_MTA_KEEP"
	fi
	mta_kill >/dev/null 2>&1
	for pid in "${helpers[@]}"; do
		kill -TERM "$pid" 2>/dev/null
	done
	spool_end >/dev/null 2>&1
	power_off >/dev/null 2>&1
	umount -l "$root" "$work/layer" 2>/dev/null
	cd /
	rm -rf --one-file-system "$work"
	exit $rc
}

show_logs()
{
	local file

	for file in "$log"/* "$log"/*/*; do
		if [ ! -f "$file" ] || [ ! -s "$file" ]; then
			continue
		fi
		echo "--- last lines of ${file##*/}"
		tail -n "${RS_MTA_TAIL:-15}" "$file"
	done
}

# background NAME COMMAND...: a helper with its output in the log; $! is its
# pid, and it is ended with the test.
background()
{
	local name=$1

	shift
	"$@" >"$log/$name" 2>&1 </dev/null &
	helpers+=($!)
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for()
{
	local end

	end=$(($(now_ms) + $1 * 1000))
	shift
	until "$@"; do
		[ "$(now_ms)" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# gone PID: no such process, or one that only waits to be reaped. The first
# thread is a zombie while others still hold the files, so all have to be.
gone()
{
	local states

	states=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/task/"*/status \
		2>/dev/null) || true
	[ -z "${states//[ZX[:space:]]/}" ]
}

# --- the private root -----------------------------------------------------

in_root()
{
	chroot "$root" /usr/bin/env -i LC_ALL=C \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# root_make PATH...: the root, with the packages of the mail server, and
# without the paths named, which belong to an installed one of the machine.
root_make()
{
	local layer=$work/layer path

	mkdir "$layer" "$root"
	mount -t tmpfs -o mode=755 rspool-test "$layer"
	mkdir "$layer/upper" "$layer/work"
	mount -t overlay -o "lowerdir=/,upperdir=$layer/upper" \
		-o "workdir=$layer/work" rspool-test "$root"
	for path; do
		rm -rf "${root:?}$path"
	done
	# shellcheck disable=SC2086 # a list
	"$mta_dir/unpack" "$root" $mta_packages
	root_devices
	printf '127.0.0.1 localhost mail.rspool.test\n' >"$root/etc/hosts"
	printf 'mail.rspool.test\n' >"$root/etc/mailname"
	: >"$root/etc/resolv.conf"
}

# /dev with a log socket of its own. /proc is that of the namespace.
root_devices()
{
	local name

	mount -t tmpfs -o mode=755 rspool-test "$root/dev"
	mkdir "$root/dev/shm"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name"
	done
	mount --bind /proc "$root/proc"
	background logsock "$python" "$mta_dir/logsock.py" \
		"$root/dev/log" "$log/mail.log"
	wait_for 10 test -S "$root/dev/log" || fail "no log socket"
}

# The lowest number from 900 up that neither users nor groups have.
free_id()
{
	local id=900

	while cut -d: -f3 "$root/etc/passwd" "$root/etc/group" |
	    grep -qx "$id"; do
		id=$((id + 1))
	done
	echo "$id"
}

root_group()
{
	grep -q "^$1:" "$root/etc/group" ||
		echo "$1:x:$(free_id):" >>"$root/etc/group"
}

# root_user NAME HOME: with a group of the same name.
root_user()
{
	local gid

	root_group "$1"
	gid=$(sed -n "s/^$1:[^:]*:\([0-9]*\):.*/\1/p" "$root/etc/group")
	grep -q "^$1:" "$root/etc/passwd" ||
		echo "$1:x:$gid:$gid::$2:/usr/sbin/nologin" \
			>>"$root/etc/passwd"
}

# Every process of the mail server: what runs in the private root, but for
# Postfix's sink. All are of this pid namespace, and so of this test.
root_pids()
{
	local link at

	for link in /proc/[0-9]*/root; do
		at=$(readlink "$link" 2>/dev/null) || continue
		case $at/ in
		"$root"/*) ;;
		*) continue ;;
		esac
		case $(readlink "${link%/root}/exe" 2>/dev/null) in
		*/smtp-sink) continue ;;
		esac
		link=${link#/proc/}
		echo "${link%/root}"
	done
}

root_empty()
{
	[ -z "$(root_pids)" ]
}

# A parent that is still alive starts new ones meanwhile: again until all
# are gone.
root_kill_once()
{
	local pid

	for pid in $(root_pids); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	root_empty
}

listens()
{
	ss -Hltn "sport = :$1" | grep -q .
}

# --- the spool ------------------------------------------------------------

rspoolctl()
{
	"$RS_BUILD/tools/rspoolctl" "$@"
}

spool_init()
{
	mnt=$root$mta_spool
	daemon=
	# The package brings a tree of its own, and the mount wants none below.
	rm -rf "${root:?}$mta_spool"
	mkdir -p "$mnt"
	if [ "$backend" = dir ]; then
		mkdir "$store"
		return
	fi
	[ -x "${RS_BUILD:?names the build directory}/tools/rspoolctl" ] ||
		fail "no rspoolctl in '$RS_BUILD/tools'"
	rspoolctl init "$store" --ring-size "${RS_MTA_RING:-64M}" \
		--capacity "$capacity" >"$log/init" 2>&1 || fail "init of '$store'"
}

spool_mount()
{
	if [ "$backend" = dir ]; then
		mountpoint -q "$mnt" || mount --bind "$store" "$mnt"
		return
	fi
	rspoolctl mount "$store" "$mnt" \
		${mount_options:+-o "$mount_options"} >>"$log/mount" 2>&1 ||
		fail "mount of '$store': exit code $?"
	mountpoint -q "$mnt" || fail "'$mnt' isn't mounted"
	# 4: degraded, as with a full ring to replay
	daemon=$({ rspoolctl status "$mnt" --json || [ $? = 4 ]; } |
		"$python" -c 'import json, sys
print(json.load(sys.stdin)["pid"])')
}

spool_kill()
{
	[ "$backend" != dir ] && [ -n "$daemon" ] || return 0
	kill -KILL "$daemon" 2>/dev/null || gone "$daemon"
	wait_for 30 gone "$daemon" || fail "the daemon $daemon doesn't die"
	daemon=
}

# What it found goes to the file and to the log.
spool_recover()
{
	local rc=0

	if [ "$backend" = dir ]; then
		echo "a directory: nothing to recover" >"$1"
		return
	fi
	rspoolctl recover "$store" >"$1" 2>&1 || rc=$?
	cat "$1" >>"$log/recover"
	[ $rc = 0 ] || fail "recover of '$store': exit code $rc"
}

spool_sync()
{
	[ "$backend" = dir ] || rspoolctl sync "$mnt"
}

spool_umount()
{
	if [ "$backend" = dir ]; then
		umount "$mnt"
	else
		rspoolctl umount "$mnt" >>"$log/umount" 2>&1
		daemon=
	fi
}

# On the way out: orderly if it can be had, so that sanitizers report.
spool_end()
{
	[ -n "${mnt:-}" ] && mountpoint -q "$mnt" || return 0
	spool_umount || umount -l "$mnt"
	[ -z "$daemon" ] || gone "$daemon" || kill -TERM "$daemon"
}
