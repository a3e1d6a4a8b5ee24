/*
 * ll_xattr.c - extended attributes, only with the option xattr. Without it
 * the table stays empty: libfuse answers the first request of each kind with
 * ENOSYS and the kernel never asks again (else each first write of a file
 * costs a round trip for security.capability).
 */
#include "fs/ll_p.h"

#include <errno.h>
#include <sys/xattr.h>

/* ACLs and other namespaces need more than a place to keep bytes. */
static int is_ours(const char *name)
{
	return !strncmp(name, "user.", 5) || !strncmp(name, "trusted.", 8) ||
	       !strncmp(name, "security.", 9);
}

static void reply_value(fuse_req_t req, ssize_t n, const char *buf, size_t size)
{
	if (n < 0)
		rs_ll_reply_err(req, (int)n);
	else if (size == 0)
		fuse_reply_xattr(req, (size_t)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	RS_AUTO_FREE char *buf = NULL;

	if (!is_ours(name)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if (ino == RS_LL_TEST_INO) {
		fuse_reply_err(req, ENODATA);
		return;
	}
	if (size > RS_XATTR_SIZE_MAX)
		size = RS_XATTR_SIZE_MAX;
	if (size && !(buf = malloc(size))) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	reply_value(req,
		    rs_core_getxattr(rs_ll_of(req)->core, ino, name, buf, size),
		    buf, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	RS_AUTO_FREE char *buf = NULL;

	if (size > RS_XATTR_SIZE_MAX)
		size = RS_XATTR_SIZE_MAX;
	if (size && !(buf = malloc(size))) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	reply_value(req, rs_core_listxattr(rs_ll_of(req)->core, ino, buf, size),
		    buf, size);
}

static void reply_changed(fuse_req_t req, fuse_ino_t ino, int err)
{
	const struct rs_ll_reply reply = { .kind = RS_LL_DONE };

	if (err)
		rs_ll_reply_err(req, err);
	else
		rs_ll_reply_when(req,
				 rs_core_change_number(rs_ll_of(req)->core, ino,
						       RS_CHANGE_INODE),
				 &reply);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t size, int flags)
{
	if (!is_ours(name)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	reply_changed(req, ino,
		      rs_core_setxattr(rs_ll_of(req)->core, ino, name, value,
				       size, flags));
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (!is_ours(name)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	reply_changed(req, ino,
		      rs_core_removexattr(rs_ll_of(req)->core, ino, name));
}

void rs_ll_ops_xattr(struct fuse_lowlevel_ops *ops)
{
	ops->getxattr = op_getxattr;
	ops->listxattr = op_listxattr;
	ops->setxattr = op_setxattr;
	ops->removexattr = op_removexattr;
}
