#!/bin/bash
# field_one.sh TABLE SERVER PEER DISK PERCENT: one measurement of ./field, in
# namespaces of its own, on the private root of ../mta. Prints a line of JSON:
# what was sent, the seconds until the client had its last answer and until
# the queue was empty, and the disk's counters.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
table=$1 server=$2 peer=$3 disk=$4 percent=$5
mta=$here/../mta

# shellcheck source=../mta/lib.sh
. "$mta/lib.sh"
# shellcheck source=../mta/power.sh
. "$mta/power.sh"
# shellcheck source=/dev/null
. "$mta/$server/$server.sh"

case $peer in
rspool*) ;;
*) backend=dir ;;
esac
case $table:$server in
3:*) mta_packages+=' postal' ;;
4:sendmail) mta_packages+=' python3-milter' ;;
esac
mta_enter
# The answer goes to the caller, all else to the log.
exec 3>&1 >"$log/said"

# --- the spool's disk ------------------------------------------------------

field_disk_up()
{
	local type=ext4

	case $peer in
	tmpfs) return ;;
	ext2 | xfs | btrfs) type=$peer ;;
	esac
	drop_copies
	# shellcheck source=../disk/disk.sh
	. "$here/../disk/disk.sh"
	if [ "$disk" = own ]; then
		own_disk_up
		return
	fi
	mkdir "$work/medium"
	mount -t tmpfs -o size=5G field "$work/medium"
	disk_start "$work/medium/disk.img" 4G --preset none
	mta_traps
	power=yes
	field_mkfs "$type"
	disk_mount -o noatime
	losetup -d "$DISK_LOOP"
	store=$DISK_MNT/store
}

# A file on the machine's disk, written once, so that nothing is left to
# allocate there. Its loop device goes with the mount.
own_disk_up()
{
	own=$(mktemp -d "${RS_FIELD_OWN:-/var/tmp}/field.XXXXXX")
	capacity=256M
	dd if=/dev/zero of="$own/disk" bs=1M count=1536 conv=fsync status=none
	loop=$(losetup --find --show --direct-io=on "$own/disk")
	DISK_LOOP=$loop field_mkfs "$type"
	mkdir "$work/own"
	mount -o noatime "$loop" "$work/own"
	losetup -d "$loop"
	loop=
	store=$work/own/store
}

field_mkfs()
{
	if [ "$1" = ext2 ]; then
		mkfs.ext2 -q -F -E nodiscard "$DISK_LOOP"
	else
		disk_mkfs "$1"
	fi
}

# From here on the disk is as slow as it is.
field_disk_slow()
{
	sync
	[ -z "${power:-}" ] || disk_ctl times "$disk" >/dev/null
	counters_before=$(field_counters)
}

field_counters()
{
	if [ -n "${power:-}" ]; then
		disk_ctl counters
	else
		echo null
	fi
}

field_spool_up()
{
	case $peer in
	tmpfs)
		store=$work/tmpfs
		mkdir "$store"
		mount -t tmpfs -o noatime,mode=755,size=4G field "$store"
		store=$store/store
		;;
	esac
	spool_init
	spool_mount
}

field_leave()
{
	local rc=$?

	trap - EXIT
	set +e
	[ -z "${power:-}" ] || disk_ctl times none >/dev/null 2>&1
	mta_kill >/dev/null 2>&1
	spool_end >/dev/null 2>&1
	power_off >/dev/null 2>&1
	power=
	umount -l "$work/tmpfs" "$work/medium" "$work/own" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
	[ -z "$own" ] || rm -rf --one-file-system "$own"
	(exit $rc)
	mta_leave
}

# --- the load --------------------------------------------------------------

scaled()
{
	local n=$(($1 * percent / 100))

	echo $((n > 2 ? n : 2))
}

# source MESSAGES SESSIONS BYTES RECIPIENT
source_mail()
{
	in_root /usr/sbin/smtp-source -m "$1" -s "$2" -l "$3" -c \
		-f sender@sender.test -t "$4" 127.0.0.1:25 >>"$log/source" 2>&1 ||
		fail "smtp-source: exit code $?"
	sent=$((sent + $1))
}

load_1()
{
	source_mail "$(scaled 1000)" 20 15360 one@ok.test
}

# Three clients at once, 15 sessions in all.
load_2()
{
	local pids=() rc=0 pid to=box@mail.rspool.test

	source_mail "$(scaled 1000)" 9 1024 $to &
	pids+=($!)
	source_mail "$(scaled 100)" 4 25600 $to &
	pids+=($!)
	source_mail "$(scaled 10)" 2 512000 $to &
	pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=1
	done
	[ $rc = 0 ] || fail "a client failed"
	sent=$(($(scaled 1000) + $(scaled 100) + $(scaled 10)))
}

# postal runs by the clock; what it was told 250 for is counted.
load_3()
{
	local pid seconds=$((20 * percent / 100))

	mkdir "$work/postal"
	printf 'u%d@ok.test\n' 1 2 3 4 5 6 7 8 9 >"$work/postal/users"
	background postal env -C "$work/postal" \
		"$root/usr/sbin/postal" -t 20 -c 3 -M 11 -m 11 \
		-r 60000 -z "$work/postal/z" 127.0.0.1 "$work/postal/users"
	pid=$!
	sleep $((seconds > 5 ? seconds : 5))
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	sent=$("$python" "$mta/postal.py" --ledger "$work/ledger" \
		"$work"/postal/z* | sed 's/[^0-9]*\([0-9]*\).*/\1/')
}

load_4()
{
	"$python" "$mta/client.py" --port 25 --ledger "$work/ledger" \
		--count "$(scaled 600)" --sessions 20 --seed 4 \
		>>"$log/client" 2>&1 || fail "client.py: exit code $?"
	sent=$(scaled 600)
}

# A scanner's stand-in, as a filter of Exim's delivery or a milter of sendmail:
# the message is unpacked into a directory of its own, read, and removed.
scanner_make()
{
	"scanner_of_$server"
	if [ "$peer" = ext4-work ]; then
		mount -t tmpfs -o mode=777,size=1G field "$mnt/scan"
	fi
}

scanner_of_sendmail()
{
	local mc=$root/etc/mail

	mkdir "$mnt/scan"
	cp "$here/field_milter.py" "$root/usr/local/bin/"
	echo "INPUT_MAIL_FILTER(\`scan', \`S=inet:2527@127.0.0.1, F=T')dnl" \
		>>"$mc/daemon.m4"
	in_root sh -c 'cd /etc/mail && m4 sendmail.mc >sendmail.cf' \
		>>"$log/start" 2>&1 || fail "sendmail's configuration"
	background milter chroot "$root" /usr/bin/python3 \
		/usr/local/bin/field_milter.py inet:2527@127.0.0.1 \
		"$mta_spool/scan"
	milter=$!
	wait_for 20 listens 2527 || fail "no milter"
}

scanner_of_exim()
{
	cat >"$root/usr/local/bin/field-scan" <<-'END'
	#!/bin/sh
	d=$1/scan.$$
	mkdir "$d" && cat >"$d/message" || exit 75
	for i in 1 2 3 4 5; do cp "$d/message" "$d/part$i"; done
	cat "$d"/part* | cksum >"$d/report"
	cat "$d/message"
	rm -r "$d"
	END
	chmod 755 "$root/usr/local/bin/field-scan"
	in_root install -d -oDebian-exim -gDebian-exim -m750 "$mta_spool/scan"
	sed -i "/driver = smtp/a transport_filter = /usr/local/bin/field-scan $mta_spool/scan" \
		"$root"/etc/exim4/conf.d/transport/30_exim4-config_remote_smtp_smarthost
	in_root update-exim4.conf
}

# shellcheck disable=SC2178,SC2179 # no array here
options_set()
{
	case $peer:$table in
	rspool-volatile:*) mount_options=policy=volatile ;;
	rspool:4) mount_options+=,policy=/scan:volatile ;;
	esac
}

mailbox_make()
{
	root_user box /home/box
	mkdir -p "$root/var/mail"
	chmod 1777 "$root/var/mail"
}

drained()
{
	[ "$(mta_pending)" = 0 ]
}

# How many messages have arrived where they were sent: by the log of Postfix,
# or by the sink's. Nothing may get lost, and be fast for it.
arrived()
{
	if [ "$server" = postfix ]; then
		grep -c 'status=sent' "$log/mail.log"
	else
		grep -cE '^(got|back) ' "$work/sink.log"
	fi
}

all_arrived()
{
	[ "$(arrived)" -ge "$sent" ]
}

# --- one measurement -------------------------------------------------------

own='' loop='' milter='' sent=0 counters_before=null
trap field_leave EXIT
options_set
# shellcheck disable=SC2086 # a list
root_make $mta_paths
field_disk_up
trap field_leave EXIT
field_spool_up
mta_setup
case $table in
2) mailbox_make ;;
4) scanner_make ;;
esac
ip addr add 10.25.0.1/32 dev lo
if [ "$server" = postfix ]; then
	background smtp-sink chroot "$root" /usr/sbin/smtp-sink -u nobody \
		127.0.0.1:2525 200
	wait_for 10 listens 2525 || fail "no sink"
else
	background sink "$python" "$mta/sink.py" --port 2526 --host 0.0.0.0 \
		--log "$work/sink.log"
	wait_for 10 listens 2526 || fail "no sink"
fi
mta_start
field_disk_slow
begin=$(now_ms)
"load_$table"
client=$(now_ms)
wait_for 900 drained || fail "$(mta_pending) messages are still queued"
empty=$(now_ms)
after=$(field_counters)
[ -z "${power:-}" ] || disk_ctl times none >/dev/null
# The log may be a little behind.
wait_for 20 all_arrived || fail "of $sent messages $(arrived) have arrived"
[ "$backend" = dir ] || {
	rspoolctl status "$mnt" --json || [ $? = 4 ]
	rspoolctl policy "$mnt" --json
} >"$log/status"
# It stands in the server's root, which has to be empty in the end.
[ -z "$milter" ] || kill "$milter"
mta_stop
printf '{"table": %s, "server": "%s", "peer": "%s", "disk": "%s", "sent": %d, "arrived": %d, "client_s": %s, "server_s": %s, "before": %s, "after": %s}\n' \
	"$table" "$server" "$peer" "$disk" "$sent" "$(arrived)" \
	"$(awk "BEGIN { print ($client - $begin) / 1000 }")" \
	"$(awk "BEGIN { print ($empty - $begin) / 1000 }")" \
	"$counters_before" "$after" >&3
