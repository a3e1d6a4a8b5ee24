"""Count: is each message that was answered 250 delivered or queued, whole?

    verify.py --ledger FILE --dumps DIR --sink FILE --queue DIR
              [--accidents FILE --buried FILE]

--dumps are the files of smtp-sink -d, --sink is the log of sink.py, --queue
has the queued messages as files. --accidents has a line "BEGIN END KIND
NUMBER" for each kill or cut, --buried a line "TIME ID" for each message whose
removal was durable then.

Exit code 1 if a message is missing, if a copy of one, acknowledged or not,
isn't what was sent, if one came back whose removal was durable, or if one was
delivered twice without an accident or --age seconds before it.
"""
import argparse
import collections
import json
import os
import sys

import mail


# What sendmail delivers if a qf file's df is gone: it unlinks df, then qf, and
# on a spool that turned read-only in between it finds such a pair.
EMPTY = (29, mail.digest(b"<<< No Message Collected >>>\n"))


class Found:
    """What was seen of the messages: ids by place, and the wrong copies."""

    def __init__(self, entries):
        self.entries = entries
        self.delivered = collections.defaultdict(list)  # times
        self.queued = collections.Counter()
        self.returned = set()   # a bounce message for it got somewhere
        self.empty = []         # (id, time)
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

    def back(self, name, where):
        if name in self.entries:
            self.returned.add(name)
        else:
            self.unknown.append("%s: to '%s'" % (where, name))

    def message(self, path, raw, rcpt_field):
        """The id of one whole message of a file, if it is one of ours."""
        fields, body = mail.split(raw.replace(b"\r\n", b"\n"))
        ident = mail.ident_of(fields)
        if ident is None:
            to = fields.get(rcpt_field, "") or fields.get("to", "")
            self.back(to.strip().lstrip("<").partition("@")[0], path)
        elif self.check(ident, len(body), mail.digest(body), path):
            return ident
        return None


def read_dir(top):
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        with open(path, "rb") as file:
            yield path, file.read()


def read_dumps(found, top):
    for path, raw in read_dir(top):
        # smtp-sink puts an empty line after each message.
        raw = raw[:-1] if raw.endswith(b"\n\n") else raw
        ident = found.message(path, raw, "x-rcpt-args")
        if ident:
            found.delivered[ident].append(os.stat(path).st_mtime)


def read_queue(found, top):
    for path, raw in read_dir(top):
        ident = found.message(path, raw, "to")
        if ident:
            found.queued[ident] += 1


def read_sink(found, path):
    refused = collections.Counter()
    with open(path) as lines:
        for text in lines:
            words = text.split()
            if words[0] == "no":
                refused[words[1][0]] += 1
            elif words[0] == "back":
                found.back(words[1], path)
            elif (int(words[2]), words[3]) == EMPTY:
                found.empty.append((words[1], float(words[5])))
            elif found.check(words[1], int(words[2]), words[3], path):
                found.delivered[words[1]].append(float(words[5]))
    return refused


class Accident:
    def __init__(self, line):
        words = line.split()
        self.begin, self.end = float(words[0]), float(words[1])
        self.name = " ".join(words[2:])


def judge_twice(found, accidents, age, moved):
    """(all second deliveries as text, those that nothing explains). From one
    delivery to the next there must have been an accident, and the first one
    may not be older than age then: its removal would have been durable. Where
    mail is moved between queues without a sync, the accident may have been
    before both: it left the message in both queues."""
    listed, wrong = [], []
    for ident, times in sorted(found.delivered.items()):
        times.sort()
        for first, again in zip(times, times[1:]):
            text = "%s twice with no accident in between" % ident
            ok = False
            for it in accidents:
                if first <= it.end and again >= it.begin:
                    before = it.begin - first
                    text = "%s delivered %.3f s %s %s" % (
                        ident, abs(before),
                        "before" if before > 0 else "after", it.name)
                    ok = before <= age
                    break
                # pickup(8) moves local mail out of maildrop like this.
                if (moved or ident.startswith("l-")) and found.entries[ident].when <= it.end <= again:
                    text = "%s in two queues after %s" % (ident, it.name)
                    ok = True
            listed.append(text)
            if not ok:
                wrong.append(text)
    return listed, wrong


def judge_empty(found, accidents):
    """Bodiless copies: of a message that had been delivered whole, and by a
    server that was about to be restarted. All others are damage."""
    count = 0
    for ident, when in found.empty:
        if any(t < when for t in found.delivered[ident]) and any(
                it.begin <= when <= it.end for it in accidents):
            count += 1
        else:
            found.damaged.append("%s delivered without its body" % ident)
    return count


def read_buried(found, path):
    """Messages that came back though their removal was durable."""
    back = {}
    with open(path) as lines:
        for text in lines:
            when, ident = text.split()
            if any(t > float(when) for t in found.delivered[ident]):
                back[ident] = True
    return sorted(back)


def account(found):
    """The table, as a dict."""
    acked = [i for i, e in found.entries.items() if e.acked and not e.dropped]
    missing = [i for i in acked if not (found.delivered[i] or found.queued[i]
                                        or i in found.returned)]
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
        "back": [i for i, e in found.entries.items() if e.dropped
                 and (found.queued[i] or found.delivered[i])],
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
            ("bodiless", "again, without a body (sendmail)"),
            ("delivered_unacknowledged", "delivered, answer was lost"),
            ("deferred", "refused 4xx by the sink"),
            ("missing", "missing"),
            ("damaged", "damaged"),
            ("back", "back after a durable removal"),
            ("unexplained", "delivered twice for no reason"),
            ("unknown", "unknown")):
        value = result[key]
        count = len(value) if isinstance(value, list) else value
        print("  %-34s %6d" % (text, count))
    for key in ("missing", "damaged", "unknown", "back", "unexplained"):
        for item in result[key][:20]:
            print("%s: %s" % (key, item))
    for item in result["duplicates"]:
        print("duplicate: %s" % item)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--dumps", required=True)
    parser.add_argument("--sink", required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--accidents")
    parser.add_argument("--buried")
    parser.add_argument("--age", type=float, default=15,
                        help="flush_interval and what a loaded machine adds")
    parser.add_argument("--moved", action="store_true",
                        help="an accident may leave mail in two queues")
    parser.add_argument("--most", type=int, default=0,
                        help="deliveries of one message")
    parser.add_argument("--json", help="write the result there too")
    return parser.parse_args()


def main():
    opts = arguments()
    found = Found(mail.read_ledger(opts.ledger))
    read_dumps(found, opts.dumps)
    read_queue(found, opts.queue)
    refused = read_sink(found, opts.sink)
    accidents = []
    if opts.accidents:
        with open(opts.accidents) as lines:
            accidents = [Accident(line) for line in lines]
    bodiless = judge_empty(found, accidents)
    result = account(found)
    result["bodiless"] = bodiless
    result["deferred"] = refused["4"]
    result["duplicates"], result["unexplained"] = judge_twice(
        found, accidents, opts.age, opts.moved)
    if not opts.accidents:
        result["unexplained"] = []
    if opts.most:
        result["unexplained"] += [
            "%s delivered %d times" % (ident, len(times))
            for ident, times in sorted(found.delivered.items())
            if len(times) > opts.most]
    if opts.buried:
        result["back"] += read_buried(found, opts.buried)
    show(result)
    if opts.json:
        with open(opts.json, "w") as file:
            json.dump(result, file, indent=1)
    sys.exit(1 if any(result[k] for k in (
        "missing", "damaged", "unknown", "back", "unexplained")) else 0)


main()
