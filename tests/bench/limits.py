"""What grows with the number of messages: memory, directories, mount and
recovery, bytes on disk for mail that stays.

    limits.py [--build DIR] [--dir DIR] [--files N] [--entries N]
              [--only LIST] [--out FILE]

As root. DIR (/var/tmp) is on the disk that is measured; 100,000 messages of 4
KB and a directory of 300,000 entries unless told otherwise. Prints a table,
with each target beside it, and writes all figures to FILE as JSON. Takes some
minutes and 4 GB of disk, which it gives back.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


class Spool:
    """A store and its mount below one directory."""

    def __init__(self, args, work, name, *init):
        self.ctl = os.path.join(args.build, "tools", "rspoolctl")
        self.store = os.path.join(work, name)
        self.mnt = os.path.join(work, name + ".mnt")
        os.mkdir(self.mnt)
        self.run("init", self.store, *init)

    def run(self, *words):
        out = subprocess.run([self.ctl, *words], capture_output=True,
                             text=True)
        if out.returncode not in (0, 4):
            sys.exit("limits: %s: %s" % (words[0], out.stderr.strip()))
        return out.stdout

    def mount(self, *options):
        """Seconds until the first request is answered."""
        begin = time.monotonic()
        self.run("mount", self.store, self.mnt, "-o",
                 ",".join(("ram=6G",) + options))
        os.stat(self.mnt + "/.")
        return time.monotonic() - begin

    def status(self):
        return json.loads(self.run("status", "--json", self.mnt))

    def pid(self):
        return self.status()["pid"]

    def umount(self, *words):
        self.run("umount", self.mnt, *words)

    def kill(self):
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        while os.path.exists("/proc/%d" % pid):
            time.sleep(0.01)
        subprocess.run(["umount", "-l", self.mnt], check=True)

    def end(self):
        if os.path.ismount(self.mnt):
            subprocess.run([self.ctl, "umount", self.mnt])
        if os.path.ismount(self.mnt):
            subprocess.run(["umount", "-l", self.mnt])


def proc_kb(pid, *keys):
    with open("/proc/%d/status" % pid) as f:
        return sum(int(line.split()[1]) for line in f
                   if line.split(":")[0] in keys)


def memory(pid):
    return proc_kb(pid, "RssAnon", "RssShmem") * 1024


def written(pid):
    with open("/proc/%d/io" % pid) as f:
        for line in f:
            if line.startswith("write_bytes:"):
                return int(line.split()[1])


def fill(directory, first, count, data):
    for i in range(first, first + count):
        fd = os.open("%s/%08x" % (directory, i),
                     os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        if data:
            os.write(fd, data)
        os.close(fd)


def settle(spool):
    """Until all is folded, so that no frame is kept in memory."""
    spool.run("sync", spool.mnt)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if spool.status()["ring"]["kept"] == 0:
            return
        time.sleep(0.5)


def measure_memory(args, work, results):
    """What each file adds, beside as many that are there already: segments,
    caches and the heap have their size by then."""
    for name, data in (("empty", b""), ("4k", os.urandom(4096))):
        spool = Spool(args, work, "mem-" + name, "--capacity", "2G",
                      "--inodes", str(4 * args.files))
        try:
            spool.mount()
            os.mkdir(spool.mnt + "/first")
            fill(spool.mnt + "/first", 0, args.files, data)
            os.mkdir(spool.mnt + "/d")
            settle(spool)
            before = memory(spool.pid())
            fill(spool.mnt + "/d", 0, args.files, data)
            settle(spool)
            each = (memory(spool.pid()) - before) / args.files
            results["memory_%s_bytes" % name] = each
        finally:
            spool.end()


def op_us(directory, names, fn):
    begin = time.monotonic()
    for name in names:
        fn(directory + "/" + name)
    return (time.monotonic() - begin) * 1e6 / len(names)


def touch(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def rename(path):
    os.rename(path, path + "x")
    os.rename(path + "x", path)


def measure_directory(args, work, results):
    """Operations in a small and a large directory, in turn."""
    spool = Spool(args, work, "dir", "--capacity", "1G", "--inodes",
                  str(args.entries * 2))
    try:
        spool.mount()
        for name, count in (("small", 10000), ("large", args.entries)):
            os.mkdir("%s/%s" % (spool.mnt, name))
            fill("%s/%s" % (spool.mnt, name), 0, count, b"")
        names = ["new%d" % i for i in range(500)]
        times = {}
        for _ in range(9):
            for name in ("small", "large"):
                where = "%s/%s" % (spool.mnt, name)
                for op, fn in (("create", touch), ("rename", rename),
                               ("unlink", os.unlink)):
                    times.setdefault((op, name), []).append(
                        op_us(where, names, fn))
        for op in ("create", "rename", "unlink"):
            small = statistics.median(times[op, "small"])
            large = statistics.median(times[op, "large"])
            results["dir_%s_us" % op] = [small, large]
            results["dir_%s_ratio" % op] = large / small
    finally:
        spool.end()


def read_rate(path):
    """Bytes a second of a sequential read past the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    begin, total = time.monotonic(), 0
    while True:
        buf = os.read(fd, 4 * MIB)
        if not buf:
            break
        total += len(buf)
    os.close(fd)
    return total / (time.monotonic() - begin)


def crash(spool):
    spool.kill()
    subprocess.run(["sh", "-c", "sync; echo 3 >/proc/sys/vm/drop_caches"])


def measure_clean(args, work, results):
    spool = Spool(args, work, "clean", "--capacity", "2G", "--inodes",
                  "400000")
    try:
        spool.mount()
        os.mkdir(spool.mnt + "/d")
        fill(spool.mnt + "/d", 0, args.files, b"m" * 4096)
        spool.umount()
        subprocess.run(["sh", "-c", "sync; echo 3 >/proc/sys/vm/drop_caches"])
        results["clean_mount_s"] = spool.mount()
        with open(spool.mnt + "/d/%08x" % (args.files // 2), "rb") as f:
            assert f.read() == b"m" * 4096
    finally:
        spool.end()


def measure_crash(args, work, results):
    """A ring filled nearly to the half, where a checkpoint would begin; all of
    it is read, to find the log's end, and what is in it replayed."""
    spool = Spool(args, work, "crash", "--capacity", "2G", "--inodes",
                  "400000", "--ring-size", "256M")
    count = min(args.files, 27000)
    try:
        spool.mount("flush_interval=100")
        os.mkdir(spool.mnt + "/d")
        fill(spool.mnt + "/d", 0, count, b"m" * 4096)
        spool.run("sync", spool.mnt)
        status = spool.status()
        crash(spool)
        seconds = spool.mount()
        rate = read_rate(spool.store + "/intent.log")
        assert len(os.listdir(spool.mnt + "/d")) == count
        results["crash_checkpoints"] = status["store_db"]["checkpoints"]
        results["crash_mount_s"] = seconds
        results["crash_ring_bytes"] = status["ring"]["used"]
        results["crash_read_rate"] = rate
        results["crash_rate_of_read"] = \
            status["ring"]["used"] / seconds / rate
        results["crash_whole_rate_of_read"] = \
            status["ring"]["size"] / seconds / rate
    finally:
        spool.end()


def measure_kept(args, work, results):
    for size in (4096, 15360):
        spool = Spool(args, work, "kept-%d" % size, "--capacity", "2G",
                      "--inodes", "400000")
        try:
            spool.mount()
            os.mkdir(spool.mnt + "/d")
            settle(spool)
            before = written(spool.pid())
            count = args.files // 10
            for i in range(count):
                fd = os.open("%s/d/%08x" % (spool.mnt, i),
                             os.O_CREAT | os.O_WRONLY, 0o600)
                os.write(fd, os.urandom(size))
                if i % 20 == 19:
                    os.fsync(fd)
                os.close(fd)
            settle(spool)
            each = (written(spool.pid()) - before) / count
            results["kept_%d_bytes" % size] = each
            results["kept_%d_target" % size] = 2.5 * size + 8192
        finally:
            spool.end()


def report(results, args):
    def line(what, target, value):
        print("| %s | %s | %s |" % (what, target, value))

    line("", "target", "measured")
    line("---", "---", "---")
    r = results
    line("memory of an empty file", "<= 512 B",
         "%.0f B" % r["memory_empty_bytes"])
    line("memory of a 4-KB file", "<= 1.15 x its bytes (4710 B)",
         "%.0f B, %.3f x" % (r["memory_4k_bytes"],
                             r["memory_4k_bytes"] / 4096))
    for op in ("create", "rename", "unlink"):
        small, large = r["dir_%s_us" % op]
        line("%s: 10,000 and %d entries" % (op, args.entries), "<= 1.5 x",
             "%.0f us, %.0f us, %.2f x" % (small, large,
                                           r["dir_%s_ratio" % op]))
    line("mount of %d messages, clean store" % args.files, "<= 1 s",
         "%.2f s" % r["clean_mount_s"])
    line("mount after a crash, 256 MiB of ring, %.0f MiB in it" %
         (r["crash_ring_bytes"] / MIB), ">= 0.5 x the disk's read",
         "%.2f s, %.2f x of %.0f MB/s for the ring, %.2f x for what is in it"
         % (r["crash_mount_s"], r["crash_whole_rate_of_read"],
            r["crash_read_rate"] / 1e6, r["crash_rate_of_read"]))
    for size in (4096, 15360):
        line("bytes to disk for a kept message of %d" % size,
             "<= %.0f" % r["kept_%d_target" % size],
             "%.0f" % r["kept_%d_bytes" % size])


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.environ.get(
        "RS_BUILD", os.path.join(here, "../../build/dev")))
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--files", type=int, default=100000)
    parser.add_argument("--entries", type=int, default=300000)
    parser.add_argument("--only", default="memory,directory,clean,crash,kept",
                        help="of %(default)s")
    parser.add_argument("--out")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="limits.", dir=args.dir)
    results = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
               "load": os.getloadavg(), "files": args.files,
               "entries": args.entries}
    known = {"memory": measure_memory, "directory": measure_directory,
             "clean": measure_clean, "crash": measure_crash,
             "kept": measure_kept}
    wanted = args.only.split(",")
    if not set(wanted) <= set(known):
        parser.error("--only knows %s" % ", ".join(known))
    try:
        for name in wanted:
            known[name](args, work, results)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if set(wanted) == set(known):
        report(results, args)
    else:
        print(json.dumps(results, indent=1))
    if args.out:
        with open(args.out, "w") as f:
            json.dump(results, f, indent=1)


main()
