#!/bin/bash
# B17: root mounts and unmounts by the system call: AppArmor confines
# fusermount3 to other places than /var/spool.
. "$(dirname "$0")/lib.sh"

plain
new_spool
mkdir "$work/bin"
for name in fusermount3 fusermount mount umount; do
	printf '#!/bin/sh\ntouch "%s/called-%s"\nexit 1\n' "$work" "$name" \
		>"$work/bin/$name"
	chmod +x "$work/bin/$name"
done
PATH=$work/bin:$PATH up
echo mail >"$mnt/x"
PATH=$work/bin:$PATH down
! ls "$work"/called-* 2>/dev/null || fail "a helper was called"
