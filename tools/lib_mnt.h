/*
 * lib_mnt.h - mount points as the tools meet them: live, dead, hung.
 */
#ifndef RS_LIB_MNT_H
#define RS_LIB_MNT_H

#include <limits.h>

#include "include/rs_base.h"

/*
 * Absolute path without symlinks, also where a dead mount is (realpath(3)
 * fails there). Errors: -ENOENT, -ENAMETOOLONG and other -errno of open.
 */
RS_MUST_USE int rs_mnt_canon(const char *path, char ret_path[PATH_MAX]);

/*
 * The same for a mount point of ours, without touching what is mounted
 * there: the name is found in the mount table below its parent directory.
 * -ENOENT if it is none, or not written plainly (a symlink, "..").
 */
RS_MUST_USE int rs_mnt_find(const char *path, char ret_path[PATH_MAX],
			    char ret_source[PATH_MAX]);

enum rs_mnt_state {
	RS_MNT_NONE, /* no mount of ours on top */
	RS_MNT_LIVE,
	RS_MNT_DEAD, /* its daemon is gone: ENOTCONN */
	RS_MNT_HUNG, /* no answer within some seconds */
};

/*
 * What is at mnt (as rs_mnt_canon() gives it). ret_source (may be NULL): the
 * store's path of ours. Asks a live mount from a child process, so that one
 * that hangs doesn't take us along.
 */
RS_MUST_USE int rs_mnt_probe(const char *mnt, enum rs_mnt_state *ret_state,
			     char ret_source[PATH_MAX]);

/*
 * Detach dead mounts of ours at mnt, however many lie on each other.
 * *ret_n: how many there were. Errors: -errno of umount2.
 */
RS_MUST_USE int rs_mnt_clear(const char *mnt, unsigned int *ret_n);

/* 1: nothing in it, 0: something, -errno */
RS_MUST_USE int rs_mnt_is_empty(const char *dir);

/*
 * Make the directory immutable, as chattr +i does, or take that back: nobody
 * can make a file in it while nothing is mounted there. A mount on top needs
 * no change of it. -EOPNOTSUPP: the filesystem has no such flag.
 */
RS_MUST_USE int rs_mnt_protect(const char *dir, int on);

/* Calls fn with mount point and store of each mount of ours. */
RS_MUST_USE int rs_mnt_each(int (*fn)(void *arg, const char *mnt,
				      const char *source),
			    void *arg);

#endif
