#!/bin/bash
# B07: umount of ours returns when all is on disk, also what nobody fsynced;
# the power may go in the same moment. --fast too.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4 --times flush=2000
new_spool
for how in "" --fast; do
	up -o flush_interval=30000
	py "$how" <<'END'
for i in range(150):
    put('late%s%d' % (sys.argv[1], i), pattern(i, 60000), sync=False)
END
	# shellcheck disable=SC2086
	rspoolctl umount "$mnt" $how
	power 0
	if [ "$how" = --fast ]; then
		recover
	fi
	up
	py "$how" <<'END'
for i in range(150):
    same(pattern(i, 60000), get('late%s%d' % (sys.argv[1], i)), 'late %d' % i)
for name in os.listdir('.'):
    os.unlink(name)
END
	down
done
