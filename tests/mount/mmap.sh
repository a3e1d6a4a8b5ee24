#!/bin/bash
# mmap is coherent with read and write, and msync is durable (B14).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up flush_interval=3600000
"$posix" map "$mnt"
"$posix" map-sync "$mnt" synced
crash
recover
up
same 20000 "$(stat -c %s "$mnt/synced")" "size after msync and a crash"
same "by store" "$(tail -c +10001 "$mnt/synced" | head -c 8)" \
	"bytes after msync and a crash"
down
