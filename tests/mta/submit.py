"""Local mail beside SMTP: submit.py --ledger FILE --count N COMMAND... runs
COMMAND (sendmail -i with a recipient added) for each message, as long as
--stop doesn't exist. Exit status 0 of the command counts as the 250."""
import argparse
import os
import random
import subprocess
import sys
import time

import mail


def run(command, message):
    try:
        return subprocess.run(command, input=message, timeout=120,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.STDOUT,
                              check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def submit(opts, ledger, number, size):
    ident = "%s-%d" % (opts.prefix, number)
    recipient = ident + "@ok.test"
    body = mail.body_of(ident, size)
    ledger.write("try", ident, len(body), mail.digest(body), recipient)
    if run(opts.command + [recipient],
           mail.message_of(ident, recipient, body)):
        ledger.write("ack", ident, "%.3f" % time.time())
        return True
    time.sleep(0.5)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--prefix", default="l")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", required=True)
    parser.add_argument("--pause", required=True,
                        help="nothing is submitted while this file exists")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    opts = parser.parse_args()
    rand = random.Random(opts.seed)
    ledger = mail.Ledger(opts.ledger)
    acked = number = 0
    while acked < opts.count and not os.path.exists(opts.stop):
        if os.path.exists(opts.pause):
            time.sleep(0.05)
            continue
        number += 1
        acked += submit(opts, ledger, number, rand.randint(1024, 20480))
        time.sleep(0.1)
    print("submit: %d of %d tries taken" % (acked, number))
    return 0 if acked else 1


sys.exit(main())
