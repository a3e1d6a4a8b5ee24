#!/bin/bash
# A20: tmp, fsync, link to new, unlink: what is in new is whole, at whatever
# step the power goes.
# timeout: 400
. "$(dirname "$0")/lib.sh"

on_disk ext4
new_spool
up
mkdir "$mnt/tmp" "$mnt/new"
sync "$mnt"
for ((round = 1; round <= 12; round++)); do
	seed=$round
	disk_ctl cutat write "$round" "$round" >/dev/null
	py "$round" >"$work/acked" 2>/dev/null <<'END' || true
for i in range(1000):
    name = '%s-%d' % (sys.argv[1], i)
    try:
        put('tmp/' + name, pattern(i, 5000 + i))
        os.link('tmp/' + name, 'new/' + name)
        os.unlink('tmp/' + name)
        sync_dir('new')
    except OSError:
        break
    print(name, flush=True)
END
	spool_kill
	power_back
	recover
	up
	py "$work/acked" <<'END'
for name in get(sys.argv[1]).decode().split():
    true(os.path.exists('new/' + name), 'new/%s is lost' % name)
for name in os.listdir('new'):
    i = int(name.split('-')[1])
    same(pattern(i, 5000 + i), get('new/' + name), 'new/' + name)
END
done
down
