/*
 * lib_mount.h - start a daemon for a store; shared by `rspoolctl mount` and
 * mount.rspool.
 */
#ifndef RS_LIB_MOUNT_H
#define RS_LIB_MOUNT_H

#include "include/rs_base.h"

/*
 * Run rspoold (found beside this program, else in ../sbin or on PATH) and
 * wait until it serves. A store that is already served at mnt is no error:
 * that is said, and 0 returned. mnt NULL: where NAME.conf says. Starts of one store wait for each other.
 * Returns an exit code (enum rs_exit); the reason was said.
 */
int rs_mount_run(const char *dir, const char *mnt, const char *options);

#endif
