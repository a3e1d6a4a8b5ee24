#!/bin/bash
# A policy raised at run time: what is there is durable when the command
# returns. Lowered: nothing is taken from the disk. The daemon is killed at
# once each time, and the kernel's cache of the disk is cut off.
# timeout: 300
# shellcheck source=lib_disk.sh
. "$(dirname "$0")/lib_disk.sh"

disk_store --capacity 64M --inodes 20000

# a tree as a scanner leaves it, larger than the ring can hold at a time
fill()
{
	local i

	for ((i = 0; i < 12; i++)); do
		mkdir "$1/d$i" "$1/d$i/sub"
		head -c 2000000 /dev/urandom >"$1/d$i/big"
		head -c 5000 /dev/urandom >"$1/d$i/sub/small"
		ln "$1/d$i/big" "$1/d$i/sub/link"
		ln -s big "$1/d$i/symlink"
		mkfifo "$1/d$i/fifo"
		chown "$alice:$staff" "$1/d$i/big"
	done
}

list_of()
{
	(
		cd "$1"
		find . ! -name . -printf '%p %y %m %U %G %s %n %T@\n' | sort
		find . -type f -exec sha256sum {} + | sort
	)
}

# little, so that nothing but the command itself has it written
up flush_interval=3600000,policy=/w:volatile
mkdir "$mnt/w"
echo little >"$mnt/w/file"
"$ctl" sync "$mnt"
"$ctl" policy "$mnt" /w fsync
power_cut 10
up flush_interval=3600000
same runtime "$("$ctl" policy "$mnt" /w --json | json origin)" "its origin"
same little "$(cat "$mnt/w/file")" "the raised file after a power cut"
down

up flush_interval=3600000,policy=/v:volatile
mkdir "$mnt/v"
fill "$mnt/v"
list_of "$mnt/v" >"$work/want"
# a file that is open, and one that has lost its name
exec 7>>"$mnt/v/open" 8<>"$mnt/v/dead"
echo first >&7
echo dead >&8
rm "$mnt/v/dead"
"$ctl" policy "$mnt" /v fsync
power_cut 11
up flush_interval=3600000
exec 7>&- 8>&-
same first "$(cat "$mnt/v/open")" "a file that was open"
rm "$mnt/v/open"
list_of "$mnt/v" >"$work/got"
same_tree "$work/want" "$work/got" "the raised tree after a power cut"
same runtime "$("$ctl" policy "$mnt" /v --json | json origin)" "its origin"
# the rule of the configuration wins again, and that is said
sync_and_crash
expect 0 "$ctl" mount "$store" "$mnt" -o flush_interval=3600000,policy=/v:rename
daemon=$(status pid)
grep -q "'/v'" "$work/err" || fail "no word about the rule: $err"
same rule "$("$ctl" policy "$mnt" /v --json | json origin)" "its origin"
list_of "$mnt/v" >"$work/got"
same_tree "$work/want" "$work/got" "the raised tree after that"

# lowered: what is on disk stays, what comes goes
"$ctl" policy "$mnt" /v volatile
echo new >"$mnt/v/new"
"$ctl" sync "$mnt"
power_cut 12
up flush_interval=3600000
[ ! -e "$mnt/v/new" ] || fail "a file of a volatile directory came back"
list_of "$mnt/v" >"$work/got"
same_tree "$work/want" "$work/got" "the lowered tree after a power cut"

down
