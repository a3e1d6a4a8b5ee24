#!/bin/bash
# Does run.sh find what it looks for? After a kill a queued message of the
# ledger is removed, or a byte of one is changed: the run must fail and name
# that very message.
# timeout: 300
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp "${TMPDIR:-/tmp}/selfcheck.XXXXXX")
trap 'rm -f "$out"' EXIT
# Not before the run has cleaned up: it dies with this script.
trap 'exit 143' TERM

# sabotaged HARM WORD: the run with that harm must end with "WORD: id".
sabotaged()
{
	local ident rc=0

	bash "$here/run.sh" --messages 150 --kills 1 --local 5 \
		--sabotage "$1" >"$out" 2>&1 || rc=$?
	ident=$(sed -n "s/^sabotage: $1 //p" "$out")
	if [ "$rc" != 1 ] || [ -z "$ident" ] ||
	    ! grep -qE "^$2: $ident( in .*)?\$" "$out" ||
	    ! grep -qE "^  $2 +1\$" "$out"; then
		cat "$out"
		echo "FAILED: '$1 $ident' wasn't reported, exit code $rc" >&2
		exit 1
	fi
	echo "$1 $ident: reported as $2"
}

if [ "$(id -u)" != 0 ]; then
	echo "needs root: mounts and namespaces" >&2
	exit 77
fi
sabotaged remove missing
sabotaged corrupt damaged
