#!/bin/bash
# A19: without fsync a crash leaves old content, new content or a prefix of
# the new: never zeros that nobody wrote, never a new size with old bytes.
# timeout: 600
. "$(dirname "$0")/lib.sh"

check()
{
	py <<'END'
KEEP = 64 << 10
for name in os.listdir('.'):
    data = get(name)
    if not data or name.startswith('old') and not data:
        continue
    # Each version begins with its number.
    version = int(data[:16])
    want = b'%016d' % version + pattern(version, KEEP - 16)
    true(len(data) <= KEEP, name + ': size')
    if data != want[:len(data)]:
        first = next(i for i in range(len(data)) if data[i] != want[i])
        sys.exit('%s, version %d: wrong from byte %d of %d, zeros: %d' % (
            name, version, first, len(data), data[first:].count(0)))
END
}

work_on()
{
	py "$1" >/dev/null 2>&1 <<'END' &
KEEP = 64 << 10
version = int(sys.argv[1]) * 1000000
random.seed(version)
while True:
    version += 1
    data = b'%016d' % version + pattern(version, KEEP - 16)
    if random.random() < 0.5:
        fd = os.open('new%d' % (version % 5), os.O_CREAT | os.O_RDWR |
                     os.O_TRUNC, 0o600)
    else:
        fd = os.open('old%d' % (version % 5), os.O_CREAT | os.O_WRONLY |
                     os.O_TRUNC, 0o600)
    for off in range(0, KEEP, 8192):
        os.write(fd, data[off:off + 8192])
    os.close(fd)
END
}

on_disk ext4 --times flush=1000
new_spool
up -o flush_interval=20
for ((round = 1; round <= 25; round++)); do
	work_on "$round"
	sleep "0.$((round * 17 % 60 + 10))"
	if [ $((round % 3)) = 0 ]; then
		crash
	else
		seed=$round
		power $((round * 29 % 101))
	fi
	wait $! 2>/dev/null || true
	recover
	up -o flush_interval=20
	check
done
down
