"""The ledger of what postal sent: postal.py --ledger FILE TRACE...

postal -z writes all that goes over its connections into a file for each
thread. A message is what stands between "354" and the line with the final dot;
it is acknowledged if a 250 follows."""
import argparse
import sys

import mail


def messages(lines):
    """(lines of a message, whether it was answered 250)"""
    text, ended = None, False
    for line in lines:
        if ended:
            yield text, line.startswith(b"250")
            text, ended = None, False
        elif text is None:
            if line.startswith(b"354 "):
                text = []
        elif line == b".":
            ended = True
        else:
            text.append(line[1:] if line.startswith(b".") else line)
    # What has no final dot is a session that broke: never acknowledged.


def read(path):
    """(id, body, recipient, whether it was answered) of a trace"""
    with open(path, "rb") as file:
        lines = file.read().replace(b"\r\n", b"\n").split(b"\n")
    for text, ok in messages(lines):
        fields, body = mail.split(b"\n".join(text) + b"\n")
        ident = mail.ident_of(fields)
        if ident is not None:
            yield ident, body, fields["to"], ok


def drawn_twice(sent):
    """Ids that postal, which draws them, has given to two messages: nobody
    can tell which of them came through."""
    digests = {}
    for ident, body, _, _ in sent:
        digests.setdefault(ident, set()).add(mail.digest(body))
    return {ident for ident, seen in digests.items() if len(seen) > 1}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--sink", help="leave out there what was drawn twice")
    parser.add_argument("traces", nargs="+")
    opts = parser.parse_args()
    ledger = mail.Ledger(opts.ledger)
    sent = [entry for path in opts.traces for entry in read(path)]
    twice = drawn_twice(sent)
    acked = 0
    for ident, body, recipient, ok in sent:
        if ident in twice:
            continue
        ledger.write("try", ident, len(body), mail.digest(body), recipient)
        if ok:
            ledger.write("ack", ident, 0)
            acked += 1
    if twice and opts.sink:
        with open(opts.sink) as file:
            lines = [x for x in file if x.split(" ")[1] not in twice]
        with open(opts.sink, "w") as file:
            file.writelines(lines)
    print("postal: %d answered 250, %d ids drawn twice" % (acked, len(twice)))
    sys.exit(0 if acked and len(twice) * 50 < len(sent) else 1)


main()
