/*
 * ll_attr.c - requests about attributes and about the whole mount.
 *
 * Permissions were checked by the kernel (default_permissions), and it kills
 * set-id bits with a SETATTR of its own because HANDLE_KILLPRIV is off.
 */
#include "fs/ll_p.h"

#include <errno.h>
#include <sys/statvfs.h>

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct rs_stat st;
	int err = 0;

	(void)fi;
	if (ino == RS_LL_TEST_INO)
		rs_ll_test_stat(&st);
	else
		err = rs_core_getattr(rs_ll_of(req)->core, ino, &st);
	if (err)
		rs_ll_reply_err(req, err);
	else
		rs_ll_reply_attr(req, &st);
}

static const struct {
	int fuse;
	unsigned int set;
} set_bits[] = {
	{ FUSE_SET_ATTR_MODE, RS_SET_MODE },
	{ FUSE_SET_ATTR_UID, RS_SET_UID },
	{ FUSE_SET_ATTR_GID, RS_SET_GID },
	{ FUSE_SET_ATTR_SIZE, RS_SET_SIZE },
	{ FUSE_SET_ATTR_ATIME, RS_SET_ATIME },
	{ FUSE_SET_ATTR_MTIME, RS_SET_MTIME },
	{ FUSE_SET_ATTR_ATIME_NOW, RS_SET_ATIME_NOW },
	{ FUSE_SET_ATTR_MTIME_NOW, RS_SET_MTIME_NOW },
	{ FUSE_SET_ATTR_CTIME, RS_SET_CTIME },
};

static unsigned int set_of(int to_set)
{
	unsigned int set = 0;
	size_t i;

	for (i = 0; i < RS_ARRAY_LEN(set_bits); i++)
		if (to_set & set_bits[i].fuse)
			set |= set_bits[i].set;
	/* libfuse sets ATIME beside ATIME_NOW; one of them is meant */
	if (set & RS_SET_ATIME_NOW)
		set &= ~RS_SET_ATIME;
	if (set & RS_SET_MTIME_NOW)
		set &= ~RS_SET_MTIME;
	return set;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *buf,
		       int to_set, struct fuse_file_info *fi)
{
	struct rs_ll_call call = {
		.req = req,
		.kind = RS_LL_SETATTR,
		.ino = ino,
		.set = set_of(to_set),
	};

	(void)fi;
	call.attr.mode = buf->st_mode;
	call.attr.uid = buf->st_uid;
	call.attr.gid = buf->st_gid;
	call.attr.size = (uint64_t)buf->st_size;
	call.attr.atime = buf->st_atim;
	call.attr.mtime = buf->st_mtim;
	call.attr.ctime = buf->st_ctim;
	rs_ll_submit(rs_ll_of(req), &call);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct rs_statfs st;
	struct statvfs buf;

	rs_core_statfs_at(rs_ll_of(req)->core, ino, &st);
	memset(&buf, 0, sizeof(buf));
	buf.f_bsize = RS_PAGE;
	buf.f_frsize = RS_PAGE;
	buf.f_blocks = st.blocks;
	buf.f_bfree = st.bfree;
	buf.f_bavail = st.bavail;
	buf.f_files = st.files;
	buf.f_ffree = st.ffree;
	buf.f_favail = st.ffree;
	buf.f_namemax = RS_NAME_MAX;
	fuse_reply_statfs(req, &buf);
}

void rs_ll_ops_attr(struct fuse_lowlevel_ops *ops)
{
	ops->getattr = op_getattr;
	ops->setattr = op_setattr;
	ops->statfs = op_statfs;
}
