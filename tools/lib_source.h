/*
 * lib_source.h - a tree that is to be written out: a store's, loaded without
 * a mount, or plain files below a directory (a live mount).
 */
#ifndef RS_LIB_SOURCE_H
#define RS_LIB_SOURCE_H

#include <sys/stat.h>

#include "fs/core.h"
#include "tools/lib_plain.h"

/*
 * Data, target and xattrs are asked for only of the inode that walk() is at.
 * Errors of all: -errno.
 */
struct rs_source {
	void *ctx;
	/* as rs_core_walk() */
	int (*walk)(void *ctx, const struct rs_walk_ops *ops, void *arg);
	/* bytes read, 0 at the end */
	ssize_t (*read)(void *ctx, uint64_t ino, void *buf, size_t len,
			uint64_t off);
	/* next stretch of data at or after off; -ENXIO: only a hole follows */
	int (*data)(void *ctx, uint64_t ino, uint64_t off, uint64_t *ret_off,
		    uint64_t *ret_end);
	int (*target)(void *ctx, uint64_t ino, char buf[RS_SYMLINK_MAX + 1]);
	ssize_t (*getxattr)(void *ctx, uint64_t ino, const char *name,
			    void *buf, size_t size);
	ssize_t (*listxattr)(void *ctx, uint64_t ino, char *buf, size_t size);
	int live; /* a file may be shorter when read than when it was met */
};

void rs_source_core(struct rs_core *core, struct rs_source *ret_src);

struct rs_source_plain {
	int root;      /* the caller's */
	uint64_t lost; /* what walk() could not read; was said */
	/* over numbers and ctimes, of the last walk and the one before */
	uint64_t sum, sum_before;
	unsigned int walks;
	const struct rs_walk_ops *ops; /* from here: walk()'s own */
	void *arg;
	int dirfd, fd;
	const char *name;
	unsigned int mode;
};

void rs_source_plain(struct rs_source_plain *plain, int root,
		     struct rs_source *ret_src);
/* Without a walk: data and so on are item's from now; NULL: nobody's. */
void rs_source_plain_at(struct rs_source_plain *plain,
			const struct rs_plain_item *item);
/* As rs_core_getattr() would have it; what stat(2) can't tell is 0. */
void rs_source_stat(const struct stat *st, struct rs_stat *ret_st);

#endif
