"""What a tree is, one line a path: snap.py DIR [VOLATILE...]. Type, inode, links, mode,
owner, size, mtime to the nanosecond, and the hash or target. Two of them are
equal when a crash changed nothing. Of a directory VOLATILE, which comes back
empty, only inode, mode and owner are shown."""
import hashlib
import os
import stat
import sys


def content(path, st):
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    if stat.S_ISLNK(st.st_mode):
        return "-> " + os.readlink(path)
    return "-"


def line(top, path):
    st = os.lstat(path)
    size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
    return "%s ino %d links %d %o %d:%d size %d mtime %d %s" % (
        os.path.relpath(path, top), st.st_ino, st.st_nlink, st.st_mode,
        st.st_uid, st.st_gid, size, st.st_mtime_ns, content(path, st))


def fail(error):
    raise error


def main():
    top = sys.argv[1]
    empty = [os.path.join(top, name) for name in sys.argv[2:]]
    lines = [line(top, top)]
    for folder, dirs, files in os.walk(top, onerror=fail):
        for path in [os.path.join(folder, n) for n in dirs + files]:
            text = line(top, path)
            if path in empty:
                text = text.partition(" size ")[0] + " volatile"
            lines.append(text)
        dirs[:] = [n for n in dirs if os.path.join(folder, n) not in empty]
    print("\n".join(sorted(lines)))


main()
