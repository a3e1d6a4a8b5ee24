#!/usr/bin/python3
"""fsync_trace.py TRACE KIND: does the daemon's trace show the right order?

TRACE is what strace -f -y -xx wrote of the daemon while one client made one
durable call of KIND (a key of OPCODES; "write" is an O_DSYNC write, which is
WRITE and then FSYNC on the wire). Wanted: the request is read from /dev/fuse, then a
frame is written to intent.log, then intent.log is flushed, once, and only when
that has returned the answer with the request's number goes to /dev/fuse.

Prints one line and exits with 0, or says what is missing and exits with 1.
"""
import re
import struct
import sys

# What stands for each kind of call in a request's header.
OPCODES = {
    "fsync": 20, "fsyncdir": 30, "write": 20,
    # answered late by a directory's policy
    "setattr": 4, "symlink": 6, "mknod": 8, "mkdir": 9, "unlink": 10,
    "rmdir": 11, "rename": 12, "link": 13, "plain-write": 16, "create": 35,
    "fallocate": 43,
}

LINE = re.compile(r"^(?P<pid>\d+)\s+[\d:.]+ (?P<rest>.*)$")
CALL = re.compile(r"^(?P<name>\w+)\((?P<args>.*)$", re.S)
RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>(?P<args>.*)$", re.S)


def parse(path):
    """Yields (begin, end, name, args): line numbers of start and return."""
    pending = {}
    with open(path, encoding="latin-1") as lines:
        for number, line in enumerate(lines):
            m = LINE.match(line.rstrip("\n"))
            if not m:
                continue
            pid, rest = m["pid"], m["rest"]
            resumed = RESUMED.match(rest)
            if resumed:
                if pid in pending:
                    begin, name, args = pending.pop(pid)
                    yield begin, number, name, args + resumed["args"]
                continue
            call = CALL.match(rest)
            if not call:
                continue
            if rest.endswith("<unfinished ...>"):
                args = call["args"][: -len("<unfinished ...>")]
                pending[pid] = number, call["name"], args
            else:
                yield number, number, call["name"], call["args"]
    # The client may go on, and strace end, before a reply's write returns.
    for begin, name, args in pending.values():
        yield begin, sys.maxsize, name, args


def path_of(args):
    m = re.match(r"\d+<([^>]*)>", args)
    if not m:
        return ""
    return re.sub(r"\\x([0-9a-f]{2})", lambda h: chr(int(h[1], 16)), m[1])


def bytes_of(args):
    """The first string among the arguments: the header of a message."""
    m = re.search(r'"((?:\\x[0-9a-f]{2})*)"', args)
    return bytes.fromhex(m[1].replace("\\x", "")) if m else b""


def result_of(args):
    m = re.search(r"\) = (-?\d+)", args)
    return int(m[1]) if m else -1


def collect(path):
    requests, writes, flushes, replies = [], [], [], []
    for begin, end, name, args in parse(path):
        where = path_of(args)
        if where == "/dev/fuse" and name in ("read", "readv"):
            head = bytes_of(args)
            if result_of(args) >= 40 and len(head) >= 16:
                _, opcode, unique = struct.unpack("<IIQ", head[:16])
                requests.append((begin, end, opcode, unique))
        elif where == "/dev/fuse" and name in ("write", "writev"):
            head = bytes_of(args)
            if len(head) >= 16:
                _, error, unique = struct.unpack("<IiQ", head[:16])
                replies.append((begin, end, error, unique))
        elif where.endswith("/intent.log"):
            if name in ("fsync", "fdatasync"):
                flushes.append((begin, end))
            elif name.startswith(("pwrite", "write")):
                writes.append((begin, end))
    return requests, writes, flushes, replies


def check(path, kind):
    requests, writes, flushes, replies = collect(path)
    mine = [r for r in requests if r[2] == OPCODES[kind]]
    if len(mine) != 1:
        return f"{len(mine)} requests instead of one"
    read_at, unique = mine[0][1], mine[0][3]
    answer = [r for r in replies if r[3] == unique]
    if len(answer) != 1:
        return f"{len(answer)} answers instead of one"
    if answer[0][2] != 0:
        return f"the answer is error {answer[0][2]}"
    answered_at = answer[0][0]
    frame = [w for w in writes if w[0] >= read_at and w[1] < answered_at]
    if len(frame) != 1:
        return f"{len(frame)} frames written before the answer"
    flush = [f for f in flushes if f[0] > frame[0][1] and f[1] < answered_at]
    if len(flush) != 1:
        return f"{len(flush)} flushes between frame and answer"
    before = [f for f in flushes if read_at <= f[0] <= frame[0][1]]
    if before:
        return "a flush before the frame was written"
    print(f"{kind}: request {unique} read, frame written, flushed once, answered")
    return None


def main():
    trouble = check(sys.argv[1], sys.argv[2])
    if trouble:
        print(f"{sys.argv[2]}: {trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
