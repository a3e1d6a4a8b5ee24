#!/bin/bash
# B32: who watches a directory sees what clients do in it.
. "$(dirname "$0")/lib.sh"

plain
new_spool
up
py <<'END'
os.mkdir('maildrop')
fd = libc.inotify_init()
true(libc.inotify_add_watch(fd, b'maildrop', 0x3c6) > 0, 'no watch')
pid = os.fork()
if not pid:
    put('maildrop/new', b'x')
    os.rename('maildrop/new', 'maildrop/moved')
    os.unlink('maildrop/moved')
    os._exit(0)
os.waitpid(pid, 0)
events = []
data = os.read(fd, 65536)
while data:
    _, mask, _, length = struct.unpack('iIII', data[:16])
    name = data[16:16 + length].rstrip(b'\0').decode()
    events.append((mask, name))
    data = data[16 + length:]
for mask, name, what in ((0x100, 'new', 'create'), (0x40, 'new', 'from'),
                         (0x80, 'moved', 'to'), (0x200, 'moved', 'delete')):
    true((mask, name) in events, 'no event: %s %s in %r' %
         (what, name, events))
END
down
