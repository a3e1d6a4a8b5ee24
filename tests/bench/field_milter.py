#!/usr/bin/python3
"""field_milter.py SOCKET DIR: a scanner's stand-in behind sendmail's milter
interface. Each message is unpacked into a directory of its own below DIR,
read, and removed; it is always accepted. For table 4 of ./field; runs in the
private root, with Debian's python3-milter."""

import os
import shutil
import sys
import tempfile
import zlib

import Milter

PARTS = 5   # as field_one.sh has them for Exim


class Scan(Milter.Base):
    def envfrom(self, sender, *words):
        self.message = bytearray()
        return Milter.CONTINUE

    def header(self, name, value):
        self.message += ("%s: %s\r\n" % (name, value)).encode()
        return Milter.CONTINUE

    def body(self, chunk):
        self.message += chunk
        return Milter.CONTINUE

    def eom(self):
        work = tempfile.mkdtemp(prefix="scan.", dir=sys.argv[2])
        for i in range(PARTS + 1):
            with open(os.path.join(work, "part%d" % i), "wb") as f:
                f.write(self.message)
        total = 0
        for name in os.listdir(work):
            with open(os.path.join(work, name), "rb") as f:
                total = zlib.crc32(f.read(), total)
        with open(os.path.join(work, "report"), "w") as f:
            f.write("%d\n" % total)
        shutil.rmtree(work)
        return Milter.ACCEPT


Milter.factory = Scan
Milter.runmilter("scan", sys.argv[1], 60)
