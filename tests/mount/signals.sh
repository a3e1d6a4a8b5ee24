#!/bin/bash
# Signals in the middle of calls: no EINTR, nothing half done (B26).
# timeout: 600
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" signals "$mnt" "$(scaled 3000)"
same "" "$(find "$mnt" -mindepth 1)" "what is left"
# and after a crash nothing turns up either
sync_and_crash
recover
up
same 0 "$(find "$mnt" -name 'q*' -o -name dir | wc -l)" "strays after a crash"
down
