#!/bin/bash
# Every verb, long option, mount option and exit code that the programs know
# is in their manual pages; every page names only long options that exist.
# The programs' own --help is the list, so an option that --help leaves out is
# caught by the tests of that verb, not here.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_build

man=packaging/man
bad=0
count=0
complain()
{
	echo "$*" >&2
	bad=1
}

# mdoc writes options as "Fl -json" and arguments apart; compare what a
# reader sees.
page()
{
	mandoc -Tutf8 -Owidth=200 "$man/$1" | col -b | tr '‐−–' '---'
}

help_of()
{
	"$@" --help || complain "'$*' --help ends with $?"
}

options()
{
	grep -oE '(^|[^[:alnum:]-])--[a-z][a-z-]+' | grep -oE -- '--[a-z-]+' |
		sort -u
}

if [ ! -d "$man" ]; then
	echo "no manual pages in the tree yet"
	exit 0
fi
need mandoc col

ctl=$RS_BUILD/tools/rspoolctl
if [ -x "$ctl" ]; then
	text=$(page rspoolctl.8)
	mapfile -t verbs < <(help_of "$ctl" |
		sed -nE 's/^[ 	]+(rspoolctl +)?([a-z][a-z-]+)([ 	].*)?$/\2/p' |
		sort -u)
	[ ${#verbs[@]} -ge 5 ] ||
		complain "rspoolctl --help lists only: ${verbs[*]}"
	known=$'--help\n--version'
	for verb in "${verbs[@]}"; do
		grep -qwF -- "$verb" <<<"$text" ||
			complain "rspoolctl.8 lacks the verb '$verb'"
		for option in $(help_of "$ctl" "$verb" | options); do
			count=$((count + 1))
			known+=$'\n'$option
			grep -qF -- "$option" <<<"$text" ||
				complain "rspoolctl.8 lacks '$option' of '$verb'"
		done
	done
	for option in $(options <<<"$text"); do
		grep -qxF -- "$option" <<<"$known" ||
			complain "rspoolctl.8 has '$option', no verb does"
	done
	for code in 0 1 2 3 4 5; do
		sed -n '/^EXIT STATUS/,/^[A-Z]/{/^EXIT/d;p}' <<<"$text" |
			grep -qE "^ +$code\b" ||
			complain "rspoolctl.8 lacks exit code $code"
	done
fi

daemon=$RS_BUILD/tools/rspoold
if [ -x "$daemon" ]; then
	text=$(page rspoold.8)
	conf=$(page rspool.conf.5)
	help=$(help_of "$daemon")
	for option in $(options <<<"$help"); do
		count=$((count + 1))
		grep -qF -- "$option" <<<"$text" ||
			complain "rspoold.8 lacks '$option'"
	done
	# Mount options are listed one a line: "  name=VALUE  meaning".
	while read -r key; do
		count=$((count + 1))
		grep -qwF -- "$key" <<<"$text" ||
			complain "rspoold.8 lacks the mount option '$key='"
		grep -qwF -- "$key" <<<"$conf" ||
			complain "rspool.conf.5 lacks the key '$key'"
	done < <(sed -nE 's/^[ 	]+([a-z_]+)=.*/\1/p' <<<"$help" | sort -u)
fi
echo "$count options"
exit $bad
