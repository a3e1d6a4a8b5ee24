#!/bin/bash
# What a supervisor and an administrator's commands are told: systemd's
# protocol with its watchdog; on_mount, on_poison and on_lost without systemd.
# labels: san kill
. "$(dirname "$0")/lib.sh"
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"

# --- systemd's protocol, without systemd
cat >"$work/listen.py" <<'END'
import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
    s.bind(sys.argv[1])
    while True:
        with open(sys.argv[2], "ab") as log:
            log.write(s.recv(4096) + b"\n")
END
python3 -I "$work/listen.py" "$work/notify" "$work/said" &
wait_for 20 test -S "$work/notify" || fail "no listener"
said()
{
	grep -q "$1" "$work/said" 2>/dev/null
}
beats()
{
	grep -c '^WATCHDOG=1$' "$work/said" || true
}
beats_at_least()
{
	[ "$(beats)" -ge "$1" ]
}
new_store
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=1000000 \
	"$rspoold" -f "$store" "$mnt" 2>"$work/log" &
daemon=$!
wait_for 60 said '^READY=1$' || fail "no READY: $(cat "$work/log")"
mountpoint -q "$mnt" || fail "READY, but no mount"
for i in {1..40}; do
	echo "$i" >"$mnt/$i"
	sync "$mnt/$i"
done
wait_for 60 beats_at_least 3 || fail "the watchdog isn't fed"
# what may wait for its flush is no reason to stop
"$ctl" policy "$mnt" flush_interval=3600000
echo later >"$mnt/later"
n=$(beats)
wait_for 60 beats_at_least $((n + 6)) || fail "not fed before a flush is due"
[ "$(status unsynced bytes)" -gt 0 ] || fail "nothing was left to flush"
kill -TERM $daemon
wait $daemon || fail "exit code $? after SIGTERM: $(cat "$work/log")"
said '^STOPPING=1$' || fail "no STOPPING"
# an orderly end, then again, to see that a dead one is taken over
"$rspoold" -f "$store" "$mnt" 2>"$work/log" &
daemon=$!
wait_for 60 mountpoint -q "$mnt" || fail "no mount in the foreground"
wait_for 60 test -f "$mnt/40" || fail "the files are gone"
crash

# --- commands
cat >"$work/hook" <<'END'
#!/bin/sh
{
	echo "$@ event=$RSPOOL_EVENT why=$RSPOOL_WHY cwd=$(pwd)"
	env | cut -d= -f1 | sort | tr '\n' ' '
	echo
	cat "/proc/$$/oom_score_adj" /proc/$$/coredump_filter
	umask
	ulimit -c
} >"$RSPOOL_STORE.$1.new"
mv "$RSPOOL_STORE.$1.new" "$RSPOOL_STORE.$1"
[ "$1" != lost ] || exec "CTL" mount "$2" "$3"
END
sed -i "s|CTL|$ctl|" "$work/hook"
chmod 755 "$work/hook"
umask 022
score=$(cat /proc/self/oom_score_adj)
up "on_mount=$work/hook,on_lost=$work/hook"
wait_for 60 test -e "$store.mount" || fail "on_mount wasn't run"
same "mount $store $mnt event=mount why= cwd=/" "$(head -1 "$store.mount")" \
	"how on_mount was run"
same "PATH PWD RSPOOL_EVENT RSPOOL_MNT RSPOOL_STORE RSPOOL_WHY" \
	"$(sed -n 2p "$store.mount" | xargs -n1 | grep -vx _ | xargs)" \
	"its environment"
same "$score" "$(sed -n 3p "$store.mount")" "its OOM score"
same 0022 "$(sed -n 5p "$store.mount")" "its umask"
echo kept >"$mnt/kept"
"$ctl" sync "$mnt"
# the daemon dies, on_lost mounts again: nobody else does a thing
kill -KILL "$daemon"
wait_for 60 test -e "$store.lost" || fail "on_lost wasn't run"
lives_again()
{
	[ "$(cat "$mnt/kept" 2>/dev/null)" = kept ]
}
wait_for 60 lives_again || fail "on_lost did not bring the mount back"
daemon=$(status pid)
rm "$store.mount" "$store.lost"
# an end in order is no loss
down
nobody_left()
{
	[ -z "$(daemons_of_work)" ]
}
wait_for 60 nobody_left || fail "left: $(daemons_of_work)"
[ ! -e "$store.lost" ] || fail "on_lost was run after an unmount"
expect 2 "$ctl" mount "$store" "$mnt" -o on_lost=hook
one_line
# a start that fails is none either
echo foreign >"$mnt/file"
expect 1 "$ctl" mount "$store" "$mnt" -o "on_lost=$work/hook"
rm "$mnt/file"
wait_for 60 nobody_left || fail "left after a failed start"
[ ! -e "$store.lost" ] || fail "on_lost was run after a failed start"

# --- a broken log
disk_start "$work/disk.img" 64M --preset ssd
set_traps
disk_mkfs ext4
disk_mount
store=$DISK_MNT/store
new_store --ring-size 16M --capacity 8M --inodes 1000
# not beside the store, whose disk fails
sed -i "s|\$RSPOOL_STORE|$work/poison|g" "$work/hook"
up "on_poison=$work/hook"
disk_ctl fail flush 1 forever >/dev/null
echo late >"$mnt/late"
sync "$mnt/late" 2>/dev/null || true
wait_for 60 test -e "$work/poison.poison" || fail "on_poison wasn't run"
grep -q "^poison $store $mnt event=poison why=..* cwd=/" \
	"$work/poison.poison" || fail "on_poison: $(cat "$work/poison.poison")"
"$ctl" umount "$mnt" >/dev/null 2>&1 || true
wait_for 60 nobody_left || fail "left after a broken log"
disk_ctl fail flush off >/dev/null

# --- a profile brings its own on_poison, where the programs are installed
mkdir -p "$work/inst/sbin" "$work/inst/libexec/rspool"
cp "$rspoold" "$ctl" "$work/inst/sbin/"
cat >"$work/inst/libexec/rspool/stop-mta" <<END
#!/bin/sh
echo "\$1 \$RSPOOL_PROFILE" >"$work/stopped.new"
mv "$work/stopped.new" "$work/stopped"
END
chmod 755 "$work/inst/libexec/rspool/stop-mta"
"$ctl" recover "$store" >/dev/null
ctl=$work/inst/sbin/rspoolctl
up profile=exim+mailscanner
disk_ctl fail flush 1 forever >/dev/null
echo late >"$mnt/late"
sync "$mnt/late" 2>/dev/null || true
wait_for 60 test -e "$work/stopped" || fail "the profile's program wasn't run"
same "poison exim+mailscanner" "$(cat "$work/stopped")" "how it was run"
"$ctl" umount "$mnt" >/dev/null 2>&1 || true
wait_for 60 nobody_left || fail "left after a broken log"
disk_ctl fail flush off >/dev/null
disk_stop

# the program itself
mkdir "$work/bin"
cat >"$work/bin/service" <<END
#!/bin/sh
echo "\$@" >>"$work/services"
[ "\$1" != postfix ]
END
chmod 755 "$work/bin/service"
stop_mta()
{
	PATH=$work/bin:$PATH RSPOOL_PROFILE=$1 \
		"$RS_SRC/packaging/libexec/stop-mta"
}
stop_mta exim+amavis || fail "stop-mta ended with $?"
same "exim4 stop amavis stop" "$(xargs <"$work/services")" "what was stopped"
expect 1 stop_mta postfix
expect 1 stop_mta other
