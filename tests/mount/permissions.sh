#!/bin/bash
# The kernel checks permissions for everybody, cached or not (B09).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
grep " $mnt fuse" /proc/self/mounts | grep -q default_permissions ||
	fail "no default_permissions in /proc/self/mounts"
grep " $mnt fuse" /proc/self/mounts | grep -q allow_other ||
	fail "no allow_other in /proc/self/mounts"
chmod 755 "$mnt"
mkdir -m 700 "$mnt/active"
echo secret >"$mnt/active/mail"
chmod 600 "$mnt/active/mail"
echo open >"$mnt/open"

# denied WHAT COMMAND...: as somebody without rights
denied()
{
	local what=$1

	shift
	if as "$bob" "$bob" "$@" >/dev/null 2>"$work/err"; then
		fail "$what: allowed"
	fi
	grep -q 'Permission denied' "$work/err" ||
		fail "$what: $(cat "$work/err")"
}

cat "$mnt/active/mail" >/dev/null
denied "listing a closed directory" ls "$mnt/active"
denied "reading in a closed directory" cat "$mnt/active/mail"
denied "stat in a closed directory" stat "$mnt/active/mail"
denied "creating in the root's directory" touch "$mnt/new"
if as "$bob" "$bob" test -r "$mnt/active/mail"; then
	fail "access(2) allows"
fi
# a path that he could use a moment ago
as "$bob" "$bob" cat "$mnt/open" >/dev/null
chmod 000 "$mnt/open"
denied "reading after chmod 000" cat "$mnt/open"
chmod 644 "$mnt/open"
as "$bob" "$bob" cat "$mnt/open" >/dev/null
chmod 600 "$mnt/open"
chown "$alice" "$mnt/open"
denied "reading after chown" cat "$mnt/open"
as "$alice" "$alice" cat "$mnt/open" >/dev/null
chmod 711 "$mnt/active"
denied "reading a closed file" cat "$mnt/active/mail"
as "$bob" "$bob" stat "$mnt/active/mail" >/dev/null
# a supplementary group counts
chgrp "$staff" "$mnt/active" "$mnt/active/mail"
chmod 750 "$mnt/active"
chmod 640 "$mnt/active/mail"
as "$bob" "$bob,$staff" cat "$mnt/active/mail" >/dev/null
denied "reading without the group" cat "$mnt/active/mail"
# who may write may not therefore delete
chmod 666 "$mnt/active/mail"
chmod 755 "$mnt/active"
as "$bob" "$bob" sh -c "echo more >>'$mnt/active/mail'"
denied "unlink in another's directory" rm -f "$mnt/active/mail"
down

# noexec doesn't stop the mode that says "message complete" (A02)
up noexec,nosuid
chmod 700 "$mnt/active/mail"
same 700 "$(stat -c %a "$mnt/active/mail")" "mode on a noexec mount"
printf '#!/bin/sh\necho ran\n' >"$mnt/script"
chmod 755 "$mnt/script"
if "$mnt/script" 2>/dev/null; then
	fail "a program runs on a noexec mount"
fi
down

# ro: nothing changes, everything reads
up ro
if touch "$mnt/new" 2>"$work/err"; then
	fail "a file was made on a read-only mount"
fi
grep -q 'Read-only' "$work/err" || fail "ro: $(cat "$work/err")"
cat "$mnt/active/mail" >/dev/null
down
