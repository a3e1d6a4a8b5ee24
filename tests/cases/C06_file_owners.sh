#!/bin/bash
# C06: the store is 0700 and its files 0600, whoever came first; a plain user
# gets one clear line, and nothing is created.
. "$(dirname "$0")/lib.sh"

plain
nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		"$RS_BUILD/tools/rspoolctl" "$@"
}
# A look at what isn't there yet makes nothing.
mkdir "$store"
chmod 700 "$store"
refused rspoolctl verify "$store"
refused rspoolctl recover "$store"
same "" "$(ls -A "$store")" "what verify and recover left"
new_spool
up
echo mail >"$mnt/x"
rspoolctl sync "$mnt"
refused nobody status "$mnt"
down
rspoolctl recover "$store" >/dev/null
same "700 0" "$(stat -c '%a %u' "$store")" "the directory"
find "$store" -type f -printf '%f %m %U\n' | sort >"$work/modes"
! grep -v ' 600 0$' "$work/modes" || fail "modes of files"
before=$(cd "$store" && find . -printf '%p %T@ %i\n' | sort)
chmod 711 "$work"
for verb in verify recover "recover --list" dump; do
	# shellcheck disable=SC2086
	refused nobody $verb "$store"
	[[ $said = *ermission* ]] || fail "$verb: '$said'"
done
same "$before" "$(cd "$store" && find . -printf '%p %T@ %i\n' | sort)" \
	"the store after a plain user came"
