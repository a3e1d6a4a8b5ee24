/*
 * policy.c - the one place that decides what a directory's changes get.
 * Where a directory carries a policy of its own that one counts, else the
 * mount's.
 */
#include "fs/core_p.h"

enum rs_policy rs_policy_of(const struct rs_core *core,
			    const struct rs_inode *dir)
{
	if (S_ISDIR(dir->mode) && dir->u.dir->policy)
		return (enum rs_policy)dir->u.dir->policy;
	return core->cfg.policy ? core->cfg.policy : RS_POLICY_FSYNC;
}

int rs_policy_logs(const struct rs_core *core, const struct rs_inode *dir)
{
	return rs_inode_logged(dir) &&
	       rs_policy_of(core, dir) != RS_POLICY_VOLATILE;
}

enum rs_policy rs_core_policy(struct rs_core *core, uint64_t ino)
{
	enum rs_policy policy = RS_POLICY_FSYNC, own;
	struct rs_dentry *name;
	struct rs_inode *inode;

	rs_core_lock(core);
	inode = rs_inode_find(core, ino);
	if (inode && S_ISDIR(inode->mode)) {
		policy = rs_policy_of(core, inode);
	} else if (inode) {
		/* the strongest among its names' directories */
		policy = RS_POLICY_VOLATILE;
		for (name = inode->names; name; name = name->next) {
			own = rs_policy_of(core, name->dir);
			policy = own > policy ? own : policy;
		}
	}
	rs_core_unlock(core);
	return policy;
}
