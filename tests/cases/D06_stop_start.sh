#!/bin/bash
# D06, D08: the queue is the same after stop and start and after a crash. A
# directory with files in it isn't hidden silently.
# timeout: 300
. "$(dirname "$0")/lib.sh"

plain
new_spool --inodes 5000
echo "queued before" >"$mnt/old-mail"
rc=0
rspoolctl mount "$store" "$mnt" >"$work/out" 2>"$work/err" || rc=$?
[ $rc != 0 ] || [ -s "$work/err" ] || fail "files were hidden silently"
say "over a directory with files: exit code $rc, $(cat "$work/err")"
if [ $rc = 0 ]; then
	daemon=$(spool_pid)
	down
fi
same "queued before" "$(cat "$mnt/old-mail")" "the file below"
rm "$mnt/old-mail"
up
py <<'END'
os.mkdir('input')
for i in range(1000):
    put('input/%d-D' % i, pattern(i, 3000), sync=False)
    put('input/%d-H' % i, pattern(i, 600), sync=False)
END
list "$mnt" >"$work/want"
for how in down crash; do
	[ $how = down ] || rspoolctl sync "$mnt"
	$how
	[ $how = down ] || recover
	up
	list "$mnt" >"$work/got"
	diff "$work/want" "$work/got" >"$work/diff" ||
		fail "after $how: $(head "$work/diff")"
done
down
