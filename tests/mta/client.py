"""Send mail in parallel SMTP sessions and keep a ledger of what was answered
250. A session that breaks, or is refused, starts over: the message gets a new
id, since nobody knows whether the old one was taken.

    client.py --port 25 --ledger FILE [--count 2000] [--sessions 20] ...
"""
import argparse
import asyncio
import itertools
import os
import random
import sys
import time

import mail

STEP = 60           # seconds for one answer
PER_SESSION = 10    # messages sent over one connection


class Refused(Exception):
    """An answer that isn't 2xx or 3xx."""


class Session:
    """One SMTP connection."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer

    async def answer(self, seconds=STEP):
        while True:
            line = await asyncio.wait_for(self.reader.readline(), seconds)
            if not line.endswith(b"\n"):
                raise ConnectionError("closed by the server")
            if line[3:4] != b"-":
                break
        if line[:1] not in b"23":
            raise Refused(line.decode("latin-1").strip())

    async def say(self, data):
        self.writer.write(data + b"\r\n")
        await asyncio.wait_for(self.writer.drain(), STEP)
        await self.answer()

    async def send(self, sender, recipient, raw):
        await self.say(b"MAIL FROM:<%s>" % sender.encode())
        await self.say(b"RCPT TO:<%s>" % recipient.encode())
        await self.say(b"DATA")
        await self.say(raw.replace(b"\n", b"\r\n") + b".")


class Load:
    """What all sessions share."""

    def __init__(self, opts):
        self.opts = opts
        self.ledger = mail.Ledger(opts.ledger)
        self.random = random.Random(opts.seed)
        self.started = 0
        self.again = []     # numbers whose try failed
        self.tries = itertools.count(1)
        self.acked = self.refused = self.broken = 0
        self.errors = {}
        self.turn = 0.0

    def recipient(self, number, ident):
        """Which share goes where is a matter of the number, so that each
        run has them all."""
        for domain, every in self.opts.share:
            if number % every == every - 1:
                return "%s@%s" % (ident, domain)
        return "%s@%s" % (ident, self.opts.domain)

    def make(self, number):
        ident = "%s-%d-%d" % (self.opts.prefix, number, next(self.tries))
        low, high = self.opts.size
        size = self.random.randint(low, high)
        boundary = mail.boundary_of(ident) if self.opts.zip else None
        make = mail.zip_body_of if self.opts.zip else mail.body_of
        body = make(ident, size)
        recipient = self.recipient(number, ident)
        self.ledger.write("try", ident, len(body), mail.digest(body),
                          recipient)
        return ident, recipient, mail.message_of(ident, recipient, body,
                                                 boundary)

    def take(self):
        """The number of the next message to send, or None."""
        if self.again:
            return self.again.pop()
        if not self.more():
            return None
        self.started += 1
        return self.started - 1

    def more(self):
        return self.again or self.started < self.opts.count or self.go_on()

    def go_on(self):
        return self.opts.until and not os.path.exists(self.opts.until)

    def note(self, error):
        key = str(error) or type(error).__name__
        self.errors[key] = self.errors.get(key, 0) + 1

    async def pace(self):
        """Wait for this message's turn if there is a rate to keep."""
        if self.opts.rate:
            loop = asyncio.get_running_loop()
            self.turn = max(self.turn + 1 / self.opts.rate, loop.time())
            await asyncio.sleep(self.turn - loop.time())

    async def deliver(self, session, number):
        await self.pace()
        ident, recipient, raw = self.make(number)
        await session.send(ident + "@sender.test", recipient, raw)
        self.ledger.write("ack", ident, "%.3f" % time.time())
        self.acked += 1

    async def connection(self):
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(self.opts.host, self.opts.port), STEP)
        number = None
        try:
            session = Session(reader, writer)
            await session.answer(self.opts.banner)
            await session.say(b"EHLO client.test")
            for _ in range(PER_SESSION):
                number = self.take()
                if number is None:
                    break
                await self.deliver(session, number)
                number = None
            await session.say(b"QUIT")
        finally:
            if number is not None:
                self.again.append(number)
            writer.close()

    async def worker(self):
        while self.more() or self.acked < self.started:
            if not self.more():     # another session may still fail
                await asyncio.sleep(0.1)
                continue
            try:
                await self.connection()
                continue
            except Refused as error:
                self.refused += 1
                self.note(error)
            except (OSError, asyncio.TimeoutError) as error:
                self.broken += 1
                self.note(error)
            await asyncio.sleep(0.2)

    async def run(self):
        await asyncio.wait_for(
            asyncio.gather(*(self.worker()
                             for _ in range(self.opts.sessions))),
            self.opts.timeout)


def share(text):
    domain, _, every = text.partition("=")
    return domain, int(every)


def sizes(text):
    low, _, high = text.partition(":")
    return int(low), int(high)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--size", type=sizes, default=(1024, 102400),
                        metavar="LOW:HIGH")
    parser.add_argument("--zip", action="store_true",
                        help="each with a zip file attached")
    parser.add_argument("--domain", default="ok.test")
    parser.add_argument("--share", type=share, action="append", default=[],
                        metavar="DOMAIN=N", help="each N-th goes to DOMAIN")
    parser.add_argument("--prefix", default="m")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0,
                        help="messages a second, 0: as fast as it goes")
    parser.add_argument("--banner", type=float, default=STEP,
                        help="seconds until the server's first line")
    parser.add_argument("--until", metavar="FILE",
                        help="more than --count, until FILE exists")
    parser.add_argument("--timeout", type=float, default=600)
    return parser.parse_args()


def main():
    load = Load(arguments())
    start = time.monotonic()
    try:
        asyncio.run(load.run())
    except asyncio.TimeoutError:
        print("client: out of time", file=sys.stderr)
    took = time.monotonic() - start
    print("client: %d answered 250 in %.1f s, %d refused, %d connections"
          " lost" % (load.acked, took, load.refused, load.broken))
    for error, count in sorted(load.errors.items(), key=lambda e: -e[1])[:9]:
        print("client: %5d x %s" % (count, error))
    return 0 if load.acked >= load.opts.count else 1


if __name__ == "__main__":
    sys.exit(main())
