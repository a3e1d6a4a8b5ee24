#!/bin/bash
# Hard links: one inode, one set of attributes (B10), 70,000 of them, and
# link-then-unlink over a crash (A09).
# timeout: 400
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
"$posix" link-pairs "$mnt" "$(scaled 1000)" 5

links=$(scaled 70000)
mkdir "$mnt/many"
"$posix" links "$mnt/many" "$links"
same "$links" "$(stat -c %h "$mnt/many/l0")" "links"
"$ctl" sync "$mnt"
crash
recover
up
same "$links" "$(stat -c %h "$mnt/many/l0")" "links after the crash"
same "$links" "$("$posix" list "$mnt/many")" "names after the crash"
same 1 "$(find "$mnt/many" -type f -printf '%i\n' | sort -u | wc -l)" "inodes"
rm -r "$mnt/many"

# A message is never in neither queue.
mkdir "$mnt/in" "$mnt/out"
for round in 1 2 3; do
	for i in {1..300}; do
		echo "mail $i" >"$mnt/in/$i"
	done
	"$ctl" sync "$mnt"
	(
		for i in {1..300}; do
			ln "$mnt/in/$i" "$mnt/out/$i" || break
			rm "$mnt/in/$i" || break
		done
	) 2>/dev/null &
	loop=$!
	sleep 0.$((round * 2))
	crash
	wait $loop || true
	recover
	up
	for i in {1..300}; do
		if [ -e "$mnt/in/$i" ] && [ -e "$mnt/out/$i" ]; then
			[ "$mnt/in/$i" -ef "$mnt/out/$i" ] ||
				fail "two inodes for message $i"
			same 2 "$(stat -c %h "$mnt/in/$i")" "links of both"
		fi
		if [ -e "$mnt/in/$i" ]; then
			file=$mnt/in/$i
		else
			file=$mnt/out/$i
		fi
		same "mail $i" "$(cat "$file")" "message $i"
	done
	rm -f "$mnt"/in/* "$mnt"/out/*
done
down
