/*
 * lib_import_p.h - an import under way: shared by its files.
 */
#ifndef RS_LIB_IMPORT_P_H
#define RS_LIB_IMPORT_P_H

#include <pthread.h>

#include "tools/lib_import.h"
#include "tools/lib_progress.h"
#include "tools/lib_source.h"

#define RS_IMPORT_COPY (256u << 10) /* bytes of buf */

struct rs_import {
	const struct rs_target *target;
	const char *src_name;
	char src[PATH_MAX];
	int root; /* of the source */
	uint64_t root_ino;
	struct rs_source_plain plain; /* what is read from now */
	struct rs_source source;
	int xattr, failed;
	uint64_t n_inodes, pages, max_ino; /* of the first walk */
	uint64_t done_pages;
	uint8_t *buf;
	struct rs_journal *journal;
	struct rs_core *core;
	struct rs_progress progress;
	struct rs_import_result *result;
	pthread_mutex_t lock; /* below */
	pthread_cond_t change;
	unsigned int spaces; /* times that the journal said so */
};

/* Says it; the return value, never 0, ends the walk. */
int rs_import_stop(struct rs_import *im, const char *path, const char *why);

/* ---- lib_import_fill.c: one inode; each may wait for checkpoints ---- */
#define RS_IMPORT_SET                                                          \
	(RS_SET_UID | RS_SET_GID | RS_SET_MODE | RS_SET_ATIME | RS_SET_MTIME | \
	 RS_SET_CTIME)
RS_MUST_USE int rs_import_attr(struct rs_import *im, uint64_t ino,
			       const struct rs_attr *attr, unsigned int set);
/* The bytes of the file that im->plain is at. */
RS_MUST_USE int rs_import_data(struct rs_import *im, const struct rs_stat *st);
RS_MUST_USE int rs_import_xattrs(struct rs_import *im, uint64_t ino);
void rs_import_step(struct rs_import *im, uint64_t bytes);
/* rs_journal_cfg.space */
void rs_import_space(void *arg);

/* ---- lib_import_walk.c ---- */
/* Everything below im->root into im->core. */
RS_MUST_USE int rs_import_walk(struct rs_import *im);
/* rs_plain_ops.error */
int rs_import_error(void *arg, const char *path, int err);

#endif
