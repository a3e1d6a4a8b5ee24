"""MailScanner's pattern between two queues of sendmail's or Exim's kind:

    replay.py run SPOOL --ledger FILE --sink FILE [--count N] [--seed N]
    replay.py drain SPOOL ...   until both queues are empty
    replay.py check SPOOL       after a recovery: exit code 1 and the reasons

"run" has feeders, which put mail into the incoming queue as the receiving MTA
does and note an "ack" for what is synced; scanners, which take batches, unpack
them below MailScanner/incoming, link the body into the outgoing queue, write
the new control file there, unlink both in the incoming queue and sync nothing;
and senders, which take mail out of the outgoing queue. They end with the spool.
"""
import argparse
import errno
import fcntl
import itertools
import os
import random
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import mail  # noqa: E402

BATCH = 30
GONE = (errno.EIO, errno.EROFS, errno.ENOTCONN, errno.ECONNABORTED)


class Sendmail:
    """dfID the body, qfID the control file, tfID while it is written."""
    name = "sendmail"

    def __init__(self, spool):
        self.incoming = os.path.join(spool, "mqueue.in")
        self.outgoing = os.path.join(spool, "mqueue")

    def idents(self, folder):
        return [n[2:] for n in os.listdir(folder) if n.startswith("qf")]

    def control(self, folder, ident):
        return os.path.join(folder, "qf" + ident)

    def unfinished(self, folder, ident):
        return os.path.join(folder, "tf" + ident)

    def body(self, folder, ident):
        return os.path.join(folder, "df" + ident)

    def is_ours(self, name):
        return name[:2] in ("qf", "df", "tf")


class Exim(Sendmail):
    """ID-D, ID-H and hdr.ID."""
    name = "exim"

    def __init__(self, spool):
        self.incoming = os.path.join(spool, "exim4_incoming/input")
        self.outgoing = os.path.join(spool, "exim4/input")

    def idents(self, folder):
        return [n[:-2] for n in os.listdir(folder) if n.endswith("-H")]

    def control(self, folder, ident):
        return os.path.join(folder, ident + "-H")

    def unfinished(self, folder, ident):
        return os.path.join(folder, "hdr." + ident)

    def body(self, folder, ident):
        return os.path.join(folder, ident + "-D")

    def is_ours(self, name):
        return name[-2:] in ("-H", "-D") or name.startswith("hdr.")


def write(path, data, sync=False):
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def sync_dir(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def locked(path):
    """A descriptor with the lock, or None if it is taken or the file gone."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino == os.fstat(fd).st_ino:
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def feeder(opts, style, number):
    ledger = mail.Ledger(opts.ledger)
    rand = random.Random(opts.seed * 100 + number)
    for count in itertools.count():
        if opts.count and count >= opts.count:
            return
        ident = "m-%d%02d%s-%d" % (opts.seed, number, style.name[0], count)
        body = mail.body_of(ident, rand.randint(1000, 40000))
        head = mail.message_of(ident, ident + "@ok.test", b"")
        ledger.write("try", ident, len(body), mail.digest(body),
                     ident + "@ok.test")
        folder = style.incoming
        write(style.body(folder, ident), body, True)
        write(style.unfinished(folder, ident), head, True)
        os.rename(style.unfinished(folder, ident),
                  style.control(folder, ident))
        sync_dir(folder)
        ledger.write("ack", ident, "%.3f" % time.time())
        time.sleep(rand.random() * 0.02)


def unpack(batch, ident, body):
    """Attachments as files, read back by the scanner, modes changed."""
    folder = os.path.join(batch, ident)
    os.mkdir(folder, 0o700)
    third = len(body) // 3 + 1
    for part in range(3):
        path = os.path.join(folder, "part%d" % part)
        data = body[part * third:(part + 1) * third]
        write(path, data)
        os.chmod(path, 0o640)
        if read(path) != data:
            raise AssertionError("'%s' isn't what was written" % path)


def move(style, ident):
    source, target = style.incoming, style.outgoing
    head = read(style.control(source, ident))
    remove(style.body(target, ident))
    os.link(style.body(source, ident), style.body(target, ident))
    remove(style.unfinished(target, ident))
    write(style.unfinished(target, ident),
          head.rstrip(b"\n") + b"\nX-MailScanner: Found to be clean\n\n")
    os.rename(style.unfinished(target, ident), style.control(target, ident))
    os.unlink(style.control(source, ident))
    os.unlink(style.body(source, ident))


def scan_batch(opts, style):
    batch = os.path.join(opts.spool, "MailScanner/incoming",
                         "%s-%d" % (style.name, os.getpid()))
    os.mkdir(batch, 0o700)
    done = 0
    for ident in style.idents(style.incoming):
        fd = locked(style.control(style.incoming, ident))
        if fd is None:
            continue
        unpack(batch, ident, read(style.body(style.incoming, ident)))
        move(style, ident)
        os.close(fd)
        done += 1
        if done == BATCH:
            break
    shutil.rmtree(batch)
    return done


def scanner(opts, style, _number):
    while True:
        if not scan_batch(opts, style):
            if opts.verb == "drain" and not style.idents(style.incoming):
                return
            time.sleep(0.05)


def send(opts, style, ident, sink):
    folder = style.outgoing
    fd = locked(style.control(folder, ident))
    if fd is None:
        return
    fields, _ = mail.split(read(style.control(folder, ident)))
    try:
        body = read(style.body(folder, ident))
    except FileNotFoundError:
        # Sent, and not crossed off whole when the power went.
        os.unlink(style.control(folder, ident))
        os.close(fd)
        return
    sink.write("got", fields[mail.ID_FIELD], len(body), mail.digest(body),
               ident + "@ok.test", "%.3f" % time.time())
    os.unlink(style.body(folder, ident))
    os.unlink(style.control(folder, ident))
    os.close(fd)


def sender(opts, style, _number):
    sink = mail.Ledger(opts.sink)
    while True:
        idents = style.idents(style.outgoing)
        for ident in idents:
            send(opts, style, ident, sink)
        if opts.verb == "drain" and not idents and not style.idents(
                style.incoming):
            return
        time.sleep(0.05)


def start(work, opts, style, number):
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        work(opts, style, number)
    except OSError as error:
        if error.errno not in GONE:
            print("%s: %s" % (work.__name__, error), file=sys.stderr)
            code = 2
    os._exit(code)


def run(opts, styles):
    # As at MailScanner's start.
    top = os.path.join(opts.spool, "MailScanner/incoming")
    for name in os.listdir(top):
        shutil.rmtree(os.path.join(top, name))
    pids = []
    for style in styles:
        jobs = [scanner, scanner, sender]
        if opts.verb == "run":
            jobs += [feeder] * 4
        pids += [start(job, opts, style, i) for i, job in enumerate(jobs)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
             for pid in pids]
    return max(abs(code) for code in codes)


def check(opts, styles):
    """Names and link counts, and that nothing volatile came back."""
    wrong = []
    for style in styles:
        names = {}
        for folder in (style.incoming, style.outgoing):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                names.setdefault(os.stat(path).st_ino, []).append(path)
                if not style.is_ours(name):
                    wrong.append("%s: not of the queue" % path)
        for paths in names.values():
            if os.stat(paths[0]).st_nlink != len(paths):
                wrong.append("%s: %d links, %d names" % (
                    paths[0], os.stat(paths[0]).st_nlink, len(paths)))
        for ident in style.idents(style.incoming):
            if not os.path.exists(style.body(style.incoming, ident)) and (
                    not os.path.exists(style.control(style.outgoing, ident))):
                print("%s: half moved and sent" % ident)
    top = os.path.join(opts.spool, "MailScanner/incoming")
    wrong += ["%s/%s: came back" % (top, n) for n in os.listdir(top)]
    if os.stat(top).st_mode & 0o7777 != 0o750:
        wrong.append("%s: mode %o" % (top, os.stat(top).st_mode))
    print("\n".join(wrong))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("run", "drain", "check"))
    parser.add_argument("spool")
    parser.add_argument("--ledger")
    parser.add_argument("--sink")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    opts = parser.parse_args()
    styles = [Sendmail(opts.spool), Exim(opts.spool)]
    sys.exit(check(opts, styles) if opts.verb == "check"
             else run(opts, styles))


main()
