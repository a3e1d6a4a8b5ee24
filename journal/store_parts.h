/*
 * store_parts.h - symlink targets and xattrs, which stand in several values,
 * put together again.
 */
#ifndef RS_STORE_PARTS_H
#define RS_STORE_PARTS_H

#include "journal/record.h"
#include "journal/store_p.h"

struct rs_parts {
	char kind;	    /* 'L', 'X', or 0: nothing begun */
	uint64_t ino, next; /* the part that must come now */
	uint8_t hash[16];   /* 'X': which one */
	uint8_t name[RS_XATTR_NAME_MAX];
	size_t name_len;
	size_t have, total;
	uint8_t buf[RS_XATTR_SIZE_MAX];
};

/*
 * Take the next record of kind 'L' or 'X' in key order. 1: complete, ino,
 * name, buf and total are valid until the next call; 0: more must come;
 * -EUCLEAN: it isn't what must come (a part is missing before it), or is of
 * a size that can't be.
 */
RS_MUST_USE int rs_parts_take(struct rs_parts *p,
			      const struct rs_walk_item *item);
/* At the end: -EUCLEAN if something was begun and isn't complete. */
RS_MUST_USE int rs_parts_end(const struct rs_parts *p);

/* Write a target or an xattr; any older one must have been deleted. */
RS_MUST_USE int rs_stx_put_link(struct rs_stx *tx, uint64_t ino, uint64_t frame,
				const uint8_t *target, size_t len);
RS_MUST_USE int rs_stx_put_xattr(struct rs_stx *tx, uint64_t ino,
				 const struct rs_rec *rec, uint64_t frame,
				 const uint8_t hash[16]);
/* Delete all parts of one xattr; it need not be there. */
RS_MUST_USE int rs_stx_del_xattr(struct rs_stx *tx, uint64_t ino,
				 const uint8_t hash[16]);

#endif
