/*
 * lib_plain.h - a tree of plain files as it lies in some directory.
 *
 * Every step goes through a directory's descriptor and follows no symlink:
 * names in a spool come from whoever wrote into it, and we run as root.
 */
#ifndef RS_LIB_PLAIN_H
#define RS_LIB_PLAIN_H

#include <sys/stat.h>

#include "include/rs_base.h"

struct rs_plain_item {
	const char *path; /* below the root, without a leading slash; "" */
	int dirfd;	  /* the directory that holds it; the root's own */
	const char *name; /* in it; "." for the root */
	const struct stat *st;
	int first; /* 0: a further name of a file that was met */
};

struct rs_plain_ops {
	/* A non-zero value ends the walk and is returned. */
	int (*item)(void *arg, const struct rs_plain_item *item);
	/* may be NULL: a directory, after its content; st as at item */
	int (*leave)(void *arg, const struct rs_plain_item *item, int fd,
		     uint64_t n_names);
	/* may be NULL: what could not be read; 0 goes on without it */
	int (*error)(void *arg, const char *path, int err);
};

/*
 * Walk in path order (byte order of names), a directory before its content.
 * What vanishes meanwhile is left out. -EXDEV goes to error() for what lies
 * on another filesystem. One descriptor a level is kept open.
 */
RS_MUST_USE int rs_plain_walk(int root, const struct rs_plain_ops *ops,
			      void *arg);

/* Remove name in dirfd, and all below it. -errno; 0 if it isn't there. */
RS_MUST_USE int rs_plain_remove(int dirfd, const char *name);

#endif
