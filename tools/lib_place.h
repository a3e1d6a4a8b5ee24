/*
 * lib_place.h - is this a filesystem that a store can live on? (case C10)
 */
#ifndef RS_LIB_PLACE_H
#define RS_LIB_PLACE_H

#include "include/rs_base.h"

enum rs_place {
	RS_PLACE_GOOD,
	RS_PLACE_RISKY,	  /* tmpfs, overlay: will not survive */
	RS_PLACE_REFUSED, /* network or FUSE */
};

/*
 * Look at what path (a directory or file; if it doesn't exist, its parent)
 * lies on. *ret_name: "tmpfs", "nfs"... Errors: -errno of statfs.
 */
RS_MUST_USE int rs_place_look(const char *path, enum rs_place *ret_place,
			      const char **ret_name);
/* Does path lie in or at dir? Both absolute, without symlinks. */
int rs_place_inside(const char *path, const char *dir);

#endif
