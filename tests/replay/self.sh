#!/bin/bash
# replay and its check on a plain directory: a clean run passes, and each kind
# of harm is found and named.
# timeout: 60
# labels: san
set -euo pipefail

replay=$RS_BUILD/tests/replay/replay
work=$(mktemp -d "${TMPDIR:-/tmp}/self.XXXXXX")
trap 'rm -rf "$work"' EXIT
dir=$work/queue
ledger=$work/ledger

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

check()
{
	"$replay" --check "$ledger" "$dir"
}

# harmed TEXT COMMAND...: after the command the check must say TEXT. The tree
# is put back.
harmed()
{
	local text=$1 rc=0

	shift
	cp -a "$dir" "$work/saved"
	# The copy has other inode numbers, the original is the one to keep.
	"$@"
	check >"$work/said" || rc=$?
	[ $rc = 1 ] || fail "exit code $rc after: $*"
	grep -q "$text" "$work/said" ||
		fail "'$text' not said after: $*: $(cat "$work/said")"
	put_back
	check >/dev/null || fail "the tree isn't as it was after: $*"
}

# Bytes, modes and times back into the same inodes; names by link.
put_back()
{
	local file name

	find "$dir" -type f -newer "$work/mark" -name 'extra*' -delete
	for file in "$work"/saved/*/*; do
		name=${file#"$work/saved/"}
		if [ ! -e "$dir/$name" ]; then
			mv "$work/aside" "$dir/$name"
		fi
		cat "$file" >"$dir/$name"
		chmod --reference="$file" "$dir/$name"
		touch --reference="$file" "$dir/$name"
	done
	rm -rf "$work/saved"
}

flip()
{
	printf x | dd of="$1" bs=1 seek=5000 conv=notrunc status=none
}

moved()
{
	mv "$1" "$work/aside"
}

named()
{
	ln "$1" "$work/aside"
	mv "$1" "${1%/*}/extra1F"
}

mkdir "$dir"
touch -d '1 minute ago' "$work/mark"
"$replay" --procs 5 --messages 200 --size 6000:30000 --keep 40 --set-times \
	--ledger "$ledger" "$dir" >"$work/json"
grep -q '"acked": 200' "$work/json" || fail "$(cat "$work/json")"
check >"$work/said" || fail "a clean run: $(cat "$work/said")"

victim=$(find "$dir/deferred" -type f | sort | head -n 1)
[ -n "$victim" ] || fail "nothing was deferred"

harmed missing moved "$victim"
harmed "damaged from byte 4096" flip "$victim"
harmed "bytes instead of" truncate -s 4096 "$victim"
harmed "mode is 600" chmod 600 "$victim"
harmed "retry time" touch -d '1 hour' "$victim"
harmed "inode number" named "$victim"
harmed unknown touch "$dir/active/extra"

# A removed message that is back under its name: its inode number is the
# name, so the test gives an existing one of another message the name.
echo "S 9-9-9 0 1
I 9-9-9 $(printf '%X' "$(stat -c %i "$victim")")
A 9-9-9 0
D 9-9-9
R 9-9-9
S 9-9-8 0 1
I 9-9-8 1
A 9-9-8 0
D 9-9-8" >>"$ledger"
if check >"$work/said"; then
	fail "a message that came back wasn't found"
fi
grep -q "was removed and is back" "$work/said" || fail "$(cat "$work/said")"

# By turns instead of a thread, by time instead of number.
"$replay" --inline --procs 3 --seconds 1 "$dir" >"$work/json"
grep -q '"failed_processes": 0' "$work/json" || fail "$(cat "$work/json")"

# The mix has three sizes, most are the smallest.
mkdir "$work/mix"
"$replay" --procs 2 --messages 300 --size mix --keep 100 --no-fsync \
	"$work/mix" >/dev/null
sizes=$(find "$work/mix/deferred" -type f -printf '%s\n' | sort -n | uniq -c |
	awk '{ printf "%s%s", sep, $2; sep = " "; if ($1 > 200) most = $2 }
	END { print " most:" most }')
[ "$sizes" = "1024 25600 512000 most:1024" ] || fail "sizes of the mix: $sizes"

# A tree that is gone ends it with 3.
rc=0
"$replay" --procs 2 --messages 10 --ledger /dev/null "$work/none/no" \
	>/dev/null 2>&1 || rc=$?
[ $rc = 1 ] || fail "exit code $rc without a directory"
echo "replay and its check agree"
