/*
 * setattr.c - chmod, chown, utimes, truncate in one call, as the kernel
 * sends them. Set-id bits are killed by the kernel, which has the caller's
 * credentials; it sends the new mode.
 */
#include "fs/core_p.h"

#define SETATTR_BYTES (RS_REC_INODE_LEN + RS_REC_HEADER + 16u)

struct change {
	const struct rs_attr *attr;
	unsigned int set;
	struct timespec now;
};

static int time_ok(const struct timespec *ts)
{
	return ts->tv_nsec >= 0 && ts->tv_nsec < 1000000000;
}

static int change_check(struct rs_core *core, struct rs_inode *inode,
			const struct change *change)
{
	const struct rs_attr *attr = change->attr;

	if (((change->set & RS_SET_ATIME) && !time_ok(&attr->atime)) ||
	    ((change->set & RS_SET_MTIME) && !time_ok(&attr->mtime)) ||
	    ((change->set & RS_SET_CTIME) && !time_ok(&attr->ctime)))
		return -EINVAL;
	if (!(change->set & RS_SET_SIZE))
		return 0;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (!S_ISREG(inode->mode))
		return -EINVAL;
	if (attr->size > INT64_MAX)
		return -EFBIG;
	return rs_truncate_prepare(core, inode, attr->size);
}

static void set_times(struct rs_inode *inode, const struct change *change)
{
	unsigned int set = change->set;

	if (set & RS_SET_SIZE)
		rs_times_set(inode, RS_MTIME, &change->now);
	if (set & RS_SET_ATIME)
		rs_times_set(inode, RS_ATIME, &change->attr->atime);
	if (set & RS_SET_ATIME_NOW)
		rs_times_set(inode, RS_ATIME, &change->now);
	if (set & RS_SET_MTIME)
		rs_times_set(inode, RS_MTIME, &change->attr->mtime);
	if (set & RS_SET_MTIME_NOW)
		rs_times_set(inode, RS_MTIME, &change->now);
	rs_times_set(inode, RS_CTIME,
		     set & RS_SET_CTIME ? &change->attr->ctime : &change->now);
}

static void change_apply(struct rs_core *core, struct rs_inode *inode,
			 const struct change *change)
{
	const struct rs_attr *attr = change->attr;
	unsigned int set = change->set;

	rs_intent_begin(core);
	if (set & RS_SET_MODE)
		inode->mode = (inode->mode & S_IFMT) |
			      (attr->mode & ~(uint32_t)S_IFMT);
	if (set & RS_SET_UID)
		inode->uid = attr->uid;
	if (set & RS_SET_GID)
		inode->gid = attr->gid;
	if (set & RS_SET_SIZE)
		rs_truncate_apply(core, inode, attr->size);
	set_times(inode, change);
	rs_intent_inode(core, inode);
	rs_intent_end(core);
}

static int change_locked(struct rs_core *core, const struct rs_op *op,
			 uint64_t ino, struct change *change,
			 struct rs_stat *ret_st)
{
	struct rs_inode *inode = rs_inode_find(core, ino);
	int err;

	err = inode ? change_check(core, inode, change) : -ESTALE;
	if (!err)
		err = rs_op_short(core, op, rs_inode_logged(inode));
	if (err)
		return err;
	rs_times_now(core, &change->now);
	change_apply(core, inode, change);
	rs_inode_stat(inode, ret_st);
	return 0;
}

int rs_core_setattr(struct rs_core *core, uint64_t ino,
		    const struct rs_attr *attr, unsigned int set,
		    struct rs_stat *ret_st)
{
	struct change change = { .attr = attr, .set = set };
	struct rs_op op;
	int err;

	/* set 0 is chown(-1, -1), which moves ctime and nothing else */
	rs_op_init(core, &op, ino, SETATTR_BYTES, RS_NEED_SMALL);
	do {
		err = rs_op_enter(core, &op);
		if (!err)
			err = change_locked(core, &op, ino, &change, ret_st);
	} while (rs_op_again(core, &op, &err));
	return err;
}
