# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of lib.sh
# lib_cold.sh - a queue larger than RAM: files correct, memory bounded, and
# what new mail pays while a queue run reads cold mail. Source it after lib.sh:
#
#	cold_queue MIB RAM_MIB RING_MIB ALLOW_MIB
#
# ALLOW_MIB: anonymous and shared memory that the daemon may have.

cat >"$work/queue.py" <<'END'
"""make | read | both DIR MIB: a queue of files of 64 KiB on average, each of
which tells from its number what is in it; or read all in another order, as a
queue run does. Prints the latency of fsync of new mail beside it."""
import hashlib, os, random, sys, threading, time

what, top, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = mib * 16


def body(number):
    rand = random.Random(number)
    size = rand.randint(1024, 127 * 1024)
    seed = hashlib.sha256(b"%d" % number).digest()
    return (seed * (size // len(seed) + 1))[:size]


def path(number):
    return "%s/%02x/%d" % (top, number % 64, number)


def make():
    for i in range(64):
        os.makedirs("%s/%02x" % (top, i), exist_ok=True)
    for i in range(count):
        with open(path(i), "wb") as out:
            out.write(body(i))


def read():
    order = list(range(count))
    random.Random(7).shuffle(order)
    for i in order:
        with open(path(i), "rb") as mail:
            if mail.read() != body(i):
                sys.exit("file %d is not what was written" % i)


def new_mail(seconds, stop):
    took = []
    os.makedirs(top + "/new", exist_ok=True)
    end = time.monotonic() + seconds
    data = b"new mail\n" * 1600
    while (time.monotonic() < end if stop is None else not stop.is_set()):
        name = "%s/new/%d" % (top, len(took))
        fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(fd, data)
        begin = time.monotonic()
        os.fsync(fd)
        took.append(time.monotonic() - begin)
        os.close(fd)
        os.unlink(name)
        time.sleep(0.01)
    took.sort()
    return len(took), took[len(took) // 2], took[len(took) * 99 // 100]


def both():
    alone = new_mail(5, None)
    stop, result = threading.Event(), []
    thread = threading.Thread(
        target=lambda: result.append(new_mail(0, stop)))
    thread.start()
    try:
        read()
    finally:
        stop.set()
        thread.join()
    for name, (n, p50, p99) in ("alone", alone), ("beside", result[0]):
        print("fsync of new mail %-7s %5d, p50 %.1f ms, p99 %.1f ms"
              % (name, n, 1000 * p50, 1000 * p99))


{"make": make, "read": read, "both": both}[what]()
END

# Bytes that are the daemon's own: anonymous and shared, not the map of the
# store, which is page cache.
own_memory()
{
	awk '/^(Pss_Anon|Pss_Shmem):/ { sum += $2 } END { print sum * 1024 }' \
		"/proc/$daemon/smaps_rollup"
}

# While it goes on, in a process of its own.
watch_memory()
{
	local most=0 now

	while [ ! -e "$work/enough" ]; do
		now=$(own_memory 2>/dev/null) || break
		[ "${now:-0}" -le "$most" ] || most=$now
		echo "$most" >"$work/most"
		sleep 0.3
	done
}

cold_queue()
{
	local mib=$1 ram=$2 ring=$3 allow=$4 watcher most

	"$ctl" init "$store" --ring-size "${ring}M" --capacity $((mib * 9 / 8 + 32))M \
		--inodes $((mib * 16 + 1000)) >/dev/null
	up "ram=${ram}M"
	watch_memory &
	watcher=$!
	python3 -I "$work/queue.py" make "$mnt/queue" "$mib"
	"$ctl" sync "$mnt"
	echo 3 >/proc/sys/vm/drop_caches
	python3 -I "$work/queue.py" both "$mnt/queue" "$mib"
	within $(((mib - ram) << 20)) $((mib << 21)) "$(status space cold)" \
		"cold bytes"
	# it comes up with as little
	down
	up
	python3 -I "$work/queue.py" read "$mnt/queue" "$mib"
	touch "$work/enough"
	wait $watcher
	most=$(cat "$work/most")
	say "$mib MiB of queue, ram=${ram}M: at most $((most >> 20)) MiB of" \
		"anonymous and shared memory, $((allow)) allowed"
	if ! sanitized; then
		within 1 $((allow << 20)) "$most" "memory of the daemon"
	fi
	# drained: what is gone is gone from RAM and store too
	rm -rf "$mnt/queue"
	down
}
