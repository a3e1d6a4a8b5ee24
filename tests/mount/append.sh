#!/bin/bash
# O_APPEND from several processes: no record lost or torn (B25).
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" append "$mnt" 4 "$(scaled 2000)"
"$posix" append "$mnt" 16 "$(scaled 300)"

# Lines that were fsynced are there after a crash, whole (A17).
for i in 1 2 3; do
	echo "recipient $i delivered" >>"$mnt/X-J"
	sync "$mnt/X-J"
done
crash
recover
up
for i in 1 2 3; do
	echo "recipient $i delivered"
done | diff - "$mnt/X-J" || fail "the journal's lines after the crash"
down
