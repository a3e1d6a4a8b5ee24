"""A log socket: logsock.py SOCKET FILE. One line for each datagram, with the
time to the millisecond; it outlives every crash of the mail server."""
import os
import socket
import sys
import time


def main():
    path, out = sys.argv[1:3]
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(path)
    os.chmod(path, 0o666)
    with open(out, "ab", buffering=0) as log:
        while True:
            text = sock.recv(65536).rstrip(b"\n\0")
            # "<22>Nov 20 05:05:17 name[1]: text": the priority is noise here.
            if text.startswith(b"<"):
                text = text[text.find(b">") + 1:]
            now = time.time()
            stamp = time.strftime("%H:%M:%S", time.localtime(now))
            log.write(b"%s.%03d %s\n" % (stamp.encode(),
                                          int(now * 1000) % 1000, text))


main()
