#!/usr/bin/python3
"""dirsync.py storm DIR CALLERS MESSAGES
   dirsync.py WHAT DIR DISKSIM SOCK

storm: each caller does what sendmail and Exim do for a message: a file under
a temporary name, renamed, then the directory opened, synced and closed.

WHAT is a promise to look at, on a disk whose flushes are held: "caller" or
"strict" (what covers what), "outside" (callers whose thread ids the daemon
doesn't see), "poison" (the flush fails while an open waits for it).
"""
import errno
import os
import select
import subprocess
import sys

# A call that waits for the disk doesn't come back before the disk goes on,
# however long that is; one that doesn't wait is back long before.
STUCK = 0.7
PROMPT = 60


def fail(text):
    print(f"FAILED: {text}", file=sys.stderr)
    sys.exit(1)


class Actor:
    """A process that does single calls in a directory."""

    def __init__(self, path):
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        if os.fork() == 0:
            os.close(self.to)
            os.close(self.back)
            self.work(path, to_child, from_child)
            os._exit(0)
        os.close(to_child)
        os.close(from_child)

    @staticmethod
    def work(path, commands, results):
        fd = -1
        for line in os.fdopen(commands):
            word, *rest = line.split()
            try:
                if word == "open":
                    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                elif word == "create":
                    os.close(os.open(f"{path}/{rest[0]}",
                                     os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                elif word == "save":
                    fresh = os.open(f"{path}/{rest[0]}",
                                    os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                    os.fsync(fresh)
                    os.close(fresh)
                elif word == "list":
                    os.listdir(path)
                elif word == "sync":
                    os.fsync(fd)
                elif word == "close":
                    os.close(fd)
                answer = "ok"
            except OSError as error:
                answer = errno.errorcode[error.errno]
            os.write(results, answer.encode() + b"\n")

    def begin(self, command):
        os.write(self.to, command.encode() + b"\n")

    def result(self, seconds):
        """What it said, or None if it says nothing for so long."""
        ready, _, _ = select.select([self.back], [], [], seconds)
        return os.read(self.back, 100).decode().strip() if ready else None

    def does(self, command, want="ok"):
        self.begin(command)
        got = self.result(PROMPT)
        if got != want:
            fail(f"{command}: {got} instead of {want}")

    def hangs_in(self, command):
        self.begin(command)
        got = self.result(STUCK)
        if got is not None:
            fail(f"{command} does not wait for the disk: {got}")

    def comes_back(self, want="ok"):
        got = self.result(PROMPT)
        if got != want:
            fail(f"{got} instead of {want} when the disk goes on")


class Disk:
    def __init__(self, program, sock):
        self.words = [program, "ctl", sock]

    def __call__(self, *words):
        subprocess.run(self.words + list(words), check=True,
                       stdout=subprocess.DEVNULL)


def caller(path, disk):
    one, other, reader = Actor(path), Actor(path), Actor(path)
    disk("freeze")
    other.does("create a")
    one.does("create b")
    # its open waits for its own change, a reader's doesn't
    one.hangs_in("open")
    reader.does("open")
    reader.does("list")
    disk("thaw")
    one.comes_back()
    disk("freeze")
    # what others do after its open is not covered
    other.does("create c")
    one.does("sync")
    # what it does itself is
    one.does("create d")
    one.hangs_in("sync")
    disk("thaw")
    one.comes_back()
    one.does("close")
    disk("freeze")
    # who has changed nothing gets all that was made before
    other.does("create e")
    reader.hangs_in("sync")
    disk("thaw")
    reader.comes_back()
    # its own change is durable before it opens, as sendmail's is, who syncs
    # the renamed file first: the wait for the others is in the open too
    one.does("save g")
    disk("freeze")
    other.does("create h")
    one.hangs_in("open")
    disk("thaw")
    one.comes_back()
    disk("freeze")
    other.does("create i")
    one.does("sync")
    one.does("close")
    disk("thaw")
    # a directory that is kept open
    disk("freeze")
    reader.does("create f")
    reader.hangs_in("sync")
    disk("thaw")
    reader.comes_back()


def strict(path, disk):
    one, other = Actor(path), Actor(path)
    disk("freeze")
    one.does("create a")
    one.does("open")
    disk("thaw")
    one.does("sync")
    disk("freeze")
    other.does("create b")
    one.hangs_in("sync")
    disk("thaw")
    one.comes_back()


def poison(path, disk):
    one = Actor(path)
    disk("freeze")
    one.does("create a")
    one.hangs_in("open")
    disk("cut", "1")  # what is held fails
    one.comes_back()
    one.does("sync", "EIO")
    one.does("open")
    one.does("sync", "EIO")
    one.does("list")


def message(path, name):
    fd = os.open(f"{path}/t{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(fd, b"x" * 2000)
    os.close(fd)
    os.rename(f"{path}/t{name}", f"{path}/q{name}")
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def storm(path, callers, messages):
    pids = []
    for caller_number in range(callers):
        pid = os.fork()
        if pid == 0:
            for i in range(messages):
                message(path, f"{caller_number}.{i}")
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        if os.waitpid(pid, 0)[1] != 0:
            fail("a caller")


def main():
    what, path = sys.argv[1:3]
    if what == "storm":
        storm(path, int(sys.argv[3]), int(sys.argv[4]))
        return
    scenes = {"caller": caller, "strict": strict, "outside": strict,
              "poison": poison}
    scenes[what](path, Disk(*sys.argv[3:5]))
    print(f"{what}: as promised")


main()
