/*
 * store_meta.h - the two meta pages of data.mdb, read with pread and looked
 * at field by field.
 */
#ifndef RS_STORE_META_H
#define RS_STORE_META_H

#include <limits.h>

#include "include/rs_base.h"

#define RS_META_NO_PAGE UINT64_MAX /* an empty tree's root */
#define RS_META_DEPTH_MAX 32u	   /* LMDB's cursor stack */

struct rs_meta {
	uint64_t txnid;
	uint64_t last_page;
	uint64_t free_root, main_root;
	uint16_t free_depth, main_depth;
	uint64_t entries; /* of the main tree */
};

/*
 * Meta page 0 or 1 of a file of size bytes. Errors: -EUCLEAN, *ret_why says
 * what is wrong with it; -EIO.
 */
RS_MUST_USE int rs_meta_read(int fd, unsigned int which, uint64_t size,
			     struct rs_meta *ret_meta, const char **ret_why);

/*
 * The one of the two that counts: the other must be one that LMDB can open,
 * no more. As rs_meta_read().
 */
RS_MUST_USE int rs_meta_newest(int fd, uint64_t size, struct rs_meta *ret_meta,
			       const char **ret_why);

/* DIR/NAME. -ENAMETOOLONG. */
RS_MUST_USE int rs_store_path(const char *dir, const char *name,
			      char ret_path[PATH_MAX]);
/* Memory of zeros, for RS_AUTO_FREE; NULL: none. */
void *rs_store_alloc(size_t len);
/* All len bytes at off; -EIO also at the file's end. */
RS_MUST_USE int rs_pread_all(int fd, void *buf, size_t len, uint64_t off);

#endif
