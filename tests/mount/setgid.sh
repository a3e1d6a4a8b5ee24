#!/bin/bash
# set-gid directories hand on their group, set-id bits go when they must, the
# sticky bit holds (A14); the mount's root keeps owner and mode (A15).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up suid
chmod 755 "$mnt"
"$posix" setid "$mnt"

# Postfix's maildrop and public, by other users
mkdir "$mnt/maildrop" "$mnt/public"
chown "$alice:$staff" "$mnt/maildrop" "$mnt/public"
chmod 1730 "$mnt/maildrop"
chmod 2710 "$mnt/public"
as "$alice" "$alice" sh -c "umask 077; echo mail >'$mnt/maildrop/one'"
as "$bob" "$bob,$staff" sh -c "umask 077; echo mail >'$mnt/maildrop/two'"
if as "$bob" "$bob,$staff" rm -f "$mnt/maildrop/one" 2>"$work/err"; then
	fail "the sticky bit doesn't hold"
fi
grep -q 'not permitted' "$work/err" || fail "sticky: $(cat "$work/err")"
if as "$bob" "$bob" sh -c ": >'$mnt/maildrop/three'" 2>/dev/null; then
	fail "someone outside the group writes to maildrop"
fi
same "$alice:$alice" "$(stat -c %u:%g "$mnt/maildrop/one")" "owner of a file"

# Root of the mount, and contents: the same after a crash and a remount (A16)
chown "$alice:$staff" "$mnt"
chmod 2751 "$mnt"
touch -d @1234567890.123456789 "$mnt"
for mode in 0600 0700 0644 4755 2755; do
	echo "$mode" >"$mnt/public/$mode"
	chown "$bob:$staff" "$mnt/public/$mode"
	chmod "$mode" "$mnt/public/$mode"
done
snapshot >"$work/before"
"$ctl" sync "$mnt"
crash
recover
up
snapshot >"$work/after"
same_tree "$work/before" "$work/after" "owners and modes after a crash"
same "$alice:$staff 2751" "$(stat -c '%u:%g %a' "$mnt")" "the mount's root"
down
up
snapshot >"$work/after"
same_tree "$work/before" "$work/after" "owners and modes after a remount"
down
