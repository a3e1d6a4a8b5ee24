#!/bin/bash
# B16: context= goes to the kernel; where there is no SELinux the mount fails
# with one clear line, and nothing is left.
. "$(dirname "$0")/lib.sh"

plain
new_spool
if [ -e /sys/fs/selinux/enforce ]; then
	up -o context=system_u:object_r:postfix_spool_t:s0
	grep -q " $mnt .*context=" /proc/self/mounts || fail "no context"
	down
else
	refused rspoolctl mount "$store" "$mnt" \
		-o context=system_u:object_r:postfix_spool_t:s0
	[[ $said = *context* || $said = *SELinux* ]] || fail "'$said'"
	[ -z "$(spool_pid)" ] || fail "a daemon is left"
fi
up
down
