#!/bin/bash
# A store that was made larger while it serves is that on disk when the command
# returns: the power goes, and what was written into the new room is served.
# timeout: 120
# shellcheck source=lib_disk.sh
. "$(dirname "$0")/lib_disk.sh"

disk_store --capacity 16M --inodes 200
up
"$ctl" policy "$mnt" capacity=32M inodes=300
# nothing else goes to the disk that could take it along
power_cut 6
up
same $((32 << 20)) "$(status space capacity)" "the capacity after the cut"
"$ctl" policy "$mnt" capacity=64M inodes=400
head -c 40M /dev/urandom >"$mnt/mail"
sync "$mnt/mail"
sum=$(sha256sum <"$mnt/mail")
power_cut 7
up
same $((64 << 20)) "$(status space capacity)" "the capacity after the cut"
same 400 "$(status inodes limit)" "the inodes after the cut"
same "$sum" "$(sha256sum <"$mnt/mail")" "what was written there"
down
expect 0 "$ctl" verify "$store"
