#!/usr/bin/env bash
# Golden stores of each format version, kept for ever: each must be read as
# its listing says, by recover --list and after a real recovery, and verify
# finds nothing. Then the same stores spoilt in ways that must be refused with
# exit code 5 and not one byte changed.
set -euo pipefail

here=$RS_SRC/tests/format
ctl=$RS_BUILD/tools/rspoolctl
export RSPOOL_TEST_RING=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# expect CODE COMMAND...
expect()
{
	local want=$1 code=0
	shift
	"$@" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" = "$want" ] ||
		fail "exit code $code instead of $want: $* ($(cat "$work/err"))"
}

unpack()
{
	rm -rf "$work/store"
	xz -dc "$1" | tar -C "$work" -xSf -
}

sums()
{
	(cd "$work/store" && sha256sum -- *)
}

# spoil NAME COMMAND...: run it in the store; opening must be refused
spoil()
{
	local name=$1 before
	shift

	unpack "$archive"
	(cd "$work/store" && "$@")
	before=$(sums)
	expect 5 "$ctl" verify "$work/store"
	[ "$(wc -l <"$work/err")" -ge 1 ] || fail "$name: nothing said"
	expect 5 "$ctl" recover --dry-run "$work/store"
	[ "$before" = "$(sums)" ] || fail "$name: the store was changed"
	count=$((count + 1))
}

noise()
{
	head -c "$2" /dev/urandom >"$1"
}

for archive in "$here"/golden/*/*.tar.xz; do
	list=${archive%.tar.xz}.list
	unpack "$archive"
	before=$(sums)
	expect 0 "$ctl" recover --list "$work/store"
	diff "$list" "$work/out" || fail "'$archive' reads otherwise"
	expect 0 "$ctl" verify "$work/store"
	[ "$before" = "$(sums)" ] || fail "reading changed '$archive'"
	expect 0 "$ctl" recover "$work/store"
	expect 0 "$ctl" recover --list "$work/store"
	diff "$list" "$work/out" || fail "'$archive' recovers otherwise"
	count=$((count + 1))

	spoil "no ring" rm intent.log
	spoil "empty ring" truncate -s 0 intent.log
	spoil "short ring" truncate -s 128K intent.log
	spoil "foreign ring" noise intent.log 262144
	spoil "no store" rm data.mdb
	spoil "empty store" truncate -s 0 data.mdb
	spoil "foreign store" noise data.mdb 65536
	spoil "half a store" truncate -s 20K data.mdb
done
[ "$count" -ge 18 ] || fail "only $count stores were looked at"
echo "$count stores"
