/*
 * ll_sync.c - fsync of files and directories, answered when it is so.
 *
 * The handler asks the core which frame covers the inode, and leaves the
 * reply to ll_wait.c (G2, G3). Under volatile and interval there is none, and
 * the answer is 0 at once. Both operations always exist: to an ENOSYS the
 * kernel would report success for ever without asking.
 *
 * The self-test's file has nothing to save; that the request came is all it
 * asks for. O_SYNC writes arrive here too, as WRITE and FSYNC (G4).
 */
#include "fs/ll_p.h"

#include <errno.h>

/*
 * After a failed flush nothing becomes durable any more, so EIO (G6), also
 * under interval, which promises a time; volatile has promised nothing.
 */
static int is_broken(struct rs_ll *ll, fuse_ino_t ino)
{
	return atomic_load(&ll->poisoned) &&
	       rs_core_policy(ll->core, ino) != RS_POLICY_VOLATILE;
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	const struct rs_ll_reply done = { .kind = RS_LL_DONE };
	struct rs_ll *ll = rs_ll_of(req);

	(void)datasync;
	(void)fi;
	if (ino == RS_LL_TEST_INO) {
		atomic_store(&ll->test.fsync, 1);
		fuse_reply_err(req, 0);
	} else if (is_broken(ll, ino)) {
		fuse_reply_err(req, EIO);
	} else {
		rs_ll_reply_when(req, rs_core_sync_number(ll->core, ino),
				 &done);
	}
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	const struct rs_ll_reply done = { .kind = RS_LL_DONE };
	struct rs_ll *ll = rs_ll_of(req);

	(void)datasync;
	if (ino == RS_INO_ROOT && atomic_load(&ll->test.open))
		atomic_store(&ll->test.fsyncdir, 1);
	if (is_broken(ll, ino))
		fuse_reply_err(req, EIO);
	else
		rs_ll_reply_when(
			req, rs_ll_dirsync_number(req, ino, rs_ll_dir_of(fi)),
			&done);
}

void rs_ll_ops_sync(struct fuse_lowlevel_ops *ops)
{
	ops->fsync = op_fsync;
	ops->fsyncdir = op_fsyncdir;
}
