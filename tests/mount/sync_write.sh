#!/bin/bash
# What is durable when it returns, and with it all that was written to the
# file before: O_SYNC, O_DSYNC, RWF_SYNC, RWF_DSYNC, fsync, fdatasync, msync,
# fsync of the directory (B27, G2 to G4). The daemon has no reason of its own
# to write within the hour, so what is found after its death was asked for.
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
for kind in o_sync o_dsync rwf_dsync rwf_sync fsync fdatasync; do
	up flush_interval=3600000
	mkdir -p "$mnt/queue/a"
	"$posix" sync-call "$mnt/queue/a" $kind "$kind"
	crash
	recover
	up
	file=$mnt/queue/a/$kind
	[ -f "$file" ] || fail "$kind: the file is gone"
	same 8192 "$(stat -c %s "$file")" "$kind: size"
	same "4096 4096" "$(tr -dc a <"$file" | wc -c) $(tr -dc b <"$file" |
		wc -c)" "$kind: the earlier and the later block"
	rm -r "$mnt/queue"
	down
done

up flush_interval=3600000
mkdir "$mnt/queue"
"$posix" sync-call "$mnt/queue" fsyncdir entry
# a rename without fsync never loses what was fsynced (G2)
echo mail >"$mnt/queue/old"
sync "$mnt/queue/old"
mv "$mnt/queue/old" "$mnt/queue/new"
crash
recover
up
[ -d "$mnt/queue/entry" ] || fail "fsyncdir: the entry is gone"
same mail "$(cat "$mnt/queue/old" "$mnt/queue/new" 2>/dev/null)" \
	"a fsynced file that was renamed"
down

# The other way round, to know that this can fail: nobody asked, nothing there.
up flush_interval=3600000
echo nobody >"$mnt/asked"
crash
recover
up
[ ! -e "$mnt/asked" ] || fail "it was there without being asked for"
# and with an interval it leaves by itself
down
up flush_interval=200
echo interval >"$mnt/asked"
durable()
{
	[ "$(status unsynced bytes)" = 0 ]
}
wait_for 20 durable || fail "unsynced bytes stay with flush_interval=200"
crash
recover
up
same interval "$(cat "$mnt/asked")" "a file after its flush interval"
down
