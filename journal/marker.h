/*
 * marker.h - rspool.id: says that a directory is a store, which one, and
 * what it was made for. Written last by init, replaced atomically when a
 * size changes; a missing, empty, foreign or newer one is an error, never
 * "a new store".
 */
#ifndef RS_MARKER_H
#define RS_MARKER_H

#include <limits.h>

#include "include/rs_base.h"

#define RS_FORMAT_VERSION 1u
#define RS_MARKER_NAME "rspool.id"

struct rs_marker {
	uint8_t id[RS_ID_LEN];
	uint32_t version;
	uint64_t created;   /* seconds since the epoch */
	uint64_t ring_size; /* bytes */
	uint64_t capacity;  /* bytes of bodies that the store is made for */
	uint64_t inodes;
	uint64_t key_id;	  /* 0: no site key */
	char ring_path[PATH_MAX]; /* "" : intent.log beside the marker */
};

/*
 * Read and check DIR/rspool.id. Errors: -ENOENT (no marker), -EUCLEAN
 * (empty, foreign, truncated, check does not fit), -EPROTONOSUPPORT (newer
 * version), -EACCES and other -errno of open and read.
 */
RS_MUST_USE int rs_marker_read(int dirfd, struct rs_marker *ret_marker);
/* Write it durably: temporary file, flush, rename, flush of the directory. */
RS_MUST_USE int rs_marker_write(int dirfd, const struct rs_marker *marker);
/*
 * The same for a store that is in use: the new file is locked (flock) before
 * it takes the name, so that nobody can come in between. *ret_lockfd: its
 * descriptor, which holds the lock.
 */
RS_MUST_USE int rs_marker_replace(int dirfd, const struct rs_marker *marker,
				  int *ret_lockfd);

#endif
