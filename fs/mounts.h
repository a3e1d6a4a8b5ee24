/*
 * mounts.h - the mount table of this process, without touching any mount: a
 * stat(2) of a mount whose daemon is dead, or is us, is not harmless.
 */
#ifndef RS_MOUNTS_H
#define RS_MOUNTS_H

#include "include/rs_base.h"

/* type that our mounts have in the table */
#define RS_MOUNT_TYPE "fuse.rspool"

struct rs_mount {
	int id;
	unsigned int major, minor;
	char *mnt;    /* mount point as the table has it, unescaped */
	char *type;   /* "ext4", "fuse.rspool" */
	char *source; /* for ours: the store's path */
};

/*
 * Call fn for each mount in the table's order (what covers another comes
 * after it); its non-zero value ends the walk and is returned. The struct
 * and its strings are valid during the call. Errors: -errno of open, read.
 */
RS_MUST_USE int rs_mounts_each(int (*fn)(void *arg, const struct rs_mount *m),
			       void *arg);

/*
 * The topmost mount at exactly this absolute path. -ENOENT: nothing is
 * mounted there. The caller releases *ret with rs_mount_release().
 */
RS_MUST_USE int rs_mounts_top(const char *mnt, struct rs_mount *ret);
void rs_mount_release(struct rs_mount *m);

#endif
