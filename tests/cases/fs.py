"""What the field cases' python parts share."""
# pylint: disable=unused-import
import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import random
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def pattern(seed, size):
    """size bytes that only this seed gives, none of them zero."""
    out = bytearray()
    block = 0
    while len(out) < size:
        out += hashlib.sha256(b'%d:%d' % (seed, block)).digest()
        block += 1
    return bytes(out[:size]).replace(b'\0', b'\1')


def write_all(fd, data):
    """write(2) until all is written."""
    while data:
        data = data[os.write(fd, data):]


def put(path, data, mode=0o600, sync=True, flags=os.O_EXCL):
    """A new file, as an MTA makes it; the name itself is never synced."""
    fd = os.open(path, os.O_CREAT | os.O_RDWR | flags, mode)
    write_all(fd, data)
    if sync:
        os.fsync(fd)
    os.close(fd)


def get(path):
    """All bytes of a file."""
    with open(path, 'rb') as file:
        return file.read()


def sync_dir(path):
    """fsync of a directory."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def code(function, *args, **kwargs):
    """The errno's name that the call gives, or 'ok'."""
    try:
        function(*args, **kwargs)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'ok'


def same(want, got, what):
    """End with a message unless they are equal."""
    if want != got:
        sys.exit('%s: %r instead of %r' % (what, got, want))


def true(value, what):
    """End with a message unless it holds."""
    if not value:
        sys.exit(what)
