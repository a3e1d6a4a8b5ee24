"""The report of a run: medians, ratios, targets, plots.

    report.py DIR

Reads results.jsonl, growth.jsonl, missing and machine of DIR, and writes
results.json, report.md and, with gnuplot, SVG files beside them.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

DISKS = {"hdd": "HDD (simulated: 8 ms a flush, 4 ms a seek)",
         "ssd": "SSD (simulated: 1 ms a flush, 20 us a write)",
         "none": "a disk without delays (simulated)",
         "own": "this machine's disk (a file under a loop device)"}
DISK_PEERS = ("ext4", "ext4-journal", "ext4-fc", "xfs", "btrfs")


def median(values):
    """Of numbers; of dicts key by key; of anything else the last."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    if isinstance(values[0], dict):
        keys = dict.fromkeys(k for v in values for k in v)
        return {k: median([v.get(k) for v in values]) for k in keys}
    if isinstance(values[0], (int, float)):
        return round(statistics.median(values), 4)
    return values[-1]


def load(path):
    try:
        with open(path) as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


class Results:
    """Medians by play, disk and peer, in the order of the run."""

    def __init__(self, records):
        groups = {}
        for r in records:
            key = (r["play"], r["disk_name"], r["peer"])
            groups.setdefault(key, []).append(r)
        self.cells = {}
        for key, group in groups.items():
            cell = median(group)
            cell["rounds"] = len(group)
            cell["msg_per_s_all"] = [r["msg_per_s"] for r in group]
            self.cells[key] = cell
        self.plays = list(dict.fromkeys(k[0] for k in self.cells))
        self.disks = [d for d in DISKS if any(k[1] == d for k in self.cells)]
        self.peers = list(dict.fromkeys(
            r["peer"] for r in sorted(records, key=lambda r: int(r["round"]))))

    def get(self, play, disk, peer, *path):
        value = self.cells.get((play, disk, peer))
        for key in path:
            if value is None:
                return None
            value = value.get(key)
        return value

    def ratio(self, play, disk, peer, other):
        a = self.get(play, disk, peer, "msg_per_s")
        b = self.get(play, disk, other, "msg_per_s")
        return a / b if a and b else None

    def best_disk_peer(self, play, disk):
        have = [(self.get(play, disk, p, "msg_per_s"), p) for p in DISK_PEERS
                if self.get(play, disk, p)]
        return max(have)[1] if have else None


def num(value, digits=2):
    return "-" if value is None else "%.*f" % (digits, value)


def ms(us):
    return "-" if us is None else "%.1f" % (us / 1000)


def table(res, play, disk):
    rows = ["| | msg/s | x ext4 | x floor | p50 ms | p99 ms | max ms | "
            "flushes | seeks | writes | KiB | round trips | CPU us | "
            "daemon us | RSS MiB |",
            "|" + " --- |" * 15]
    for peer in res.peers:
        c = res.get(play, disk, peer)
        if c is None:
            continue
        d = c["disk"] or {}
        rows.append("| %s |" % " | ".join([
            peer, num(c["msg_per_s"], 0),
            num(res.ratio(play, disk, peer, "ext4")),
            num(res.ratio(play, disk, peer, "floor")),
            ms(c["p50_us"]), ms(c["p99_us"]), ms(c["max_us"]),
            num(d.get("flushes"), 3), num(d.get("seeks"), 3),
            num(d.get("writes"), 2),
            num(d["bytes"] / 1024, 1) if d else "-",
            num(c.get("round_trips"), 1), num(c["cpu_us"], 0),
            num(c["daemon_cpu_us"], 0),
            num(c["rss_kb"] / 1024, 0) if c["rss_kb"] else "-"]))
    return rows


def opcodes(res, play):
    """One line a peer that FUSE serves, on the first disk that has it."""
    rows = []
    for peer in res.peers:
        for disk in res.disks:
            req = res.get(play, disk, peer, "requests")
            if req:
                rows.append("%s on %s: %s" % (peer, disk, ", ".join(
                    "%s %.2f" % (k, v) for k, v in
                    sorted(req.items(), key=lambda x: -x[1]) if v >= 0.005)))
                break
    return rows


def targets(res):
    """Issue, figure: a line for each target that a run can give."""
    rows = []

    def add(what, want, *figures):
        figures = [f for f in figures if f]
        rows.append("| %s | %s | %s |" % (
            what, want, "; ".join(figures) if figures else "not measured"))

    def times(play, disk, peer, other, name=None):
        r = res.ratio(play, disk, peer, other)
        return r and "%.2f x %s" % (r, name or other)

    def best(play, disk, peer="rspool"):
        other = res.best_disk_peer(play, disk)
        return other and times(play, disk, peer, other,
                               "the best disk filesystem (%s)" % other)

    def disk_figure(play, disk, key, text):
        v = res.get(play, disk, "rspool", "disk", key)
        return v is not None and "%s %.3f" % (text, v)

    add("Postfix, 20 processes, HDD", ">= 6 x every disk filesystem",
        times("postfix:20", "hdd", "rspool", "ext4"),
        best("postfix:20", "hdd"))
    add("the same: flushes and seeks a message", "<= 0.10, <= 0.02",
        disk_figure("postfix:20", "hdd", "flushes", "flushes"),
        disk_figure("postfix:20", "hdd", "seeks", "seeks"))
    add("Postfix, 100 processes, HDD", ">= 8 x ext4",
        times("postfix:100", "hdd", "rspool", "ext4"))
    for server in ("sendmail", "exim"):
        for disk, want in (("hdd", ">= 5 x ext4"), ("ssd", ">= 1.4 x ext4")):
            play = server + ":20"
            have = times(play, disk, "rspool-profile", "ext4")
            plain = times(play, disk, "rspool", "ext4")
            add("%s, 20 processes, one directory, profile, %s" % (
                server, disk.upper()), want,
                have or (plain and "not with the profile; without: " + plain))
    for play in ("postfix:20", "postfix:100"):
        p50 = res.get(play, "ssd", "rspool", "p50_us")
        p99 = res.get(play, "ssd", "rspool", "p99_us")
        e99 = res.get(play, "ssd", "ext4", "p99_us")
        add("Postfix, %s processes, SSD: p50 of the durable step" %
            play[8:], "<= 2.5 flushes of 1 ms",
            p50 and "%.2f" % (p50 / 1000))
        add("the same: p99", "below ext4's",
            p99 and e99 and "%.1f ms, ext4 %.1f ms" % (p99 / 1000,
                                                      e99 / 1000))
        add("the same: msg/s", ">= 1 x the best disk filesystem"
            if play == "postfix:20" else "as near as the floor allows",
            best(play, "ssd"), times(play, "ssd", "rspool", "floor"))
    add("volatile, against the floor, 20 processes", ">= 0.95",
        times("postfix:20", "none", "rspool-volatile", "floor"))
    add("fsync on the undelayed disk, against the floor", ">= 0.80",
        times("postfix:20", "none", "rspool", "floor"))
    trips = [(p, res.get(p, d, "rspool", "round_trips"))
             for p in ("postfix:1", "postfix:20") for d in res.disks[:1]]
    add("round trips a Postfix message", "<= 19",
        *["%s: %.1f" % t for t in trips if t[1]])
    size = 15360
    kept = []
    for d in res.disks:
        all_bytes = res.get("postfix:20", d, "rspool", "disk", "bytes")
        ring = res.get("postfix:20", d, "rspool", "rspool", "ring_bytes")
        if ring:
            kept.append("%s: ring %.2f x, disk %.2f x" % (
                d, ring / size, all_bytes / size))
    add("bytes to disk, message gone before its checkpoint",
        "<= 1.15 x its size and its share of the padding", *kept)
    add("OpenSMTPD (`rename` on its queue), HDD", "1 flush a message",
        (lambda v: v and "%.3f flushes" % v)(
            res.get("opensmtpd:20", "hdd", "rspool-rename", "disk",
                    "flushes")),
        times("opensmtpd:20", "hdd", "rspool-rename", "ext4"),
        (lambda t: t and "policy fsync and a synced directory: " + t)(
            times("opensmtpd:20", "hdd", "rspool", "ext4")))
    return rows


def growth_table(growth):
    rows = ["| run | messages so far | msg/s | p50 ms | p99 ms | RSS MiB | "
            "data.mdb used MiB | CPU us | daemon us |",
            "|" + " --- |" * 9]
    total = 0
    for r in growth:
        total += r["messages"]
        rows.append("| %s | %d | %.0f | %s | %s | %.1f | %.1f | %.0f | %.0f |"
                    % (r["round"], total, r["msg_per_s"], ms(r["p50_us"]),
                       ms(r["p99_us"]), r["rss_kb"] / 1024,
                       r["rspool"]["store_used"] / 2**20, r["cpu_us"],
                       r["daemon_cpu_us"]))
    return rows


def gnuplot(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def plot_bars(res, play, out, key, title, label, scale=1.0):
    path = os.path.join(out, "%s-%s.svg" % (key, play.replace(":", "-")))
    rows = []
    for peer in res.peers:
        values = [res.get(play, d, peer, key) for d in res.disks]
        if any(v for v in values):
            rows.append('"%s" %s' % (peer, " ".join(
                "NaN" if not v else "%g" % (v / scale) for v in values)))
    columns = ", ".join('$data using %d:xtic(1) title "%s"' % (i + 2, d)
                        for i, d in enumerate(res.disks))
    gnuplot("""set terminal svg size 900,420 background "white"
set output "%s"
set title "%s" noenhanced
set ylabel "%s"
set style data histograms
set style fill solid 0.8
set logscale y
set grid y
set xtics rotate by -30 noenhanced
set key outside top center horizontal
$data << END
%s
END
plot %s
""" % (path, title, label, "\n".join(rows), columns))
    return os.path.basename(path)


def plot_growth(growth, out):
    path = os.path.join(out, "growth.svg")
    total, rows = 0, []
    for r in growth:
        total += r["messages"]
        rows.append("%d %g %g %g %g" % (
            total, r["msg_per_s"], r["p99_us"] / 1000, r["rss_kb"] / 1024,
            r["rspool"]["store_used"] / 2**20))
    gnuplot("""set terminal svg size 900,420 background "white"
set output "%s"
set title "rspool after so many messages on one mount, disk without delays"
set xlabel "messages"
set ylabel "ms, MiB"
set y2label "msg/s"
set y2tics
set yrange [0:*]
set y2range [0:*]
set key outside top center horizontal
$data << END
%s
END
plot $data using 1:2 axes x1y2 with linespoints title "msg/s", \\
	$data using 1:3 with linespoints title "p99 ms", \\
	$data using 1:4 with linespoints title "RSS MiB", \\
	$data using 1:5 with linespoints title "data.mdb used MiB"
""" % (path, "\n".join(rows)))
    return os.path.basename(path)


def plots(res, growth, out):
    if not shutil.which("gnuplot"):
        return []
    names = []
    for play in res.plays:
        names.append(plot_bars(res, play, out, "msg_per_s",
                               "%s: messages a second" % play, "msg/s"))
        names.append(plot_bars(res, play, out, "p50_us",
                               "%s: median of the durable step" % play, "ms",
                               1000.0))
        names.append(plot_bars(res, play, out, "p99_us",
                               "%s: 99th percentile of the durable step" %
                               play, "ms", 1000.0))
    if growth:
        names.append(plot_growth(growth, out))
    return names


def read_lines(path):
    try:
        with open(path) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def main():
    out = sys.argv[1]
    res = Results(load(os.path.join(out, "results.jsonl")))
    growth = load(os.path.join(out, "growth.jsonl"))
    machine = read_lines(os.path.join(out, "machine"))
    missing = read_lines(os.path.join(out, "missing"))
    if not res.cells:
        sys.exit("report: nothing was measured")
    with open(os.path.join(out, "results.json"), "w") as f:
        json.dump({"machine": machine, "missing": missing, "growth": growth,
                   "medians": [dict(c) for c in res.cells.values()]}, f,
                  indent=1)
        f.write("\n")
    text = ["- " + line for line in machine]
    text += ["", "Medians; figures of flushes, seeks, writes, KiB, round "
             "trips and CPU are a message.", ""]
    text += ["## Targets", "", "| | target | measured |",
             "| --- | --- | --- |"] + targets(res)
    if missing:
        text += ["", "Not to be had:", ""] + ["- " + m for m in missing]
    for play in res.plays:
        text += ["", "## " + play]
        for disk in res.disks:
            if any(res.get(play, disk, p) for p in res.peers):
                text += ["", "### %s, %s" % (play, DISKS[disk]), ""]
                text += table(res, play, disk)
        lines = opcodes(res, play)
        if lines:
            text += ["", "Requests a message:", ""]
            text += ["- " + line for line in lines]
    if growth:
        text += ["", "## growth: one mount, again and again postfix:20", ""]
        text += growth_table(growth)
    names = plots(res, growth, out)
    if names:
        text += ["", "## plots", ""] + ["- " + n for n in names]
    with open(os.path.join(out, "report.md"), "w") as f:
        f.write("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
