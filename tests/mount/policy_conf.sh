#!/bin/bash
# A store under a name: /etc/rspool/NAME.conf with places, options, rules and
# a profile; every verb takes NAME; faults are named by file, line and key.
# timeout: 180
# labels: san

# Our own /etc, so that nobody else's has a file more.
if [ -z "${RS_OWN_ETC:-}" ]; then
	exec unshare --mount env RS_OWN_ETC=1 bash "$0"
fi
. "$(dirname "$0")/lib.sh"
mkdir "$work/etc"
mount -t tmpfs none "$work/etc"
mkdir -p "$work/etc/up/rspool" "$work/etc/wk"
mount -t overlay none /etc \
	-o "lowerdir=/etc,upperdir=$work/etc/up,workdir=$work/etc/wk"
etc=/etc/rspool

# conf NAME: from standard input
conf()
{
	cat >"$etc/$1.conf"
}

# policy_of PATH KEY
policy_of()
{
	"$ctl" policy spool "$1" --json | json "$2"
}

conf spool <<END
# the spool of a test
store = $store
mount = $mnt
capacity = 48M
inodes = 20000
profile = postfix
policy = interval
flush_interval = 700

[/queue/**]
policy = rename
[/queue/late]
policy = fsync
dirsync = caller
[/scan[0-9]]
policy = volatile
limit = 2M
inodes = 50
END
expect 0 "$ctl" check spool
same "" "$out$err" "words about a good file"
expect 0 "$ctl" check "$etc/spool.conf"
expect 1 "$ctl" check nothing
one_line
grep -q "'$etc/nothing.conf'" "$work/err" || fail "which file: $err"
expect 2 "$ctl" mount nothing
one_line
grep -q "'$etc/nothing.conf'" "$work/err" || fail "which file: $err"
expect 2 "$rspoold" nothing
one_line

# every verb by the name alone
"$ctl" init spool --ring-size 16M >/dev/null
expect 0 "$ctl" mount spool
mountpoint -q "$mnt" || fail "no mount where the file says"
daemon=$(status pid)
expect 0 "$ctl" mount spool
grep -q 'mounted already' "$work/err" || fail "mounted twice"
expect 0 "$ctl" status spool
grep -q "^policy *interval.* 700 ms" "$work/out" || fail "status: $out"
expect 0 "$ctl" sync spool
expect 0 "$ctl" policy spool
same 48M "$({ "$ctl" status spool --json || [ $? = 4 ]; } | python3 -c '
import json, sys
print("%dM" % (json.load(sys.stdin)["space"]["capacity"] >> 20))')" "capacity"
grep -q ' nodev' <(findmnt -n -o OPTIONS "$mnt" | tr , ' ') &&
	fail "nodev, though the profile wants device nodes"

# who has what, and from where
mkdir "$mnt/queue" "$mnt/queue/late" "$mnt/queue/x" "$mnt/scan1" \
	"$mnt/scanx" "$mnt/pid"
same interval "$(policy_of / policy)" "policy of the root"
same mount "$(policy_of / origin)" "origin of that"
same rename "$(policy_of /queue/x policy)" "policy of queue/x"
same rule "$(policy_of /queue/x origin)" "origin of that"
same fsync "$(policy_of queue/late policy)" "policy of queue/late"
same caller "$(policy_of "$mnt/queue/late" dirsync)" "dirsync of queue/late"
same volatile "$(policy_of /scan1 policy)" "policy of scan1"
same 2097152 "$(policy_of /scan1 limit)" "limit of scan1"
same 50 "$(policy_of /scan1 inodes)" "inodes of scan1"
same parent "$(policy_of /scanx origin)" "origin of scanx"
same volatile "$(policy_of /pid policy)" "policy of pid"
same profile "$(policy_of /pid origin)" "origin of pid"
# a renamed directory is looked at again
mv "$mnt/scanx" "$mnt/queue/y"
same rename "$(policy_of /queue/y policy)" "policy of a renamed directory"
# set by hand
expect 0 "$ctl" policy spool /scan1 limit=3M inodes=none
same 3145728 "$(policy_of /scan1 limit)" "limit set by hand"
expect 0 "$ctl" policy spool flush_interval=300
same 300 "$("$ctl" policy spool --json | json flush_interval)" "interval"
expect 0 "$ctl" policy spool /queue/y always dirsync=caller
same always/runtime/caller/runtime "$(policy_of /queue/y policy)/$(
	policy_of /queue/y origin)/$(policy_of /queue/y dirsync)/$(
	policy_of /queue/y dirsync_origin)" "set by hand"
expect 0 "$ctl" policy spool /queue/y default
same rename/rule "$(policy_of /queue/y policy)/$(policy_of /queue/y origin)" \
	"what was given back"
# the list has what differs, and only that
expect 0 "$ctl" policy spool
same "/ /queue /queue/late /queue/y /scan1 /pid" \
	"$(awk 'NR > 2 { printf "%s%s", sep, $NF; sep = " " }' "$work/out")" \
	"listed directories"
for bad in "/nothing fsync" "/queue nonsense" "/queue limit=1" \
	"/queue dirsync=maybe" "/queue fsync x=1" "flush_interval=0"; do
	rc=2
	[ "${bad% fsync}" = "$bad" ] || rc=1
	# shellcheck disable=SC2086 # words
	expect $rc "$ctl" policy spool $bad
	one_line
done
touch "$mnt/file"
expect 1 "$ctl" policy spool /file fsync
one_line

# a file that was spoiled meanwhile keeps nobody from the mount
cp "$etc/spool.conf" "$work/good"
echo "nonsense = 1" >>"$etc/spool.conf"
expect 0 "$ctl" status spool
expect 0 "$ctl" umount spool
! mountpoint -q "$mnt" || fail "still mounted"
expect 2 "$ctl" mount spool
one_line
# the bad line stands in the last section
grep -qE "$etc/spool.conf:[0-9]+: nonsense: " "$work/err" ||
	fail "a bad line: $err"
expect 2 "$rspoold" spool
one_line
cp "$work/good" "$etc/spool.conf"

# dead, and detached by its name
expect 0 "$ctl" mount spool
daemon=$(status pid)
kill -KILL "$daemon"
wait_for 60 ended "$daemon" || fail "can't kill the daemon"
expect 3 "$ctl" umount spool
! mountpoint -q "$mnt" || fail "a dead mount stays"

# the command line wins over the file, rule by rule
expect 0 "$ctl" mount spool -o "policy=fsync,profile=none,policy=/queue/x:always"
daemon=$(status pid)
same fsync "$(policy_of / policy)" "policy of the root"
same fsync "$(policy_of /pid policy)" "policy of pid without a profile"
same always "$(policy_of /queue/x policy)" "policy of queue/x"
same rename "$(policy_of /queue policy)" "policy of queue"
down

# every fault at once
conf bad <<END
mount = relative
ram = 12Q
nosense = 1
[/q//x]
policy = fsync
[/q]
policy = sometimes
limit = 1
dirsync = caller
[what]
END
expect 2 "$ctl" check bad
same "0 1 2 3 4 7 8 10" "$(cut -d: -f2 "$work/out" | tr -cd '0-9\n' |
	sed 's/^$/0/' | paste -sd ' ')" "lines with faults"
grep -q "^$etc/bad.conf:8: limit: '1' is less" "$work/out" || fail "$out"
expect 2 "$ctl" mount bad "$mnt"
one_line
grep -q 'more, see rspoolctl check' "$work/err" || fail "no word of the others: $err"

conf relative <<END
store = here
mount = $mnt
END
expect 2 "$ctl" check relative
same "$etc/relative.conf:1: store: 'here' is not an absolute path" "$out" \
	"a relative store"
expect 2 "$ctl" mount relative
one_line

# bad options
for bad in policy=/x policy=/x:nope policy=x:volatile policy=/x:limit=1 \
	policy=/x//y:always policy=/[x:always dirsync=maybe dirsync= dirsync \
	profile=qmail profile=postfix+ profile= policy=/x:volatile:; do
	expect 2 "$ctl" mount spool -o "$bad"
	one_line
	! mountpoint -q "$mnt" || fail "mounted with $bad"
done
umount /etc
umount "$work/etc"
