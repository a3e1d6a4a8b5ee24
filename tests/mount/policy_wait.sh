#!/bin/bash
# Policies that make replies wait: under rename those of a rename and link
# into the directory, under always those of all changes; frame and flush come
# before the answer, one of each. What need not wait costs no flush.
# timeout: 300
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_trace.sh
. "$(dirname "$0")/lib_trace.sh"

# call NAME ARGUMENT...: one system call, by its name in Python's os
call()
{
	python3 -I -c '
import os, sys
name, *rest = sys.argv[1:]
rest = [int(x, 0) if x[0].isdigit() else x for x in rest]
if name == "write":
    fd = os.open(rest[0], os.O_WRONLY)
    os.write(fd, b"mail")
elif name == "create":
    fd = os.open(rest[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL)
elif name == "fallocate":
    fd = os.open(rest[0], os.O_WRONLY)
    os.posix_fallocate(fd, 0, 9000)
elif name == "synced":
    fd = os.open(rest[0], os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"mail")
    os.fsync(fd)
    os.fsync(os.open(os.path.dirname(rest[0]), os.O_RDONLY))
else:
    getattr(os, name)(*rest)' "$@"
}

# waits KIND CALL...: answered after frame and flush, seen by strace
waits()
{
	"$ctl" sync "$mnt"
	trace "$1" call "${@:2}"
}

# free CALL...: no flush
free()
{
	local before after

	"$ctl" sync "$mnt"
	before=$(status ring flushes)
	call "$@"
	after=$(status ring flushes)
	same "$before" "$after" "flushes after: $*"
}

new_store
up 'flush_interval=3600000,policy=/q/**:rename,policy=/all:always,policy=/late/**:interval'
cd "$mnt"
mkdir q q/sub all plain late
echo mail >plain/a
echo mail >plain/b
echo mail >plain/c
echo mail >q/old
echo mail >late/x

waits rename rename plain/a q/a
waits rename rename q/a q/sub/a
waits link link plain/b q/b
# into, not out of; and nothing else
free rename q/sub/a plain/a
free write q/old
free create q/new
free unlink q/b
# a whole directory, as OpenSMTPD commits a message
mkdir plain/m
echo mail >plain/m/body
waits rename rename plain/m q/m

waits create create all/f
waits plain-write write all/f
waits setattr chmod all/f 416
waits setattr truncate all/f 2
waits fallocate fallocate all/f
waits mkdir mkdir all/d
waits symlink symlink f all/l
waits mknod mkfifo all/p
waits rename rename plain/c all/c
waits rename rename all/c plain/c
waits unlink unlink all/p
waits rmdir rmdir all/d

# a name in a place that waits makes the file wait wherever it is opened
call link all/f plain/f
waits plain-write write plain/f

# fsync of what only has to leave some time
free synced late/x
free synced late/y
cd /
down
