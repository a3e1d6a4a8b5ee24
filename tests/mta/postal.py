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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", required=True)
    parser.add_argument("traces", nargs="+")
    opts = parser.parse_args()
    ledger = mail.Ledger(opts.ledger)
    acked = 0
    for path in opts.traces:
        with open(path, "rb") as file:
            lines = file.read().replace(b"\r\n", b"\n").split(b"\n")
        for text, ok in messages(lines):
            fields, body = mail.split(b"\n".join(text) + b"\n")
            ident = mail.ident_of(fields)
            if ident is None:
                continue
            ledger.write("try", ident, len(body), mail.digest(body),
                         fields["to"])
            if ok:
                ledger.write("ack", ident, 0)
                acked += 1
    print("postal: %d answered 250" % acked)
    sys.exit(0 if acked else 1)


main()
