"""An SMTP sink that says no: sink.py --port N --log FILE.

The recipient's domain tells what happens, its local part is the message's id:

    defer.test    4xx for the first tries, by turns after RCPT and after the
                  final dot, then taken
    bounce.test   5xx after RCPT
    stay.test     4xx for ever
    others        taken

The log has one line for each: "got ID SIZE SHA256 RECIPIENT TIME" before the
250 is sent, "back NAME" for a message without an id, which is a bounce to
NAME@..., "no CODE RECIPIENT" for a refusal.
"""
import argparse
import asyncio
import time
import zlib

import mail


class Sink:
    def __init__(self, opts):
        self.log = mail.Ledger(opts.log)
        self.tries = opts.tries
        self.seen = {}

    def verdict(self, recipient, stage):
        """0 to go on, or the code of the refusal."""
        ident, _, domain = recipient.partition("@")
        if domain == "bounce.test":
            return 550
        if domain == "stay.test":
            return 450
        if domain != "defer.test":
            return 0
        count = self.seen.get(ident, 0)
        if count >= self.tries:
            return 0
        if stage != ("rcpt" if zlib.crc32(ident.encode()) % 2 else "dot"):
            return 0
        self.seen[ident] = count + 1
        return 450

    async def data(self, reader, writer, recipients):
        writer.write(b"354 go on\r\n")
        lines = []
        while True:
            line = await reader.readline()
            if not line.endswith(b"\n"):
                return None
            if line == b".\r\n":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        code = max(self.verdict(r, "dot") for r in recipients)
        if code:
            return code
        fields, body = mail.split(b"".join(lines).replace(b"\r\n", b"\n"))
        ident = mail.ident_of(fields)
        for recipient in recipients:
            if ident is None:
                self.log.write("back", recipient.partition("@")[0])
            else:
                self.log.write("got", ident, len(body), mail.digest(body),
                               recipient, "%.3f" % time.time())
        return 250

    async def talk(self, reader, writer):
        writer.write(b"220 sink.test ESMTP\r\n")
        recipients = []
        while True:
            line = await reader.readline()
            verb = line[:4].upper()
            if not line.endswith(b"\n"):
                break
            if verb == b"QUIT":
                writer.write(b"221 bye\r\n")
                await writer.drain()
                break
            code = 250
            if verb == b"MAIL" or verb == b"RSET":
                recipients = []
            elif verb == b"RCPT":
                address = line.partition(b"<")[2].partition(b">")[0].decode()
                code = self.verdict(address, "rcpt") or 250
                if code == 250:
                    recipients.append(address)
                else:
                    self.log.write("no", code, address)
            elif verb == b"DATA":
                if not recipients:
                    code = 503
                else:
                    code = await self.data(reader, writer, recipients)
                    if code is None:
                        break
                    if code != 250:
                        self.log.write("no", code, *recipients)
            writer.write(b"%d %s\r\n" % (code, b"ok" if code == 250
                                          else b"not now"))
            await writer.drain()
        writer.close()

    async def client(self, reader, writer):
        try:
            await self.talk(reader, writer)
        except OSError:
            writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--tries", type=int, default=1,
                        help="refusals for each message of defer.test")
    opts = parser.parse_args()
    sink = Sink(opts)
    server = await asyncio.start_server(sink.client, opts.host, opts.port,
                                        limit=1 << 20)
    async with server:
        await server.serve_forever()


asyncio.run(main())
