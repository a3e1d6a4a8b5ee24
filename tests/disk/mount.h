/*
 * mount.h - the disk as the only file of a FUSE mount.
 */
#ifndef RS_DISK_MOUNT_H
#define RS_DISK_MOUNT_H

#include "tests/disk/disk.h"

struct fuse_session;

struct rs_dmount {
	struct rs_disk *disk;
	struct fuse_session *session;
	int result; /* of the thread that takes the requests */
};

/* Mount at dir; from here on requests wait for rs_dmount_serve, and so do
 * SIGTERM, SIGINT and SIGHUP, which the calling thread and those that it makes
 * afterwards block. */
RS_MUST_USE int rs_dmount_init(struct rs_dmount *m, struct rs_disk *disk,
			       const char *dir);
/* Until one of the signals or unmount. */
RS_MUST_USE int rs_dmount_serve(struct rs_dmount *m);
void rs_dmount_release(struct rs_dmount *m);

#endif
