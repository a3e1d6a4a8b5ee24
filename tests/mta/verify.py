"""Count: is each message that was answered 250 delivered or queued, whole?

    verify.py --ledger FILE --dumps DIR --sink FILE --queue DIR

--dumps are the files of smtp-sink -d, --sink is the log of sink.py, --queue
has the queued messages as files. Exit code 1 if a message is missing or a
copy of one, acknowledged or not, isn't what was sent.
"""
import argparse
import collections
import json
import os
import sys

import mail


class Found:
    """What was seen of the messages: ids by place, and the wrong copies."""

    def __init__(self, entries):
        self.entries = entries
        self.delivered = collections.Counter()
        self.queued = collections.Counter()
        self.returned = set()   # a bounce message for it got somewhere
        self.damaged = []
        self.unknown = []

    def check(self, ident, size, sha, where):
        entry = self.entries.get(ident)
        if entry is None:
            self.unknown.append("%s in %s" % (ident, where))
            return False
        if (size, sha) != (entry.size, entry.sha):
            self.damaged.append("%s in %s: %d bytes, sent were %d" % (
                ident, where, size, entry.size))
            return False
        return True

    def message(self, path, raw, counter, rcpt_field):
        """One whole message of a file."""
        fields, body = mail.split(raw.replace(b"\r\n", b"\n"))
        ident = fields.get(mail.ID_FIELD)
        if ident is None:
            to = fields.get(rcpt_field, "") or fields.get("to", "")
            name = to.strip().lstrip("<").partition("@")[0]
            if name in self.entries:
                self.returned.add(name)
            else:
                self.unknown.append("%s: to '%s'" % (path, to))
            return
        if self.check(ident, len(body), mail.digest(body), path):
            counter[ident] += 1


def read_dir(found, top, counter, rcpt_field, trim):
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        with open(path, "rb") as file:
            raw = file.read()
        found.message(path, trim(raw), counter, rcpt_field)


def trim_dump(raw):
    """smtp-sink puts an empty line after each message."""
    return raw[:-1] if raw.endswith(b"\n\n") else raw


def read_sink(found, path):
    refused = collections.Counter()
    with open(path) as lines:
        for text in lines:
            words = text.split()
            if words[0] == "no":
                refused[words[1][0]] += 1
                continue
            if found.check(words[1], int(words[2]), words[3], path):
                found.delivered[words[1]] += 1
    return refused


def account(found):
    """The table, as a dict."""
    acked = [i for i, e in found.entries.items() if e.acked]
    missing = [i for i in acked if not (found.delivered[i] or found.queued[i]
                                        or i in found.returned)]
    twice = {i: n for i, n in found.delivered.items() if n > 1}
    return {
        "acknowledged": len(acked),
        "delivered": sum(1 for i in acked if found.delivered[i]),
        "queued": sum(1 for i in acked if found.queued[i]
                      and not found.delivered[i]),
        "returned": sum(1 for i in acked if i in found.returned
                        and not found.delivered[i] and not found.queued[i]),
        "missing": missing,
        "damaged": found.damaged,
        "unknown": found.unknown,
        "duplicates": sum(n - 1 for n in twice.values()),
        "duplicated": sorted(twice),
        "delivered_unacknowledged": sum(
            1 for i, e in found.entries.items()
            if not e.acked and found.delivered[i]),
    }


def show(result):
    for key, text in (
            ("acknowledged", "answered 250"),
            ("delivered", "delivered"),
            ("queued", "still queued"),
            ("returned", "returned to the sender"),
            ("duplicates", "delivered once more than needed"),
            ("delivered_unacknowledged", "delivered, answer was lost"),
            ("deferred", "refused 4xx by the sink"),
            ("missing", "missing"),
            ("damaged", "damaged"),
            ("unknown", "unknown")):
        value = result[key]
        count = len(value) if isinstance(value, list) else value
        print("  %-34s %6d" % (text, count))
    for key in ("missing", "damaged", "unknown"):
        for item in result[key][:20]:
            print("%s: %s" % (key, item))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--dumps", required=True)
    parser.add_argument("--sink", required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--json", help="write the result there too")
    opts = parser.parse_args()
    found = Found(mail.read_ledger(opts.ledger))
    read_dir(found, opts.dumps, found.delivered, "x-rcpt-args", trim_dump)
    read_dir(found, opts.queue, found.queued, "to", lambda raw: raw)
    refused = read_sink(found, opts.sink)
    result = account(found)
    result["deferred"] = refused["4"]
    show(result)
    if opts.json:
        with open(opts.json, "w") as file:
            json.dump(result, file, indent=1)
    bad = result["missing"] or result["damaged"] or result["unknown"]
    sys.exit(1 if bad else 0)


main()
