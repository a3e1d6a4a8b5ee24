#!/bin/bash
# Locks are the kernel's: freed on death, right owner, no false deadlock, and
# they go with the inode (B19, A17).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" locks "$mnt"
"$posix" lock-move "$mnt"
# none of them came to the daemon
for opcode in GETLK SETLK SETLKW FLOCK; do
	same 0 "$(requests $opcode)" "requests of $opcode"
done
down
