# lib_check.sh - sourced by the tests of the disk itself: they print what they
# check and stop at the first thing that isn't so.
# shellcheck shell=bash

fail()
{
	echo "FAIL: $*" >&2
	exit 1
}

# same WHAT WANT GOT
same()
{
	[ "$2" = "$3" ] || fail "$1: want '$2', got '$3'"
	echo "ok: $1 ($3)"
}

# true_that WHAT COMMAND...
true_that()
{
	local what=$1

	shift
	"$@" || fail "$what"
	echo "ok: $what"
}

# refuses WHAT MESSAGE COMMAND...: it fails with this in its output.
refuses()
{
	local what=$1 message=$2 output

	shift 2
	if output=$("$@" 2>&1); then
		fail "$what: succeeded"
	fi
	grep -qi "$message" <<<"$output" || fail "$what: '$output'"
	echo "ok: $what"
}

# fill BYTE-CHARACTER BYTES
fill()
{
	head -c "$2" /dev/zero | tr '\0' "$1"
}

# put CHARACTER BYTES OFFSET FILE [DD OPTIONS]: direct, in one request.
put()
{
	local what=$1 bytes=$2 off=$3 file=$4

	shift 4
	fill "$what" "$bytes" >"$TMPDIR/put"
	dd if="$TMPDIR/put" of="$file" bs="$bytes" oflag=direct,seek_bytes \
	    seek="$off" conv=notrunc"${1:+,$1}" status=none
}

# get BYTES OFFSET FILE: a direct read of the device's own content, runs of
# one byte as "a4096 b512".
get()
{
	dd if="$3" bs="$1" count=1 skip="$2" iflag=direct,skip_bytes \
	    status=none | runs
}

runs()
{
	od -An -v -tx1 -w1 | uniq -c |
		awk '{ printf "%s%s*%s", sep, $2, $1; sep = " " }'
}
