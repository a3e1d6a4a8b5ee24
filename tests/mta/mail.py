"""Messages of the tests and the ledger that says what became of them.

A message has an id, which is also the local part of its recipient, a header
"X-Rspool-Id" and a body whose bytes follow from the id alone. The hash is
that of the body with LF line ends.

The ledger is a text file, one fact a line, flushed line by line:

    try ID SIZE SHA256 RECIPIENT    about to be sent
    ack ID TIME                     answered 250 after the final dot
    drop ID                         removed from the queue by hand
"""
import base64
import hashlib
import io
import os
import random
import zipfile

ID_HEADER = "X-Rspool-Id"
ID_FIELD = ID_HEADER.lower()


def body_of(ident, size):
    """The body: lines of base64, the last one short."""
    raw = random.Random(ident).randbytes(size * 3 // 4)
    return base64.encodebytes(raw)


def zip_body_of(ident, size):
    """The same as a file of a zip file, attached to a line of text."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("inside.txt", body_of(ident, size))
    mark = b"--" + boundary_of(ident).encode()
    return b"".join((
        mark, b"\nContent-Type: text/plain\n\nSee the attachment.\n",
        mark, b"\nContent-Type: application/zip; name=\"a.zip\"\n"
        b"Content-Disposition: attachment; filename=\"a.zip\"\n"
        b"Content-Transfer-Encoding: base64\n\n",
        base64.encodebytes(packed.getvalue()), mark, b"--\n"))


def boundary_of(ident):
    return "=_" + ident


def message_of(ident, recipient, body, boundary=None):
    """The whole message, LF line ends; with a boundary its body has parts."""
    head = ("From: <%s@sender.test>\nTo: <%s>\nSubject: test message %s\n"
            "%s: %s\n" % (ident, recipient, ident, ID_HEADER, ident))
    if boundary:
        head += ("MIME-Version: 1.0\nContent-Type: multipart/mixed;"
                 " boundary=\"%s\"\n" % boundary)
    return head.encode() + b"\n" + body


def digest(body):
    return hashlib.sha256(body).hexdigest()


def split(raw):
    """(dict of headers, body) of a message with LF line ends."""
    head, _, body = raw.partition(b"\n\n")
    fields = {}
    for line in head.split(b"\n"):
        name, sep, value = line.partition(b":")
        if sep and not line[:1].isspace():
            fields.setdefault(name.decode("latin-1").lower(),
                              value.strip().decode("latin-1"))
    return fields, body


def ident_of(fields):
    """The id of a message of ours, or of one of postal's."""
    if "x-postal" in fields:
        return fields.get("message-id", "").strip("<>") or None
    return fields.get(ID_FIELD)


class Ledger:
    """The writing side."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, *words):
        line = (" ".join(str(w) for w in words) + "\n").encode()
        if os.write(self.fd, line) != len(line):
            raise OSError("short write to the ledger")


class Entry:
    """One message of the ledger, as read back."""

    def __init__(self, size, sha, recipient):
        self.size = size
        self.sha = sha
        self.recipient = recipient
        self.acked = False
        self.when = 0.0
        self.dropped = False


def read_ledger(path):
    """{id: Entry}"""
    entries = {}
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if words[0] == "try":
                entries[words[1]] = Entry(int(words[2]), words[3], words[4])
            elif words[0] == "ack":
                entries[words[1]].acked = True
                entries[words[1]].when = float(words[2])
            elif words[0] == "drop":
                entries[words[1]].dropped = True
    return entries
