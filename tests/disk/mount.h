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
};

/* Mount at dir; from here on requests wait for rs_dmount_serve. */
RS_MUST_USE int rs_dmount_init(struct rs_dmount *m, struct rs_disk *disk,
			       const char *dir);
/* Until SIGTERM, SIGINT or SIGHUP in the calling thread, or unmount. */
RS_MUST_USE int rs_dmount_serve(struct rs_dmount *m);
void rs_dmount_release(struct rs_dmount *m);

#endif
