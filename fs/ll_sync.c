/*
 * ll_sync.c - fsync of files and directories, answered when it is so.
 *
 * The handler asks the core which frame covers the inode, hands the request
 * to the journal and returns: no worker waits for a disk. The reply is sent
 * by the committer (G2, G3). Both operations always exist: to an ENOSYS the
 * kernel would report success for ever without asking.
 *
 * The self-test's file has nothing to save; that the request came is all it
 * asks for. O_SYNC writes arrive here too, as WRITE and FSYNC (G4).
 */
#include "fs/ll_p.h"

#include <errno.h>

struct waiting {
	struct rs_waiter waiter; /* first: the journal gives it back */
	fuse_req_t req;
};

static void flushed(struct rs_waiter *w, int err)
{
	struct waiting *wait = (struct waiting *)w;

	rs_ll_reply_err(wait->req, err);
	free(wait);
}

/* Takes req over: the reply comes from here or from the committer. */
static void wait_for(struct rs_ll *ll, fuse_req_t req, uint64_t number)
{
	struct waiting *wait = malloc(sizeof(*wait));
	int ret;

	if (!wait) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	wait->waiter = (struct rs_waiter){ .fn = flushed };
	wait->req = req;
	ret = rs_journal_wait(ll->journal, number, &wait->waiter);
	if (ret == 0)
		return;
	free(wait);
	rs_ll_reply_err(req, ret < 0 ? ret : 0);
}

static void sync_inode(fuse_req_t req, fuse_ino_t ino)
{
	struct rs_ll *ll = rs_ll_of(req);
	uint64_t number;

	if (atomic_load(&ll->poisoned)) {
		fuse_reply_err(req, EIO);
		return;
	}
	number = rs_core_sync_number(ll->core, ino);
	if (number == 0 || !ll->journal)
		fuse_reply_err(req, 0);
	else
		wait_for(ll, req, number);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	(void)datasync;
	(void)fi;
	if (ino == RS_LL_TEST_INO) {
		atomic_store(&rs_ll_of(req)->test.fsync, 1);
		fuse_reply_err(req, 0);
		return;
	}
	sync_inode(req, ino);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	struct rs_ll *ll = rs_ll_of(req);

	(void)datasync;
	(void)fi;
	if (ino == RS_INO_ROOT && atomic_load(&ll->test.open))
		atomic_store(&ll->test.fsyncdir, 1);
	sync_inode(req, ino);
}

void rs_ll_ops_sync(struct fuse_lowlevel_ops *ops)
{
	ops->fsync = op_fsync;
	ops->fsyncdir = op_fsyncdir;
}
