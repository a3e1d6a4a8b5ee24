/*
 * limit.c - limits of subtrees: bytes of data and inodes below a directory.
 *
 * While no directory has a limit nothing is counted. With the first one the
 * whole tree is, and from then on each change of an inode's size or place is
 * added to all directories above it: as many additions as the tree is deep,
 * but a move of a subtree, however large, and a look at a limit cost no more.
 *
 * An inode is counted where its oldest name is, so a message that is linked
 * from one place to another counts at the first until that name goes. What
 * has no name (open and unlinked, O_TMPFILE) counts nowhere.
 */
#include "fs/core_p.h"

struct amount {
	uint64_t bytes, inodes;
};

static struct rs_inode *above(const struct rs_core *core,
			      const struct rs_inode *dir)
{
	return dir == core->root || !dir->names ? NULL : dir->names->dir;
}

/* Differences wrap around, so that minus is plus as well. */
static void charge(const struct rs_core *core, struct rs_inode *dir,
		   struct amount amount)
{
	for (; dir; dir = above(core, dir)) {
		dir->u.dir->used += amount.bytes;
		dir->u.dir->used_inodes += amount.inodes;
	}
}

static struct amount minus(struct amount amount)
{
	return (struct amount){ -amount.bytes, -amount.inodes };
}

static struct amount amount_of(const struct rs_inode *inode)
{
	struct amount amount = { rs_xattr_bytes(inode), 1 };

	if (S_ISREG(inode->mode))
		amount.bytes += inode->blocks * RS_PAGE;
	if (S_ISDIR(inode->mode)) {
		amount.bytes += inode->u.dir->used;
		amount.inodes += inode->u.dir->used_inodes;
	}
	return amount;
}

void rs_limit_grow(struct rs_core *core, const struct rs_inode *inode,
		   uint64_t bytes)
{
	if (core->limits && inode->names)
		charge(core, inode->names->dir, (struct amount){ bytes, 0 });
}

void rs_limit_enter(struct rs_core *core, const struct rs_inode *inode)
{
	if (core->limits && inode->names)
		charge(core, inode->names->dir, amount_of(inode));
}

void rs_limit_leave(struct rs_core *core, const struct rs_inode *inode)
{
	if (core->limits && inode->names)
		charge(core, inode->names->dir, minus(amount_of(inode)));
}

/* ---- the first limit ---- */

static void clear(void *arg, struct rs_hnode *node)
{
	struct rs_inode *inode = rs_inode_of(node);

	(void)arg;
	if (!S_ISDIR(inode->mode))
		return;
	inode->u.dir->used = 0;
	inode->u.dir->used_inodes = 0;
}

static void count(void *arg, struct rs_hnode *node)
{
	struct rs_inode *inode = rs_inode_of(node);
	struct amount amount = { rs_xattr_bytes(inode), 1 };

	if (S_ISREG(inode->mode))
		amount.bytes += inode->blocks * RS_PAGE;
	if (inode->names)
		charge(arg, inode->names->dir, amount);
}

void rs_limit_start(struct rs_core *core)
{
	if (core->limits)
		return;
	core->limits = 1;
	rs_table_each(&core->inodes, clear, core);
	rs_table_each(&core->inodes, count, core);
}

/* ---- what is left ---- */

static uint64_t left(uint64_t limit, uint64_t used)
{
	return used < limit ? limit - used : 0;
}

static struct amount left_of(const struct rs_dir *dir)
{
	struct amount ret = { UINT64_MAX, UINT64_MAX };

	if (dir->eff_limit)
		ret.bytes = left(dir->eff_limit, dir->used);
	if (dir->eff_inodes)
		ret.inodes = left(dir->eff_inodes, dir->used_inodes);
	return ret;
}

static struct amount room_in(const struct rs_core *core,
			     const struct rs_inode *dir)
{
	struct amount ret = { UINT64_MAX, UINT64_MAX }, own;

	for (; dir && core->limits; dir = above(core, dir)) {
		own = left_of(dir->u.dir);
		ret.bytes = own.bytes < ret.bytes ? own.bytes : ret.bytes;
		ret.inodes = own.inodes < ret.inodes ? own.inodes : ret.inodes;
	}
	return ret;
}

static const struct rs_inode *home_of(const struct rs_inode *inode)
{
	if (S_ISDIR(inode->mode))
		return inode;
	return inode->names ? inode->names->dir : NULL;
}

uint64_t rs_limit_bytes(const struct rs_core *core,
			const struct rs_inode *inode)
{
	return room_in(core, home_of(inode)).bytes;
}

int rs_limit_inode(const struct rs_core *core, const struct rs_inode *dir)
{
	return room_in(core, dir).inodes ? 0 : -ENOSPC;
}

/* Is top the directory itself or above it? */
static int holds(const struct rs_core *core, const struct rs_inode *top,
		 const struct rs_inode *dir)
{
	while (dir && dir != top)
		dir = above(core, dir);
	return dir != NULL;
}

static int exceeds(uint64_t used, uint64_t more, uint64_t less, uint64_t limit)
{
	return limit && more > less && used + (more - less) > limit;
}

int rs_limit_move(const struct rs_core *core, const struct rs_inode *inode,
		  const struct rs_dentry *from, const struct rs_inode *to,
		  const struct rs_dentry *over)
{
	struct amount more, less = { 0, 0 };
	const struct rs_inode *at;
	const struct rs_dir *dir;

	/* it stays where its oldest name is */
	if (!core->limits || (inode->names && inode->names != from))
		return 0;
	more = amount_of(inode);
	if (over && over->inode->names == over)
		less = amount_of(over->inode);
	for (at = to; at; at = above(core, at)) {
		dir = at->u.dir;
		if (from && holds(core, at, from->dir))
			continue;
		if (exceeds(dir->used, more.bytes, less.bytes,
			    dir->eff_limit) ||
		    exceeds(dir->used_inodes, more.inodes, less.inodes,
			    dir->eff_inodes))
			return -ENOSPC;
	}
	return 0;
}

/* The tightest limit on the way up is the size that is shown. */
void rs_limit_statfs(const struct rs_core *core, const struct rs_inode *inode,
		     struct rs_statfs *ret)
{
	const struct rs_inode *dir = home_of(inode);
	struct amount own;

	for (; dir && core->limits; dir = above(core, dir)) {
		own = left_of(dir->u.dir);
		if (own.bytes / RS_PAGE < ret->bfree) {
			ret->bfree = ret->bavail = own.bytes / RS_PAGE;
			ret->blocks = dir->u.dir->eff_limit / RS_PAGE;
		}
		if (own.inodes < ret->ffree) {
			ret->ffree = own.inodes;
			ret->files = dir->u.dir->eff_inodes;
		}
	}
}
