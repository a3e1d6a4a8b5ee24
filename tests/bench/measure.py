"""One measurement: run a replay and read all counters before and after it.

    measure.py --out FILE --label KEY=VALUE... [--disksim PROGRAM SOCKET]
        [--block NAME] [--daemon PID] [--status RSPOOLCTL MNT]
        [--counts FILE] [--limit SECONDS] -- COMMAND...

Appends one line of JSON to FILE. What is counted is what happened between the
two readings; README.md tells what each figure means.
"""
import argparse
import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys

# linux/fuse.h, what the replays make a kernel send
OPCODES = {1: "LOOKUP", 2: "FORGET", 3: "GETATTR", 4: "SETATTR", 9: "MKDIR",
           10: "UNLINK", 11: "RMDIR", 12: "RENAME", 14: "OPEN", 15: "READ",
           16: "WRITE", 17: "STATFS", 18: "RELEASE", 20: "FSYNC",
           22: "GETXATTR", 25: "FLUSH", 26: "INIT", 27: "OPENDIR",
           28: "READDIR", 29: "RELEASEDIR", 30: "FSYNCDIR", 35: "CREATE",
           42: "BATCH_FORGET", 44: "READDIRPLUS"}
PR_SET_PDEATHSIG = 1    # linux/prctl.h
# No caller waits for these.
ASYNC = {"FORGET", "BATCH_FORGET", "RELEASE", "RELEASEDIR", "INIT"}


def disksim_counts(args):
    """Of all disks together."""
    names = {"flushes": "flushes", "writes": "writes", "seeks": "seeks",
             "bytes": "written_bytes", "busy_us": "busy_us"}
    total = dict.fromkeys(names, 0)
    for program, sock in args.disksim:
        out = subprocess.run([program, "ctl", sock, "counters"], check=True,
                             capture_output=True)
        counters = json.loads(out.stdout)
        for name, key in names.items():
            total[name] += counters[key]
    return total


def block_counts(args):
    with open("/sys/block/%s/stat" % args.block) as f:
        v = [int(x) for x in f.read().split()]
    return {"flushes": v[15], "writes": v[4], "bytes": v[6] * 512}


def status(args):
    if not args.status:
        return None
    out = subprocess.run([args.status[0], "status", args.status[1],
                          "--json"], capture_output=True)
    if out.returncode not in (0, 4):  # 4: degraded
        sys.exit("status: exit code %d" % out.returncode)
    return json.loads(out.stdout)


def request_counts(args):
    if args.counts:
        with open(args.counts, "rb") as f:
            v = struct.unpack("64Q", f.read(512))
        return {OPCODES.get(i, "OP%d" % i): n for i, n in enumerate(v) if n}
    return {}


def daemon_cpu_us(args):
    if not args.daemon:
        return 0
    with open("/proc/%d/stat" % args.daemon) as f:
        v = f.read().rsplit(") ", 1)[1].split()
    return (int(v[11]) + int(v[12])) * 1000000 // os.sysconf("SC_CLK_TCK")


def daemon_kb(args, key):
    if not args.daemon:
        return None
    with open("/proc/%d/status" % args.daemon) as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    return None


def children_us():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (use.ru_utime + use.ru_stime) * 1e6


def machine_cpu():
    """All busy time of the machine and its steal, in us."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    tick = 1000000 // os.sysconf("SC_CLK_TCK")
    return (sum(v[:8]) - v[3] - v[4]) * tick


def disk_counts(args):
    if args.disksim:
        return disksim_counts(args)
    if args.block:
        return block_counts(args)
    return {}


def run(args):
    """The command's JSON. It and its children die with us, and we with the
    runner: a replay that went on would hold the mount."""
    ends = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}

    def alone():
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)

    def end(signum, frame):
        os.killpg(child.pid, signal.SIGKILL)
        sys.exit(128 + signum)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    child = subprocess.Popen(args.command, stdout=subprocess.PIPE,
                             preexec_fn=alone)
    for sig in ends:
        signal.signal(sig, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
    try:
        out, _ = child.communicate(timeout=args.limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        sys.exit("measure: '%s' did not end in %d s" % (
            " ".join(args.command), args.limit))
    if child.returncode:
        sys.exit("measure: '%s' ended with %d: %s" % (
            " ".join(args.command), child.returncode, out.decode().strip()))
    return json.loads(out)


def rspool_figures(before, after, n):
    def per(part, key):
        return round((after[part][key] - before[part][key]) / n, 4)
    return {"state": after["state"], "policy": after["policy"],
            "ring_bytes": per("ring", "bytes"),
            "frames": per("ring", "frames"),
            "checkpoints": (after["store_db"]["checkpoints"] -
                            before["store_db"]["checkpoints"]),
            "store_used": after["store_db"]["used"],
            "flush_us": after["flush_us"]["avg"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--disksim", nargs=2, action="append")
    parser.add_argument("--block")
    parser.add_argument("--daemon", type=int)
    parser.add_argument("--status", nargs=2)
    parser.add_argument("--counts")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    state = status(args)
    disk = disk_counts(args)
    req = state["requests"] if state else request_counts(args)
    cpu, all_cpu = daemon_cpu_us(args), machine_cpu()
    kids = children_us()
    result = run(args)
    kids = children_us() - kids
    cpu, all_cpu = daemon_cpu_us(args) - cpu, machine_cpu() - all_cpu
    disk2, state2 = disk_counts(args), status(args)
    req2 = state2["requests"] if state2 else request_counts(args)

    n = result["acked"]
    if not n:
        sys.exit("measure: no message was accepted")
    record = dict(x.split("=", 1) for x in args.label)
    step = result.get("durable_us") or result["fsync_us"]
    record.update({
        "messages": n, "seconds": result["seconds"],
        "msg_per_s": result["msg_per_s"], "p50_us": step["p50"],
        "p99_us": step["p99"], "max_us": step["max"],
        "cpu_us": round(kids / n, 1),
        "daemon_cpu_us": round(cpu / n, 1) if args.daemon else None,
        "machine_cpu_us": round(all_cpu / n, 1),
        "rss_kb": daemon_kb(args, "VmRSS"),
        "peak_kb": daemon_kb(args, "VmHWM"),
        "load1": os.getloadavg()[0]})
    record["disk"] = {k: round((disk2[k] - disk[k]) / n, 4) for k in disk2}
    # The readings themselves ask for nothing but are answered by the daemon.
    per = {k: round((v - req.get(k, 0)) / n, 3) for k, v in req2.items()}
    record["requests"] = {k: v for k, v in per.items() if v > 0}
    if req2:
        record["round_trips"] = round(
            sum(v for k, v in per.items() if k not in ASYNC), 2)
    if state:
        record["rspool"] = rspool_figures(state, state2, n)
    with open(args.out, "a") as f:
        f.write(json.dumps(record) + "\n")
    print("%-6s %-18s %-16s %8.1f msg/s  p50 %8.2f ms  p99 %8.2f ms" % (
        record.get("disk_name"), record.get("play"), record.get("peer"),
        record["msg_per_s"], step["p50"] / 1000, step["p99"] / 1000))


if __name__ == "__main__":
    main()
