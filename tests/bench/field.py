"""Tables of a field run: field.py DIR, which has facts and field.jsonl."""
import json
import os
import statistics
import sys

TITLES = {
    1: "Postfix, smtp-source, 15 KB, 20 sessions, relayed to a sink",
    2: "Postfix, 15 sessions, 1 KB to 500 KB to one mailbox",
    3: "relay under postal, 11 KB, 20 connections",
    4: "with a scanner's work directory",
}
DISKS = {"hdd": "HDD (simulated)", "ssd": "SSD (simulated)",
         "none": "a disk without delays (simulated)",
         "own": "this machine's disk"}


def median(rows, key):
    return statistics.median(r[key] for r in rows)


def rate(rows, key):
    return statistics.median(r["sent"] / r[key] for r in rows)


def per_message(rows, counter):
    """Of the simulated disk, from the first message to the empty queue."""
    values = [(r["after"][counter] - r["before"][counter]) / r["sent"]
              for r in rows if r["after"] and r["sent"]]
    return "%.2f" % statistics.median(values) if values else "-"


def table(key, groups):
    number, server, disk = key
    print("\n### %s: %s, %s\n" % (server, TITLES[number],
                                   DISKS[disk]))
    scale = {3: ("emails an hour", 3600), 4: ("messages a day", 86400)}
    name, factor = scale.get(number, ("messages a second", 1))
    print("| | client ready, s | server ready, s | %s, client | x ext4 | "
          "%s, server | x ext4 | flushes | seeks |" % (name, name))
    print("| --- " * 9 + "|")
    base = groups.get("ext4")
    for peer, rows in groups.items():
        cells = ["%.1f" % median(rows, "client_s"),
                 "%.1f" % median(rows, "server_s")]
        for what in ("client_s", "server_s"):
            value = rate(rows, what)
            cells.append("%.0f" % (value * factor))
            cells.append("%.2f" % (value / rate(base, what))
                         if base and rate(base, what) else "-")
        cells += [per_message(rows, "flushes"), per_message(rows, "seeks")]
        print("| %s | %s |" % (peer, " | ".join(cells)))


def main():
    where = sys.argv[1]
    with open(os.path.join(where, "facts")) as f:
        print(f.read().rstrip())
    groups = {}
    with open(os.path.join(where, "field.jsonl")) as f:
        for line in f:
            row = json.loads(line)
            key = (row["table"], row["server"], row["disk"])
            groups.setdefault(key, {}).setdefault(row["peer"], []).append(row)
    print("\nFlushes and seeks of the device are a message.")
    for key in sorted(groups):
        table(key, groups[key])


main()
