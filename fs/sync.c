/*
 * sync.c - what an fsync has to wait for (G2, G3).
 *
 * The log is one order, so the newest of the frames that concern the inode,
 * its names and every name on the way up is enough. A rename of a directory
 * above counts too: otherwise the file would come back under no path that
 * the caller has ever seen.
 */
#include "fs/core_p.h"

static uint64_t newer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t way_up(struct rs_core *core, const struct rs_dentry *dentry)
{
	uint64_t last = 0;

	for (; dentry; dentry = dentry->dir->names) {
		last = newer(last, dentry->last);
		if (dentry->dir == core->root)
			break;
	}
	return last;
}

uint64_t rs_core_sync_number(struct rs_core *core, uint64_t ino)
{
	const struct rs_dentry *dentry;
	struct rs_inode *inode;
	uint64_t last = 0;

	if (!core->cfg.journal)
		return 0;
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	/* under interval and volatile nobody waits */
	if (inode && rs_inode_logged(inode) &&
	    rs_policy_inode(core, inode) > RS_POLICY_INTERVAL) {
		last = inode->last;
		for (dentry = inode->names; dentry; dentry = dentry->next)
			last = newer(last, way_up(core, dentry));
	}
	rs_core_unlock(core);
	return last <= rs_journal_durable(core->cfg.journal) ? 0 : last;
}

/* Has anybody asked for replies that wait? */
static int none_waits(const struct rs_core *core, enum rs_change change)
{
	if (rs_policy_any(core, RS_POLICY_ALWAYS))
		return 0;
	return change != RS_CHANGE_INTO ||
	       !rs_policy_any(core, RS_POLICY_RENAME);
}

static enum rs_policy waits_from(enum rs_change change)
{
	return change == RS_CHANGE_INTO ? RS_POLICY_RENAME : RS_POLICY_ALWAYS;
}

/*
 * The directory's or inode's own last frame is enough: what is above it was
 * logged before, and the log is a prefix.
 */
uint64_t rs_core_change_number(struct rs_core *core, uint64_t ino,
			       enum rs_change change)
{
	const struct rs_inode *inode;
	uint64_t last = 0;

	if (!core->cfg.journal || none_waits(core, change))
		return 0;
	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && rs_inode_logged(inode) &&
	    rs_policy_inode(core, inode) >= waits_from(change))
		last = inode->last;
	rs_core_unlock(core);
	return last <= rs_journal_durable(core->cfg.journal) ? 0 : last;
}
