#!/bin/bash
# floor and play do what they say: play's calls leave what they should and ask
# for as many syncs as the servers do, and floor's files hold what was written.
# limits.py comes to its end.
# timeout: 120
set -euo pipefail

floor=$RS_BUILD/tests/bench/floor
play=$RS_BUILD/tests/bench/play
replay=$RS_BUILD/tests/replay/replay
work=$(mktemp -d "${TMPDIR:-/tmp}/self.XXXXXX")
pid=

clean_up()
{
	cd /
	umount "$work/mnt" 2>/dev/null || true
	[ -z "$pid" ] || wait "$pid" || true
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 143' TERM

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# count OPCODE: how often floor got it
count()
{
	od -A n -t u8 -v -w8 -j $(($1 * 8)) -N 8 "$work/counts" | tr -d ' '
}

# syncs SERVER WANT-FSYNC WANT-FSYNCDIR [OPTION]: a message, of floor
syncs()
{
	local server=$1 files=$2 dirs=$3 f d

	shift 3
	mkdir "$work/mnt/$server$#"
	f=$(count 20)
	d=$(count 30)
	"$play" "$@" --procs 3 --messages 30 "$server" \
		"$work/mnt/$server$#" >"$work/said"
	grep -q '"acked": 30, "removed": 30' "$work/said" ||
		fail "$server: $(cat "$work/said")"
	f=$((($(count 20) - f) / 30))
	d=$((($(count 30) - d) / 30))
	[ "$f $d" = "$files $dirs" ] ||
		fail "$server asked for $f syncs and $d of directories"
	[ -z "$(find "$work/mnt/$server$#" -type f)" ] ||
		fail "$server left: $(find "$work/mnt/$server$#" -type f)"
}

# files SERVER N: so many of N messages that are only accepted, as large
files()
{
	local server=$1 want=$2 got

	mkdir "$work/$server"
	"$play" --accept-only --procs 2 --messages 10 --size 5000:5000 \
		--dirs 3 "$server" "$work/$server" >"$work/said"
	got=$(find "$work/$server" -type f | wc -l)
	[ "$got" = "$want" ] || fail "$server: $got files"
	got=$(find "$work/$server" -type f -size +4999c -size -5020c | wc -l)
	[ "$got" = 10 ] || fail "$server: $got files of the size"
}

code()
{
	local want=$1 rc=0

	shift
	"$@" >/dev/null 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc of: $*"
}

mkdir "$work/mnt"
"$floor" "$work/mnt" "$work/counts" &
pid=$!
for ((i = 0; i < 100; i++)); do
	mountpoint -q "$work/mnt" && break
	sleep 0.1
done
mountpoint -q "$work/mnt" || fail "floor isn't mounted"

syncs sendmail 3 1
syncs exim 3 1
syncs opensmtpd 1 0
syncs opensmtpd 1 1 --sync-renames
mkdir "$work/mnt/postfix"
"$replay" --procs 5 --messages 300 --size 1:70000 --keep 50 --set-times \
	--ledger "$work/ledger" "$work/mnt/postfix" >"$work/said"
"$replay" --check "$work/ledger" --unique-inodes "$work/mnt/postfix" ||
	fail "floor lost something"

files sendmail 20
files exim 30
files opensmtpd 20
code 2 "$play" qmail "$work"
code 2 "$play" --procs 0 exim "$work"
code 1 "$play" exim "$work/none"
# the names are there already
code 3 "$play" --accept-only --procs 2 --messages 10 --dirs 3 sendmail \
	"$work/sendmail"

umount "$work/mnt"
wait "$pid" || fail "floor ended with $?"
pid=

python3 "$RS_SRC/tests/bench/limits.py" --build "$RS_BUILD" --dir "$work" \
	--only crash --files 300 --out "$work/limits.json" >/dev/null ||
	fail "limits.py"
python3 - "$work/limits.json" <<'END'
import json
import sys

r = json.load(open(sys.argv[1]))
assert r["crash_ring_bytes"] > 300 * 4096 and r["crash_mount_s"] > 0, r
END
[ -z "$(find "$work" -name 'limits.*' ! -name limits.json)" ] ||
	fail "limits.py leaves something"
echo "floor and play are what they say"
