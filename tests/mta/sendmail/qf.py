"""A queued message of sendmail as one file: qf.py QF DF. Header lines of the
qf file begin with H and flags between question marks."""
import re
import sys


def main():
    with open(sys.argv[1], "rb") as file:
        lines = file.read().split(b"\n")
    with open(sys.argv[2], "rb") as file:
        body = file.read()
    out, header = [], False
    for line in lines:
        if line.startswith(b"H"):
            header = True
            out.append(re.sub(rb"^H\?[^?]*\?", b"", line))
        elif header and line[:1].isspace():
            out.append(line)
        else:
            header = False
    sys.stdout.buffer.write(b"\n".join(out) + b"\n\n" + body)


main()
