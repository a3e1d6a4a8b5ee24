/*
 * lib_export_p.h - writing a tree out as plain files: shared by its files.
 */
#ifndef RS_LIB_EXPORT_P_H
#define RS_LIB_EXPORT_P_H

#include "tools/lib_export.h"
#include "tools/lib_progress.h"

#define RS_COPY_BYTES (256u << 10)

struct rs_export {
	const struct rs_source *src;
	int out;   /* directory */
	int again; /* it may hold what an earlier run wrote */
	struct rs_progress progress;
	char *dir; /* path of the directory that is open now */
	int dirfd;
	uint8_t *buf, *old; /* RS_COPY_BYTES each */
	void *links;	    /* tree of a path for each inode with more names */
	void *paths;	    /* with again: all paths that the source has */
	int out_error;	    /* the error at hand is of OUT, not of the source */
	struct rs_export_result *result;
};

/* ---- lib_export_file.c ---- */
/*
 * A regular file, whole or not at all; with again it may be there. Owner,
 * mode and times are left to rs_export_attr().
 */
RS_MUST_USE int rs_export_file(struct rs_export *ex, const char *name,
			       const struct rs_stat *st);
RS_MUST_USE int rs_export_symlink(struct rs_export *ex, const char *name,
				  const struct rs_stat *st);
RS_MUST_USE int rs_export_xattrs(struct rs_export *ex, uint64_t ino, int fd);
RS_MUST_USE int rs_export_attr(struct rs_export *ex, int dirfd,
			       const char *name, const struct rs_attr *attr);
/* -errno, and it is noted that OUT is to blame */
int rs_export_errno(struct rs_export *ex);

#endif
