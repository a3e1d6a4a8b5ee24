#!/bin/bash
# What the static libraries define and want: every global symbol begins with
# rs_, a lower layer wants nothing of a higher one, the journal and the core
# nothing of libfuse, and no library prints or ends the process (tools/ does).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need nm
need_build

bad=0
lower=$(mktemp)
trap 'rm -f "$lower"' EXIT

complain()
{
	echo "$*" >&2
	bad=1
}

defined()
{
	nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u
}

wanted()
{
	nm -g --undefined-only "$1" | awk '$1 == "U" { print $2 }' | sort -u
}

check()
{
	local name=$1 archive=$RS_BUILD/$2/lib$1.a source=$3 symbol

	if [ ! -f "$archive" ]; then
		! files '*.c' | grep -qE "$source" ||
			complain "$archive was not built"
		return 0
	fi
	for symbol in $(defined "$archive" | grep -v '^rs_' || true); do
		complain "$name: global symbol '$symbol' without the prefix rs_"
	done
	defined "$archive" >>"$lower"
	sort -u -o "$lower" "$lower"
	for symbol in $(wanted "$archive" | grep '^rs_' |
			comm -23 - "$lower"); do
		complain "$name: wants '$symbol', which no lower layer has"
	done
	[ "$name" != rstools ] || return 0
	for symbol in $(wanted "$archive" | grep -xE \
	    '(__)?v?printf(_chk)?|puts|putchar|perror|stdout|stderr|v?(err|warn)x?|exit|abort' ||
	    true); do
		complain "$name: a library never prints or exits: '$symbol'"
	done
	[ "$name" != rsll ] || return 0
	for symbol in $(wanted "$archive" | grep '^fuse_' || true); do
		complain "$name: wants '$symbol' of libfuse"
	done
}

check rsjournal journal '^journal/'
check rscore fs '^fs/([^l]|l[^l])'
# rstools stands above the core and beside rsll.
cp "$lower" "$lower.core"
check rsll fs '^fs/ll'
mv "$lower.core" "$lower"
check rstools tools '^tools/lib_'
echo "$(wc -l <"$lower") global symbols"
exit $bad
