# shellcheck shell=bash
# Does a mail server's run.sh find what it looks for? After an accident one
# queued message of the ledger is removed and a byte of another one is changed:
# the run must fail and name these two. For sourcing by run-selfcheck.sh.
set -euo pipefail

# reported WORD HARM COUNT: the run says "WORD: id", and of so many in all.
reported()
{
	local ident

	ident=$(sed -n "s/^sabotage: $2 //p" "$out")
	if [ -z "$ident" ] || ! grep -qE "^$1: $ident( in .*)?\$" "$out" ||
	    ! grep -qE "^  $1 +$3\$" "$out"; then
		cat "$out"
		echo "FAILED: '$2 $ident' wasn't reported" >&2
		exit 1
	fi
	echo "$2 $ident: reported as $1"
}

# selfcheck RUN: the script to try.
selfcheck()
{
	local rc=0

	if [ "$(id -u)" != 0 ]; then
		echo "needs root: mounts and namespaces" >&2
		exit 77
	fi
	out=$(mktemp "${TMPDIR:-/tmp}/selfcheck.XXXXXX")
	trap 'rm -f "$out"' EXIT
	# Not before the run has cleaned up: it dies with this script.
	trap 'exit 143' TERM
	bash "$1" --messages 150 --kills 1 --local 5 --sabotage yes \
		>"$out" 2>&1 || rc=$?
	if [ "$rc" != 1 ]; then
		cat "$out"
		echo "FAILED: exit code $rc after sabotage" >&2
		exit 1
	fi
	# The changed one is missing as well: there is no other copy of it.
	reported missing remove 2
	reported damaged corrupt 1
}
