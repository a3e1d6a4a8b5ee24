#!/bin/bash
# Which call moves which of a file's times (B24).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" ctime "$mnt"
same "" "$(ls -A "$mnt")" "entries left"
down
