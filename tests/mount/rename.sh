#!/bin/bash
# rename: its rules, the flags of renameat2, no moment with two names (A06,
# B11, B20), and what a crash leaves.
# timeout: 300
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" rename "$mnt"
"$posix" flip "$mnt" "$(scaled 20000)"

# A rename between two names of one file is nothing, also in the log.
echo x >"$mnt/h1"
ln "$mnt/h1" "$mnt/h2"
same 0 "$("$posix" rename2 "$mnt" h1 h2 0)" "rename onto another link"
same 2 "$(stat -c %h "$mnt/h1")" "links"

# After an exchange and a crash both names are there.
echo a >"$mnt/a"
mkdir "$mnt/d"
echo in >"$mnt/d/in"
sync "$mnt/a" "$mnt/d/in"
same 0 "$("$posix" rename2 "$mnt" a d 2)" "exchange"
same EINVAL "$("$posix" rename2 "$mnt" a d 3)" "both flags"
same EEXIST "$("$posix" rename2 "$mnt" a d 1)" "noreplace"
"$ctl" sync "$mnt"
snapshot >"$work/before"
crash
recover
up
snapshot >"$work/after"
same_tree "$work/before" "$work/after" "the tree after an exchange"

# Exactly one of two names, whenever the crash comes (A06).
mkdir "$mnt/active" "$mnt/deferred"
echo mail >"$mnt/active/X"
sync "$mnt/active/X"
for i in 1 2 3; do
	(
		while mv "$mnt/active/X" "$mnt/deferred/X" &&
			mv "$mnt/deferred/X" "$mnt/active/X"; do
			:
		done
	) 2>/dev/null &
	loop=$!
	sleep 0.$((i * 3))
	crash
	wait $loop || true
	recover
	up
	same 1 "$(find "$mnt/active" "$mnt/deferred" -name X | wc -l)" \
		"names after a crash in the middle"
	mail=$(find "$mnt/active" "$mnt/deferred" -name X)
	same mail "$(cat "$mail")" "its bytes"
	same 1 "$(stat -c %h "$mail")" "its links"
	[ "$mail" = "$mnt/active/X" ] || mv "$mail" "$mnt/active/X"
	sync "$mnt/active/X"
done
down
