#!/bin/bash
# A07: sendmail's queue: df, tf renamed to qf, fsync of the directory; one
# device everywhere; after a power cut never a qf without its df.
# timeout: 300
. "$(dirname "$0")/lib.sh"

on_disk ext4 --times flush=500
new_spool
up
mkdir -p "$mnt/mqueue/df" "$mnt/mqueue/qf"
sync "$mnt" "$mnt/mqueue"
same 1 "$(stat -c %d "$mnt" "$mnt/mqueue" "$mnt/mqueue/df" "$mnt/mqueue/qf" |
	sort -u | wc -l)" "devices under the mount"
for round in 1 2 3 4; do
	seed=$round
	disk_ctl cutat write $((20 + round * 37)) "$round" >/dev/null
	py "$round" >"$work/acked" 2>/dev/null <<'END' || true
os.chdir('mqueue')
for i in range(100000):
    name = '%s-%d' % (sys.argv[1], i)
    try:
        put('df' + name, pattern(i, 3000))
        put('tf' + name, pattern(i, 700))
        os.rename('tf' + name, 'qf' + name)
        sync_dir('.')
    except OSError:
        break
    print(name, flush=True)
END
	spool_kill
	power_back
	recover
	up
	py "$work/acked" <<'END'
os.chdir('mqueue')
acked = get(sys.argv[1]).decode().split()
true(len(acked) > 2, 'hardly anything was acknowledged')
for name in acked:
    true(os.path.exists('qf' + name), 'qf%s is lost' % name)
for name in os.listdir('.'):
    if not name.startswith('qf') or name == 'qf':
        continue
    i = int(name.split('-')[1])
    same(pattern(i, 700), get(name), name)
    same(pattern(i, 3000), get('df' + name[2:]), 'df of ' + name)
END
done
down
