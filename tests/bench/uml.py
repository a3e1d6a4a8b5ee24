"""The table of a uml run: uml.py DIR MESSAGES."""
import json
import os
import struct
import sys

import measure


def floor_counts(path):
    with open(path, "rb") as f:
        values = struct.unpack("64Q", f.read(512))
    return {measure.OPCODES.get(i, "OP%d" % i): n
            for i, n in enumerate(values)}


def rspool_counts(path):
    with open(path) as f:
        return json.load(f)["requests"]


def main():
    where, messages = sys.argv[1], int(sys.argv[2])
    with open(os.path.join(where, "kernel")) as f:
        print("Linux %s, round trips a message, %d messages\n" %
              (f.read().strip(), messages))
    for name, counts in (("floor", floor_counts), ("rspool", rspool_counts)):
        for procs in (1, 20):
            path = os.path.join(where, "%s.%d." % (name, procs))
            before, after = counts(path + "before"), counts(path + "after")
            each = {op: (n - before.get(op, 0)) / messages
                    for op, n in after.items()
                    if op not in measure.ASYNC}
            ops = ", ".join("%s %.2f" % (op, n) for op, n in sorted(
                each.items(), key=lambda item: -item[1]) if n >= 0.005)
            print("- %s, %d processes: %.1f (%s)" %
                  (name, procs, sum(each.values()), ops))


main()
